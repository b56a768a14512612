// Starts processes of `store-process.ts`, and sends requests to them.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import type { RedisServer } from './redis.ts'

export interface StoreProcess {
  get(path: string): Promise<string>
  /** @returns the status and the body */
  post(path: string, body: string, headers?: Record<string, string>): Promise<[status: number, text: string]>
  /** Ends it as `kill -9` does. Resolves when it is gone. */
  kill(): Promise<void>
}

/** @param ms how long its handlers take */
export async function startStoreProcess(t: TestContext, kind: string, redis: RedisServer, ms: number): Promise<StoreProcess> {
  const file = fileURLToPath(new URL('./store-process.js', import.meta.url))
  const child = spawn(process.execPath, [file, kind, String(redis.port), String(ms)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  const agent = new Agent({ keepAlive: true, maxSockets: 400 })
  t.after(async () => {
    agent.destroy()
    await kill()
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const port = Number(line.toString())
  const send = (method: string, path: string, body: string | null, headers: Record<string, string>): Promise<[number, string]> =>
    new Promise((resolve, reject) => {
      const sent = request(
        { host: '127.0.0.1', port, method, path, headers: { Host: 'api.example', ...headers }, agent },
        async (response) => {
          try {
            let text = ''
            for await (const piece of response) text += piece
            resolve([response.statusCode!, text])
          } catch (error) {
            reject(error as Error)
          }
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  return {
    get: async (path) => (await send('GET', path, null, {}))[1],
    post: (path, body, headers = {}) => send('POST', path, body, headers),
    kill,
  }
}
