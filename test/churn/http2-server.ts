// The server of ./http2.ts, in a process of its own: it dies alone, and its memory is its own.

import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { cert, key } from '../../packages/weirjs/test/support/certificate.ts'

/** What a server has left when nobody visits it. */
export interface Remains {
  readonly port: number
  readonly begun: number
  readonly ended: number
  /** Handlers that have not settled. */
  readonly running: number
  readonly descriptors: number
  readonly heapBytes: number
  readonly externalBytes: number
  /** What the system has given the process. */
  readonly residentBytes: number
}

/** Short, so that they all pass in each visit. */
const TIMEOUTS = {
  headersTimeout: 1_000,
  keepAliveTimeout: 400,
  writeTimeout: 400,
  lingerTimeout: 100,
  bodyGracePeriod: 200,
  requestTimeout: 500,
}
const GRACE_MS = 100
const LARGE = 'x'.repeat(300_000)

const counts = { begun: 0, ended: 0, running: 0 }
let server = await start(0)
process.send!(await remains())
process.on('message', async (word: 'stop' | 'ask') => {
  const { port } = server
  await server.stop({ graceMs: GRACE_MS })
  const left = word === 'ask' ? await remains() : null
  server = await start(port)
  process.send!(left ?? (await remains()))
})

async function start(port: number): Promise<HttpServer> {
  const one = new HttpServer({ port, hosts: 'any', tls: { key, cert }, http2: true, logger: null, timeouts: TIMEOUTS })
  one.observe({ begin: () => counts.begun++, end: ({ kind }) => (kind === 'request' ? counts.ended++ : 0) })
  one.mapGet('/', () => 'hello')
  one.mapGet('/large', () => LARGE)
  one.mapGet('/slow', () => counted(pause(50).then(() => 'slow')))
  one.mapGet('/throw', () => {
    throw new Error('thrown on purpose')
  })
  one.mapGet('/stream', async function* () {
    counts.running++
    try {
      for (let i = 0; i < 50; i++) {
        yield LARGE.slice(0, 5_000)
        await pause(1)
      }
    } finally {
      counts.running--
    }
  })
  one.map('POST', '/read', { body: 'stream' }, (_, { request }) => counted(drain(request.bodyStream())))
  one.map('POST', '/ignored', { body: 'stream' }, () => counted(pause(20).then(() => 'ignored')))
  one.mapPost('/whole', (_, { request }) => request.bodyLength)
  await one.start()
  return one
}

async function counted(work: Promise<string>): Promise<string> {
  counts.running++
  try {
    return await work
  } finally {
    counts.running--
  }
}

async function drain(body: AsyncIterable<Uint8Array>): Promise<string> {
  for await (const _chunk of body);
  return 'read'
}

async function remains(): Promise<Remains> {
  // Handlers whose requests were aborted may still be working.
  await pause(1_000)
  for (let i = 0; i < 3; i++) {
    ;(globalThis as { gc?: () => void }).gc?.()
    await pause(20)
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  return { port: server.port, ...counts, descriptors: descriptors(), heapBytes: heapUsed, externalBytes: external, residentBytes: rss }
}

/** 0 where the system does not tell. */
function descriptors(): number {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return 0
  }
}
