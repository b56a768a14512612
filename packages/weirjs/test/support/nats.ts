// NATS servers for tests: separate processes, with a temporary directory each.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

import { connect, type NatsConnectOptions, type OwnNatsConnection } from './nats-packages.ts'
import { temporaryDirectory } from './temporary.ts'

/** Why tests with NATS cannot run here, or false. */
export const noNats: string | false =
  spawnSync('nats-server', ['--version']).status === 0 ? false : 'nats-server is not on the PATH: install it to run these tests'

export interface NatsServer {
  readonly port: number
  readonly process: ChildProcess
  /** Ends it as a crash would. Resolves when the process is gone. */
  kill(): Promise<void>
  /** Starts it again on the same port, with what JetStream has stored. */
  restart(): Promise<void>
  /** A connection that is closed with the test, and reconnects quickly and forever. */
  connect(options?: NatsConnectOptions): Promise<OwnNatsConnection>
}

/** A server with JetStream on 127.0.0.1, ended with the test. */
export async function startNats(t: TestContext, ...options: string[]): Promise<NatsServer> {
  const directory = temporaryDirectory(t)
  let [process, port] = await launch(directory, -1, options)
  const kill = async (): Promise<void> => {
    if (process.exitCode !== null || process.signalCode !== null) return
    const gone = once(process, 'exit')
    process.kill('SIGKILL')
    await gone
  }
  t.after(kill)
  return {
    port,
    get process() {
      return process
    },
    kill,
    async restart() {
      await kill()
      ;[process, port] = await launch(directory, port, options)
    },
    async connect(given) {
      const connection = await connect({ servers: `127.0.0.1:${port}`, maxReconnectAttempts: -1, reconnectTimeWait: 50, ...given })
      t.after(() => connection.close())
      return connection
    },
  }
}

/** @param port -1 for a free one, which the server writes into a file */
async function launch(directory: string, port: number, options: readonly string[]): Promise<[ChildProcess, port: number]> {
  for (const name of portsFiles(directory)) rmSync(join(directory, name))
  const args = ['--addr', '127.0.0.1', '--port', String(port), '--ports_file_dir', directory, '--jetstream', '--store_dir', directory]
  const process = spawn('nats-server', [...args, '--log', join(directory, 'log'), ...options], { stdio: 'ignore' })
  const end = performance.now() + 120_000
  for (;;) {
    const found = readPort(directory)
    if (found !== null) return [process, found]
    if (process.exitCode !== null) throw new Error(`nats-server ended with ${process.exitCode}: ${logOf(directory)}`)
    if (performance.now() > end) throw new Error(`nats-server is not ready within two minutes: ${logOf(directory)}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function portsFiles(directory: string): string[] {
  return readdirSync(directory).filter((name) => name.endsWith('.ports'))
}

function readPort(directory: string): number | null {
  const [name] = portsFiles(directory)
  if (name === undefined) return null
  const text = readFileSync(join(directory, name), 'utf8')
  try {
    const { nats } = JSON.parse(text) as { readonly nats: readonly string[] }
    return Number(new URL(nats[0]!).port)
  } catch {
    return null // it is being written
  }
}

function logOf(directory: string): string {
  const log = join(directory, 'log')
  return existsSync(log) ? readFileSync(log, 'utf8') : ''
}
