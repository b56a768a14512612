// Redis servers for tests: separate processes, with a temporary directory each and nothing on disk.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

import { temporaryDirectory } from './temporary.ts'

/** Why tests with Redis cannot run here, or false. */
export const noRedis: string | false =
  spawnSync('redis-server', ['--version']).status === 0 ? false : 'redis-server is not on the PATH: install it to run these tests'

export interface RedisServer {
  readonly port: number
  readonly process: ChildProcess
  /** Runs one command with redis-cli, and returns what it printed. */
  cli(...args: string[]): string
  /** Ends it as a crash would. Resolves when the process is gone. */
  kill(): Promise<void>
  /** Starts it again on the same port, without any data. */
  restart(): Promise<void>
}

/** A server on 127.0.0.1, ended with the test. */
export async function startRedis(t: TestContext, ...options: string[]): Promise<RedisServer> {
  const port = await freePort()
  const directory = temporaryDirectory(t)
  let process = await launch(port, directory, options)
  const kill = async (): Promise<void> => {
    if (process.exitCode !== null || process.signalCode !== null) return
    const gone = once(process, 'exit')
    process.kill('SIGKILL') // a stopped process ends, too
    await gone
  }
  t.after(kill)
  return {
    port,
    get process() {
      return process
    },
    cli: (...args) => cli(port, args),
    kill,
    async restart() {
      await kill()
      process = await launch(port, directory, options)
    },
  }
}

/** Three nodes that share the hash slots. */
export async function startRedisCluster(t: TestContext): Promise<readonly RedisServer[]> {
  const options = (): string[] => ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', '--cluster-require-full-coverage', 'no']
  const nodes = await Promise.all([startRedis(t, ...options()), startRedis(t, ...options()), startRedis(t, ...options())])
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`)
  const made = spawnSync('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes'], { encoding: 'utf8' })
  if (made.status !== 0) throw new Error(`the cluster was not made: ${made.stdout}${made.stderr}`)
  for (const node of nodes) await until(() => node.cli('cluster', 'info').includes('cluster_state:ok'), 'the cluster')
  return nodes
}

async function launch(port: number, directory: string, options: readonly string[]): Promise<ChildProcess> {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', '', '--appendonly', 'no', ...options]
  const process = spawn('redis-server', [...args, '--logfile', join(directory, 'log')], { stdio: 'ignore' })
  await until(() => {
    if (process.exitCode !== null) throw new Error(`redis-server ended with ${process.exitCode}`)
    return cli(port, ['ping']).includes('PONG')
  }, 'redis-server')
  return process
}

function cli(port: number, args: readonly string[]): string {
  return spawnSync('redis-cli', ['-p', String(port), ...args], { encoding: 'utf8' }).stdout
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const end = performance.now() + 120_000
  while (!condition()) {
    if (performance.now() > end) throw new Error(`${what} is not ready within two minutes`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** Below 55536, so that the cluster's own port, 10000 above, exists. */
async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    server.close()
    await once(server, 'close')
    if (port < 55_000) return port
  }
}
