// `node build/test/churn/http2.js [seconds] [seed]`: for 30 seconds, fifty clients at a time speak HTTP/2 badly and leave in the middle.
//
// Not part of `npm test`: it looks for memory that Node writes to after freeing it, which shows by chance, after a hundred connections or
// ten thousand, as an abort of the server's process. A seed makes the clients send the same, but the outcome may differ.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'

import { HttpServer } from '../../src/index.ts'
import { Random } from '../fuzz/random.ts'
import { cert, key } from '../support/certificate.ts'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  encodeFields,
  encodeFrame,
  GOAWAY,
  HEADERS,
  PREFACE,
  RST_STREAM,
  SETTINGS,
} from '../support/http2-client.ts'

const CLIENTS = 50
const PATHS = ['/', '/large', '/slow', '/stream']

if (process.argv[2] === 'serve') await serve()
else await churn(Number(process.argv[2] ?? 30), process.argv[3] ?? String(Date.now()))

async function serve(): Promise<void> {
  const server = new HttpServer({ port: 0, tls: { key, cert }, http2: true })
  server.mapGet('/', () => 'hello')
  server.mapGet('/large', () => 'x'.repeat(300_000))
  server.mapGet('/slow', () => new Promise((resolve) => setTimeout(resolve, 300)))
  server.mapGet('/stream', async function* () {
    for (let i = 0; i < 50; i++) {
      yield 'x'.repeat(5000)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  })
  server.map('POST', '/', { body: 'stream' }, async (_, { request }) => {
    for await (const _chunk of request.bodyStream());
    return 'read'
  })
  server.mapPost('/whole', (_, { request }) => request.bodyLength)
  await server.start()
  process.send!(server.port)
}

async function churn(seconds: number, seed: string): Promise<void> {
  const random = new Random(seed)
  const child = fork(process.argv[1]!, ['serve'], { stdio: 'inherit' })
  const end = once(child, 'exit')
  const [port] = (await once(child, 'message')) as [number]
  const until = Date.now() + 1000 * seconds
  let connections = 0
  const isOver = (): boolean => Date.now() > until || child.exitCode !== null || child.signalCode !== null
  const attack = async (): Promise<void> => {
    while (!isOver()) {
      await visit(random, port)
      connections++
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, attack))
  const isAlive = child.exitCode === null && child.signalCode === null
  console.log(`seed ${seed}, Node ${process.versions.node}: ${isAlive ? 'alive' : 'dead'} after ${connections} connections`)
  process.exitCode = isAlive ? 0 : 1
  child.kill()
  await end
}

async function visit(random: Random, port: number): Promise<void> {
  const raw = connectTcp(port, '127.0.0.1').on('error', () => {})
  const closed = new Promise((resolve) => raw.once('close', resolve))
  const socket = connectTls({ socket: raw, rejectUnauthorized: false, ALPNProtocols: ['h2'] }).on('error', () => {})
  socket.once('close', () => raw.destroy())
  const leave = random.pick([() => raw.destroy(), () => raw.resetAndDestroy(), () => raw.resetAndDestroy(), () => socket.end()])
  socket.once('secureConnect', () => {
    socket.write(frames(random))
    if (random.oneIn(2)) socket.resume()
    setTimeout(leave, random.below(60))
  })
  const patience = setTimeout(() => raw.destroy(), 2000)
  await closed
  clearTimeout(patience)
}

function frames(random: Random): Buffer {
  const parts = [PREFACE, encodeFrame(SETTINGS, 0, 0)]
  const count = 1 + random.below(6)
  for (let i = 0, stream = 1; i < count; i++, stream += 2) {
    if (random.oneIn(2)) parts.push(head(stream, 'GET', random.pick(PATHS)))
    else parts.push(head(stream, 'POST', random.pick(['/', '/whole', '/none'])), data(random, stream))
    if (random.oneIn(4)) parts.push(encodeFrame(RST_STREAM, 0, stream, code(random.below(9))))
    if (random.oneIn(12)) parts.push(encodeFrame(GOAWAY, 0, 0, Buffer.concat([code(0), code(random.below(3))])))
    if (random.oneIn(12))
      parts.push(encodeFrame(random.below(12), random.below(256), random.below(8), Buffer.alloc(random.below(20), random.below(256))))
  }
  return Buffer.concat(parts)
}

function head(stream: number, method: string, path: string): Buffer {
  const fields = encodeFields([
    [':method', method],
    [':scheme', 'https'],
    [':authority', 'localhost'],
    [':path', path],
  ])
  return encodeFrame(HEADERS, method === 'GET' ? END_HEADERS | END_STREAM : END_HEADERS, stream, fields)
}

function data(random: Random, stream: number): Buffer {
  return encodeFrame(DATA, random.oneIn(2) ? END_STREAM : 0, stream, Buffer.alloc(random.below(16_000)))
}

function code(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
