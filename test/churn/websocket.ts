// `node build/test/churn/websocket.js [visits] [seed] [visit ...]`: hostile WebSocket clients, 100 at a time. By default 100,000 visits, of all kinds.
//
// The server must live, and when all are gone it must have closed each connection that it opened, and hold no more memory and descriptors than
// after the first thousand. Not part of `npm test`: it takes minutes. A seed makes the clients send the same, but the outcome may differ.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { constants, deflateRawSync } from 'node:zlib'

import { BINARY, CLOSE, frame, HANDSHAKE, PING, PONG, TEXT } from '../../packages/weirjs/test/support/websocket-client.ts'
import { Random } from '../fuzz/random.ts'
import type { Remains } from './websocket-server.ts'

const CLIENTS = 100
/** Visits after which the server's code and pools have grown to their size. */
const WARM_UP = 1_000
const MOST_GROWTH_BYTES = 8 * 1024 * 1024
/** A hundred clients that do not read may have 1 MiB each, and what they send waits in their sockets. */
const MOST_RESIDENT_BYTES = 512 * 1024 * 1024
/** A client that is still there then leaves. */
const PATIENCE_MS = 2_000
const CONTINUATION = 0
/** What is left of a server that died. */
const NOTHING: Remains = {
  ...{ port: 0, opened: 0, closed: 0, messages: 0, connections: 0, descriptors: 0 },
  ...{ heapBytes: 0, externalBytes: 0, residentBytes: 0, mostResidentBytes: 0 },
}
const PATHS = ['/echo', '/slow', '/room', '/typed', '/closes']
const BOMB = deflateRawSync(Buffer.alloc(8 * 1024 * 1024), { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)

const visits = Number(process.argv[2] ?? 100_000)
const seed = process.argv[3] ?? String(Date.now())
const random = new Random(seed)

/** One client on an open WebSocket. */
interface Guest {
  readonly socket: Socket
  /** Resolves when the bytes are passed on, or never will be. */
  send(...parts: readonly Uint8Array[]): Promise<void>
}

const text = (length: number): string => 'x'.repeat(length)
const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

/** What a client does once it is connected. It leaves afterwards, in one of several ways, or stays. */
const VISITS: Readonly<Record<string, (guest: Guest) => Promise<unknown> | undefined>> = {
  good: ({ send }) => send(frame(TEXT, 'hello'), frame(CLOSE, Buffer.of(3, 232))),
  fragments: ({ send }) =>
    send(frame(TEXT, '', { fin: false }), ...times(2_000, () => frame(CONTINUATION, random.oneIn(2) ? 'x' : '', { fin: false }))),
  fragmentsWithFillers: ({ send }) =>
    send(
      frame(BINARY, 'a', { fin: false }),
      ...times(500, () => [frame(PING, text(125)), frame(CONTINUATION, 'x', { fin: false })]).flat(),
    ),
  pings: ({ send }) => send(...times(3_000, () => frame(PING, text(random.below(126))))),
  pongs: ({ send }) => send(...times(3_000, () => frame(PONG, 'never asked'))),
  bomb: ({ send }) => send(...times(3, () => frame(BINARY, BOMB, { compressed: true }))),
  smallBombs: ({ send }) => {
    const small = deflateRawSync(Buffer.alloc(200_000), { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)
    return send(...times(30, () => frame(BINARY, small, { compressed: true })))
  },
  cutDeflate: ({ send }) => send(frame(TEXT, BOMB.subarray(0, random.below(BOMB.length)), { compressed: true })),
  tinyMessages: ({ send }) => send(...times(5_000, () => frame(TEXT, 'x'))),
  unread: async ({ socket, send }) => {
    socket.pause()
    await send(...times(20, () => frame(BINARY, Buffer.alloc(60_000))))
  },
  tooLarge: ({ send }) => send(frame(BINARY, Buffer.alloc(300_000))),
  lyingLength: ({ send }) => send(Buffer.from([0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])),
  halfMessage: ({ send }) => send(frame(BINARY, Buffer.alloc(100_000)).subarray(0, random.below(100_000))),
  halfOpen: async ({ socket }) => void socket.end(),
  silent: () => pause(random.below(1_500)),
  neverCloses: async ({ send }) => {
    await send(frame(CLOSE, Buffer.of(3, 232)))
    await pause(300)
    await send(...times(50, () => frame(TEXT, 'after the close')))
  },
  closeUnanswered: ({ send }) => send(frame(TEXT, 'go'), ...times(50, () => frame(TEXT, 'more'))),
  badUtf8: ({ send }) => send(frame(TEXT, Buffer.from([0x61, 0xff]))),
  unmasked: ({ send }) => send(frame(TEXT, 'x', { mask: false })),
  noise: ({ send }) => send(Buffer.from(times(random.below(3_000), () => random.below(256)))),
  byteByByte: async ({ socket, send }) => {
    for (const byte of Buffer.concat([frame(PING, 'ping'), frame(TEXT, text(30)), frame(CLOSE)])) {
      if (socket.destroyed) return
      await send(Buffer.of(byte))
      await pause(1)
    }
  },
}
const names = process.argv.length > 4 ? process.argv.slice(4) : Object.keys(VISITS)

const startedAt = Date.now()
const child = fork(fileURLToPath(new URL('./websocket-server.js', import.meta.url)), [], { stdio: 'inherit', execArgv: ['--expose-gc'] })
const isDead = (): boolean => child.exitCode !== null || child.signalCode !== null
const word = async (): Promise<Remains> => (await once(child, 'message'))[0] as Remains
const { port } = await word()

await visitAll(Math.min(WARM_UP, visits))
const before = await ask()
await visitAll(visits)
const after = await ask()
const faults = [
  ...(isDead() ? ['the server died'] : []),
  ...(after.opened === after.closed ? [] : [`${after.opened} connections were opened, ${after.closed} closed`]),
  ...(after.opened > visits / 2 ? [] : [`only ${after.opened} connections were opened`]),
  ...(after.connections === 0 ? [] : [`${after.connections} connections are left`]),
  ...(after.descriptors <= before.descriptors ? [] : [`${before.descriptors} descriptors became ${after.descriptors}`]),
  ...(after.heapBytes + after.externalBytes <= before.heapBytes + before.externalBytes + MOST_GROWTH_BYTES
    ? []
    : ['memory did not return']),
  ...(after.mostResidentBytes <= MOST_RESIDENT_BYTES ? [] : ['too much memory was taken']),
]
const mib = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1)
console.log(
  `seed ${seed}, Node ${process.versions.node}: ${visits} visits, ${after.opened} WebSockets, ${after.messages} messages, ${after.descriptors} descriptors,`,
  `heap ${mib(before.heapBytes)} -> ${mib(after.heapBytes)} MiB, external ${mib(before.externalBytes)} -> ${mib(after.externalBytes)} MiB,`,
  `resident ${mib(before.residentBytes)} -> ${mib(after.residentBytes)} MiB, at most ${mib(after.mostResidentBytes)},`,
  `${Math.round((Date.now() - startedAt) / 1000)} s:`,
  faults.length === 0 ? 'fine' : faults.join('; '),
)
child.kill()
process.exit(faults.length === 0 ? 0 : 1)

async function visitAll(count: number): Promise<void> {
  let begun = 0
  const attack = async (): Promise<void> => {
    while (begun < count && !isDead()) {
      begun++
      await visit(VISITS[random.pick(names)]!)
    }
  }
  await Promise.all(times(CLIENTS, attack))
}

async function visit(act: (guest: Guest) => Promise<unknown> | undefined): Promise<void> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const leave = random.pick([() => socket.destroy(), () => socket.resetAndDestroy(), () => socket.end(), () => {}])
  const guest: Guest = {
    socket,
    send(...parts) {
      if (socket.destroyed || !socket.writable) return Promise.resolve()
      return Promise.race([closed, new Promise<void>((resolve) => socket.write(Buffer.concat(parts), () => resolve()))])
    },
  }
  const extensions = random.oneIn(2) ? 'Sec-WebSocket-Extensions: permessage-deflate\r\n' : ''
  socket.once('connect', async () => {
    socket.write(`GET ${random.pick(PATHS)} HTTP/1.1\r\nHost: localhost\r\n${HANDSHAKE}${extensions}\r\n`)
    // Some do not wait for the response.
    if (!random.oneIn(4)) await Promise.race([once(socket, 'data').catch(() => {}), closed])
    socket.resume()
    await act(guest)
    await pause(random.below(30))
    leave()
  })
  const over = new AbortController()
  await Promise.race([closed, pause(PATIENCE_MS, undefined, over).catch(() => {})])
  over.abort()
  socket.destroy()
}

async function ask(): Promise<Remains> {
  if (isDead()) return NOTHING
  child.send('ask')
  return word()
}
