// `node build/test/churn/http2.js [connections] [seed] [visit ...]`: hostile clients of HTTP/2 over TLS, 100 at a time, against a server that is
// stopped and started again ten times under them. By default 10,000 connections, and all visits of ./http2-visits.ts.
//
// The server must live, and when all are gone it must have ended each request that it began, and hold no more memory and descriptors than after
// the first connections. Not part of `npm test`: it takes minutes. A seed makes the clients send the same, but the outcome may differ.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { encodeFields, encodeFrame, PREFACE, SETTINGS } from '../../packages/weirjs/test/support/http2-client.ts'
import { Random } from '../fuzz/random.ts'
import type { Remains } from './http2-server.ts'
import { type Guest, VISITS, type Visit } from './http2-visits.ts'

const CLIENTS = 100
const STOPS = 10
const PATIENCE_MS = 2_000
/** Connections after which the server's code and pools have grown to their size. */
const WARM_UP = 1_000
const MOST_GROWTH_BYTES = 8 * 1024 * 1024
/** What is left of a server that died. */
const NOTHING: Remains = { port: 0, begun: 0, ended: 0, running: 0, descriptors: 0, heapBytes: 0, externalBytes: 0, residentBytes: 0 }

const connections = Number(process.argv[2] ?? 10_000)
const seed = process.argv[3] ?? String(Date.now())
const names = process.argv.length > 4 ? process.argv.slice(4) : Object.keys(VISITS)
const random = new Random(seed)
const startedAt = Date.now()
const child = fork(fileURLToPath(new URL('./http2-server.js', import.meta.url)), [], { stdio: 'inherit', execArgv: ['--expose-gc'] })
const { port } = await wordOf(child)

await visitAll(Math.min(WARM_UP, connections), false)
const before = await ask('ask')
await visitAll(connections, true)
const after = await ask('ask')
const faults = [
  ...(isDead(child) ? ['the server died'] : []),
  ...(after.begun === after.ended ? [] : [`${after.begun} requests began, ${after.ended} ended`]),
  ...(after.running === 0 ? [] : [`${after.running} handlers have not settled`]),
  ...(after.descriptors <= before.descriptors ? [] : [`${before.descriptors} descriptors became ${after.descriptors}`]),
  ...(after.heapBytes + after.externalBytes <= before.heapBytes + before.externalBytes + MOST_GROWTH_BYTES
    ? []
    : ['memory did not return']),
  ...(isDead(child) || (await isServed()) ? [] : ['a good request is not answered']),
]
const mib = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1)
console.log(
  `seed ${seed}, Node ${process.versions.node}: ${connections} connections, ${after.begun} requests, ${after.descriptors} descriptors,`,
  `heap ${mib(before.heapBytes)} -> ${mib(after.heapBytes)} MiB, external ${mib(before.externalBytes)} -> ${mib(after.externalBytes)} MiB,`,
  `resident ${mib(before.residentBytes)} -> ${mib(after.residentBytes)} MiB, ${Math.round((Date.now() - startedAt) / 1000)} s:`,
  faults.length === 0 ? 'fine' : faults.join('; '),
)
child.kill()
process.exit(faults.length === 0 ? 0 : 1) // sockets whose end Node has not reported would keep this process

async function visitAll(count: number, stops: boolean): Promise<void> {
  let visits = 0
  const attack = async (): Promise<void> => {
    while (visits < count && !isDead(child)) {
      visits++
      await visit(VISITS[random.pick(names)]!)
    }
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, attack))
  for (let i = 1; stops && i <= STOPS; i++) {
    while (visits < (count * i) / (STOPS + 1) && !isDead(child)) await pause(10)
    await ask('stop')
  }
  await clients
}

async function visit(act: Visit): Promise<void> {
  const raw = connectTcp(port, '127.0.0.1').on('error', () => {})
  const closed = new Promise<void>((resolve) => raw.once('close', () => resolve()))
  // TLS 1.2 has what TLS 1.3 has abolished.
  const maxVersion = random.oneIn(3) ? 'TLSv1.2' : 'TLSv1.3'
  const socket = connectTls({ socket: raw, rejectUnauthorized: false, ALPNProtocols: ['h2'], maxVersion }).on('error', () => {})
  socket.once('close', () => raw.destroy())
  const guest: Guest = {
    random,
    send(...parts) {
      for (const bytes of parts) if (!socket.destroyed && socket.writable) socket.write(bytes)
    },
    end: () => socket.end(),
    vanish: () => raw.destroy(),
    sendRaw(bytes) {
      if (!raw.destroyed) raw.write(bytes)
    },
  }
  const leave = random.pick([() => raw.destroy(), () => raw.resetAndDestroy(), () => socket.end(), () => {}])
  if (random.oneIn(50)) setTimeout(() => raw.destroy(), random.below(5)) // in the handshake
  socket.once('secureConnect', async () => {
    if (!random.oneIn(3)) socket.resume()
    if (maxVersion === 'TLSv1.2' && random.oneIn(10)) socket.renegotiate({ rejectUnauthorized: false }, () => {})
    await act(guest)
    await pause(random.below(30))
    leave()
  })
  const over = new AbortController()
  await Promise.race([closed, pause(PATIENCE_MS, undefined, over).catch(() => {})])
  over.abort()
  socket.destroy() // Node does not always report the end of a socket below TLS
  raw.destroy()
}

/** Whether a good request is answered. */
async function isServed(): Promise<boolean> {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] }).on('error', () => {})
  const block = encodeFields([
    [':method', 'GET'],
    [':scheme', 'https'],
    [':authority', 'localhost'],
    [':path', '/'],
  ])
  socket.write(Buffer.concat([PREFACE, encodeFrame(SETTINGS, 0, 0), encodeFrame(1, 5, 1, block)]))
  let text = ''
  const answered = new Promise<boolean>((resolve) => {
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
      if (text.includes('hello')) resolve(true)
    })
    socket.on('close', () => resolve(false))
    setTimeout(() => socket.destroy(), PATIENCE_MS)
  })
  const isAnswered = await answered
  socket.destroy()
  return isAnswered
}

/** Stops the server, and starts it again. @returns what was left of it */
async function ask(word: 'stop' | 'ask'): Promise<Remains> {
  if (isDead(child)) return NOTHING
  child.send(word)
  return wordOf(child)
}

async function wordOf(process: ChildProcess): Promise<Remains> {
  const over = new AbortController()
  const { signal } = over
  const [word] = (await Promise.race([once(process, 'message', { signal }), once(process, 'exit', { signal })])) as unknown[]
  over.abort()
  return typeof word === 'object' && word !== null ? (word as Remains) : NOTHING
}

function isDead({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}
