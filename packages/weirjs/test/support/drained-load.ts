// Two servers with `weirjs/health` behind HAProxy, which asks /readyz, and drained in turn under load. HAProxy repeats no request, so whatever
// meets a server that is going away fails.

import { Agent, get } from 'node:http'
import type { TestContext } from 'node:test'
import { runHaproxy } from '../../../../test/proxies/proxy.ts'
import { HttpServer } from '../../src/index.ts'
import { health } from '../../src/modules/health/index.ts'

export interface DrainedLoadOptions {
  readonly requests: number
  /** How often a server is drained and started again, at least. */
  readonly drains: number
  /** The `readyDelayMs` of each stop. */
  readonly readyDelayMs: number
  readonly clients: number
}

export interface DrainedLoadReport {
  readonly answered: number
  /** What came instead of a 200. */
  readonly failed: readonly string[]
  readonly drains: number
  /** Requests that each server has answered. */
  readonly handled: readonly number[]
}

/** Between two checks of HAProxy. */
const CHECK_MS = 50

export async function drainedLoad(t: Pick<TestContext, 'after'>, options: DrainedLoadOptions): Promise<DrainedLoadReport> {
  const handled = [0, 0]
  const start = async (i: number, port: number): Promise<HttpServer> => {
    const server = new HttpServer('127.0.0.1', port, { logger: null }).use(health())
    server.mapGet('/', async () => {
      handled[i]!++
      if (handled[i]! % 50 === 0) await pause(5)
      return 'hello'
    })
    await server.start()
    return server
  }
  const servers = [await start(0, 0), await start(1, 0)]
  t.after(() => Promise.all(servers.map((server) => server.stop({ graceMs: 0 }))))
  const ports = servers.map(({ port }) => port)
  const { port } = await runHaproxy(t as TestContext, (port) => configuration(port, ports))

  const agent = new Agent({ keepAlive: true, maxSockets: options.clients })
  t.after(() => agent.destroy())
  const failed: string[] = []
  let sent = 0
  let answered = 0
  let drains = 0
  const isOver = (): boolean => sent >= options.requests && drains >= options.drains
  const ask = async (): Promise<void> => {
    while (!isOver()) {
      sent++
      const outcome = await outcomeOf(port, agent)
      if (outcome === '200 hello') answered++
      else failed.push(outcome)
    }
  }
  const loads = Promise.all(Array.from({ length: options.clients }, ask))
  for (let i = 0; !isOver(); i = 1 - i) {
    await servers[i]!.stop({ readyDelayMs: options.readyDelayMs, graceMs: 5_000 })
    drains++
    servers[i] = await start(i, ports[i]!)
    const before = handled[i]!
    while (handled[i] === before && !isOver()) await pause(CHECK_MS) // until HAProxy has seen that it is back
  }
  await loads
  return { answered, failed, drains, handled }
}

function configuration(port: number, ports: readonly number[]): string {
  return `
global
  maxconn 512
defaults
  mode http
  timeout connect 5s
  timeout server 20s
  timeout client 20s
  timeout check 20s
  retries 0
  option httpchk GET /readyz
frontend front
  bind 127.0.0.1:${port}
  default_backend behind
backend behind
  balance roundrobin
  default-server check inter ${CHECK_MS}ms fall 1 rise 1
${ports.map((one, i) => `  server weir${i} 127.0.0.1:${one}`).join('\n')}
`
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Status and text, or what went wrong. */
function outcomeOf(port: number, agent: Agent): Promise<string> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, agent }, (response) => {
      let text = ''
      response.setEncoding('latin1')
      response.on('data', (piece: string) => (text += piece))
      response.on('end', () => resolve(`${response.statusCode} ${text}`))
      response.on('error', (error) => resolve(error.message))
    })
    request.on('error', (error) => resolve(error.message))
  })
}
