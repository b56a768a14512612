// slowhttptest, a tool for slow attacks on HTTP servers, against a server with short timeouts: the server has to get rid of every
// connection, while another client is served and memory does not grow.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { accessSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { HttpServer } from '../src/index.ts'
import { RawClient } from './support/raw-client.ts'
import { temporaryDirectory } from './support/temporary.ts'

const MIB = 1024 * 1024
const CONNECTIONS = 300
const SECONDS = 8
const PIECE = Buffer.alloc(64 * 1024)

const skip = isInstalled('slowhttptest') ? false : 'slowhttptest is not installed here: apt-get install slowhttptest'

interface Attack {
  /** The output of the tool, without its colours. */
  readonly said: string
  /** How many requests reached the endless stream, and why each of them ended. */
  readonly streams: number
  readonly reasons: readonly unknown[]
  /** How many responses the good client got in the meantime. */
  readonly served: number
  readonly grownBytes: number
}

async function attack(t: TestContext, path: string, mode: readonly string[], seconds = SECONDS): Promise<Attack> {
  const reasons: unknown[] = []
  let streams = 0
  const server = new HttpServer({
    hosts: 'any',
    logger: { error: (_message, detail) => assert.fail(String(detail)) },
    timeouts: {
      headersTimeout: 1_000,
      keepAliveTimeout: 3_000, // the good client shares a thread with the server, which may be busy for a while
      bodyGracePeriod: 1_000,
      minBodyRate: 1_000,
      writeTimeout: 1_000,
      lingerTimeout: 200,
    },
  })
  server
    .mapGet('/', () => 'hello')
    .mapPost('/', (_, { request }) => request.bodyLength)
    .mapGet('/page', (_, { response }) => response.file(join(process.cwd(), 'package.json')))
    .mapGet('/endless', async function* (_, { signal }) {
      streams++
      signal.addEventListener('abort', () => reasons.push((signal.reason as { code?: string }).code))
      for (;;) {
        yield PIECE
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const heldBytes = (): number => process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed
  const before = heldBytes()
  let most = before
  let served = 0
  let isOver = false
  const good = await RawClient.connect(server.port)
  const serving = (async () => {
    while (!isOver) {
      assert.equal((await good.get('/').message()).text, 'hello')
      served++
      most = Math.max(most, heldBytes())
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  })()
  serving.catch(() => {})
  const url = `http://127.0.0.1:${server.port}${path}`
  const said = await run(t, ['-c', String(CONNECTIONS), '-r', String(CONNECTIONS), '-l', String(seconds), '-p', '30', '-u', url, ...mode])
  isOver = true
  await serving
  good.destroy()
  const report = await server.stop({ graceMs: 5_000 })
  assert.equal(report.aborted, 0, 'no request outlives the attack')
  return { said, streams, reasons, served, grownBytes: most - before }
}

function run(t: TestContext, options: readonly string[]): Promise<string> {
  const child = spawn('slowhttptest', options, { cwd: temporaryDirectory(t), stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  let said = ''
  const hear = (bytes: Buffer): void => void (said += bytes.toString())
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', () => resolve(said.replace(/\x1b\[[\d;]*[A-Za-z]/g, '')))
  })
}

function isInstalled(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program))
      return true
    } catch {
      return false
    }
  })
}

function wasCalm({ said, served, grownBytes }: Attack): void {
  assert.match(said, /service available:\s+YES/)
  assert.doesNotMatch(said, /service available:\s+NO/)
  assert.ok(served > 10, `only ${served} responses were sent in the meantime`)
  assert.ok(grownBytes < 100 * MIB, `memory grew by ${Math.round(grownBytes / MIB)} MiB`)
}

test('slow headers: every connection is ended by headersTimeout', { skip }, async (t) => {
  const result = await attack(t, '/', ['-H', '-i', '1'])
  wasCalm(result)
  assert.match(result.said, /No open connections left/)
})

test('slow bodies: every connection is ended by minBodyRate', { skip }, async (t) => {
  const result = await attack(t, '/', ['-B', '-i', '1', '-s', '100000', '-x', '10'])
  wasCalm(result)
  assert.match(result.said, /No open connections left/)
})

test('slow reading: every stream is aborted by writeTimeout', { skip }, async (t) => {
  const result = await attack(t, '/endless', ['-X', '-w', '1', '-y', '2', '-n', '3', '-z', '1'], 3 * SECONDS)
  wasCalm(result)
  // The tool counts a connection as open until it has read what arrived before the reset, so the server's own count is used.
  // On a busy machine, the tool's time is over before all of its connections are open.
  assert.ok(result.streams >= CONNECTIONS / 4, `${result.streams} streams were begun`)
  const others = result.reasons.filter((code) => code !== 'WEIR_WRITE_TIMEOUT')
  assert.equal(result.reasons.length, result.streams)
  // During its attack, the tool checks from time to time whether the server still responds, and on a busy machine it may finish before the
  // last stream has been cut off.
  assert.ok(others.length < CONNECTIONS / 3, `${others.length} streams ended by ${[...new Set(others)].join(', ')}`)
})

test('thousands of overlapping ranges: the file is sent as a whole, and the connection ends by keepAliveTimeout', { skip }, async (t) => {
  const result = await attack(t, '/page', ['-R', '-a', '5', '-b', '3000'])
  wasCalm(result)
  assert.match(result.said, /No open connections left/)
})
