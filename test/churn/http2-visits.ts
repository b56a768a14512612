// What hostile clients do on an HTTP/2 connection. Each visit sends something that a server must survive, and may leave in the middle of it.

import { setTimeout as pause } from 'node:timers/promises'

import { PRIORITY_UPDATE, WITH_PRIORITY } from '../../packages/weirjs/src/wire/http2/frames/frame-types.ts'
import {
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  encodeFields,
  encodeFrame,
  GOAWAY,
  HEADERS,
  INITIAL_WINDOW_SIZE,
  PING,
  PREFACE,
  PRIORITY,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from '../../packages/weirjs/test/support/http2-client.ts'
import { uint32 } from '../../packages/weirjs/test/support/http2-steps.ts'
import type { Random } from '../fuzz/random.ts'

/** The paths of ./http2-server.ts. */
const PATHS = ['/', '/large', '/slow', '/stream', '/throw', '/none']
const SINKS = ['/read', '/whole', '/ignored', '/none']
const CANCEL = 8
/** Above all allowances. */
const FLOOD = 2_500

export interface Guest {
  readonly random: Random
  send(...parts: readonly Uint8Array[]): void
  /** Ends our side. */
  end(): void
  /** Closes at once, also in the middle of TLS. */
  vanish(): void
  /** Writes below TLS. */
  sendRaw(bytes: Uint8Array): void
}

export type Visit = (guest: Guest) => Promise<void> | void

const HELLO = Buffer.concat([PREFACE, encodeFrame(SETTINGS, 0, 0), encodeFrame(SETTINGS, 1, 0)])

const blockOf = (method: string, path: string, more: readonly (readonly [string, string])[] = []): Buffer =>
  encodeFields([[':method', method], [':scheme', 'https'], [':authority', 'localhost'], [':path', path], ...more])

const GET = blockOf('GET', '/')
const SLOW = blockOf('GET', '/slow')
const LARGE = blockOf('GET', '/large')

const request = (stream: number, block: Buffer, isEnd = true): Buffer =>
  encodeFrame(HEADERS, END_HEADERS | (isEnd ? END_STREAM : 0), stream, block)
const upload = (stream: number, path: string, more: readonly (readonly [string, string])[] = []): Buffer =>
  request(stream, blockOf('POST', path, more), false)
const reset = (stream: number): Buffer => encodeFrame(RST_STREAM, 0, stream, uint32(CANCEL))
const setting = (id: number, value: number): Buffer => encodeFrame(SETTINGS, 0, 0, Buffer.concat([Buffer.of(0, id), uint32(value)]))

/** `count` times what `once` makes of the numbers of streams that rise. */
const many = (count: number, once: (stream: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, i) => once(2 * i + 1)))

/** Few, often, and sometimes a flood. */
const some = (random: Random): number => (random.oneIn(4) ? FLOOD : 1 + random.skewed(300))

/** Sends `bytes` in two pieces, with a pause between them. */
async function inTwo(guest: Guest, bytes: Buffer): Promise<void> {
  const cut = guest.random.below(bytes.length)
  guest.send(bytes.subarray(0, cut))
  await pause(guest.random.below(20))
  guest.send(bytes.subarray(cut))
}

const flood =
  (frame: Buffer): Visit =>
  (guest) =>
    guest.send(
      HELLO,
      request(1, SLOW),
      many(some(guest.random), () => frame),
    )

function anything(random: Random): Buffer {
  const parts: Buffer[] = [HELLO]
  const count = 1 + random.below(6)
  for (let i = 0, stream = 1; i < count; i++, stream += 2) {
    if (random.oneIn(2)) parts.push(request(stream, blockOf('GET', random.pick(PATHS))))
    else
      parts.push(
        upload(stream, random.pick(SINKS)),
        encodeFrame(DATA, random.oneIn(2) ? END_STREAM : 0, stream, Buffer.alloc(random.below(16_000))),
      )
    if (random.oneIn(4)) parts.push(encodeFrame(RST_STREAM, 0, stream, uint32(random.below(9))))
    if (random.oneIn(12)) parts.push(encodeFrame(GOAWAY, 0, 0, Buffer.concat([uint32(0), uint32(random.below(3))])))
    if (random.oneIn(12))
      parts.push(encodeFrame(random.below(18), random.below(256), random.below(8), Buffer.alloc(random.below(20), random.below(256))))
  }
  return Buffer.concat(parts)
}

/** A field of 4,000 bytes that enters the table, then `count` references to it. */
function bomb(count: number): Buffer {
  const length = 3_990
  const literal = Buffer.concat([
    Buffer.from([0x40, 1, 0x61, 0x7f, ((length - 127) & 0x7f) | 0x80, (length - 127) >> 7]),
    Buffer.alloc(length, 0x61),
  ])
  return Buffer.concat([GET, literal, Buffer.alloc(count, 0xbe)])
}

export const VISITS: Readonly<Record<string, Visit>> = {
  anything: (guest) => inTwo(guest, anything(guest.random)),
  'rapid reset': (guest) => {
    const block = guest.random.pick([GET, SLOW, LARGE])
    guest.send(
      HELLO,
      many(some(guest.random), (stream) => Buffer.concat([request(stream, block), reset(stream)])),
    )
  },
  'resets made by the server': (guest) => {
    const fault = guest.random.pick([
      (stream: number) => encodeFrame(WINDOW_UPDATE, 0, stream, uint32(0)),
      (stream: number) => encodeFrame(WINDOW_UPDATE, 0, stream, uint32(2 ** 31 - 1)),
      (stream: number) => encodeFrame(DATA, END_STREAM, stream, Buffer.of(1)),
      (stream: number) => encodeFrame(PRIORITY, 0, stream, Buffer.alloc(4)),
      (stream: number) => encodeFrame(HEADERS, END_HEADERS | END_STREAM, stream),
    ])
    guest.send(
      HELLO,
      many(1 + guest.random.below(200), (stream) => Buffer.concat([request(stream, SLOW), fault(stream)])),
    )
  },
  'more streams than allowed': (guest) =>
    guest.send(
      HELLO,
      many(some(guest.random), (stream) => request(stream, SLOW)),
    ),
  CONTINUATION: (guest) => {
    const part = encodeFrame(CONTINUATION, 0, 1, Buffer.alloc(guest.random.pick([0, 1, 100, 16_000]), 0x82))
    guest.send(
      HELLO,
      encodeFrame(HEADERS, END_STREAM, 1, GET),
      many(some(guest.random), () => part),
    )
  },
  SETTINGS: flood(encodeFrame(SETTINGS, 0, 0)),
  'SETTINGS that change windows': (guest) =>
    guest.send(
      HELLO,
      many(50, (stream) => request(stream, LARGE)),
      many(some(guest.random), (stream) => setting(INITIAL_WINDOW_SIZE, stream % 4 === 1 ? 2 ** 31 - 1 : 0)),
    ),
  PING: flood(encodeFrame(PING, 0, 0, Buffer.alloc(8))),
  PRIORITY: flood(encodeFrame(PRIORITY, 0, 3, Buffer.alloc(5, 1))),
  PRIORITY_UPDATE: flood(encodeFrame(PRIORITY_UPDATE, 0, 0, Buffer.concat([uint32(1), Buffer.from('u=0, i')]))),
  'unknown frames': flood(encodeFrame(99, 255, 7, Buffer.alloc(30))),
  WINDOW_UPDATE: flood(encodeFrame(WINDOW_UPDATE, 0, 0, uint32(1))),
  'empty DATA': (guest) =>
    guest.send(
      HELLO,
      upload(1, guest.random.pick(SINKS)),
      many(some(guest.random), () => encodeFrame(DATA, 0, 1)),
    ),
  'single bytes': (guest) =>
    guest.send(
      HELLO,
      upload(1, guest.random.pick(SINKS)),
      many(some(guest.random), () => encodeFrame(DATA, 0, 1, Buffer.of(1))),
    ),
  'frames of reset streams': (guest) =>
    guest.send(
      HELLO,
      upload(1, '/read'),
      encodeFrame(WINDOW_UPDATE, 0, 1, uint32(0)),
      many(some(guest.random), () => encodeFrame(DATA, 0, 1, Buffer.alloc(9))),
    ),
  bomb: (guest) => guest.send(HELLO, ...[1, 3, 5].map((stream) => request(stream, bomb(guest.random.pick([10, 1_000, 12_000]))))),
  'windows that stay closed': async (guest) => {
    guest.send(
      PREFACE,
      setting(INITIAL_WINDOW_SIZE, 0),
      many(1 + guest.random.below(40), (stream) => request(stream, blockOf('GET', stream % 3 === 0 ? '/stream' : '/large'))),
    )
    for (let i = guest.random.below(8); i > 0; i--) {
      await pause(10)
      guest.send(encodeFrame(WINDOW_UPDATE, 0, 1 + 2 * guest.random.below(5), uint32(1 + guest.random.below(3))))
    }
  },
  'slow heads': async (guest) => {
    guest.send(HELLO, request(1, SLOW))
    const block = request(3, GET)
    for (let at = 0; at < 12; at++) {
      guest.send(block.subarray(at, at + 1))
      await pause(guest.random.below(30))
    }
  },
  'slow prefaces': async (guest) => {
    for (let at = 0, most = guest.random.below(PREFACE.length); at < most; at++) {
      guest.send(HELLO.subarray(at, at + 1))
      await pause(guest.random.below(30))
    }
  },
  'half-closed': async (guest) => {
    const all = Buffer.concat([
      HELLO,
      request(1, SLOW),
      upload(3, '/read'),
      encodeFrame(DATA, 0, 3, Buffer.alloc(5_000)),
      request(5, LARGE),
    ])
    guest.send(all.subarray(0, guest.random.below(all.length + 1)))
    await pause(guest.random.below(20))
    guest.end()
    await pause(50)
  },
  'TLS in the middle': async (guest) => {
    guest.send(
      HELLO,
      many(5, (stream) => request(stream, guest.random.pick([SLOW, LARGE]))),
    )
    await pause(guest.random.below(10))
    const record = guest.random.pick([
      Buffer.of(21, 3, 3, 0, 2, 2, 40),
      Buffer.alloc(100, 22),
      Buffer.of(23, 3, 3, 0x40, 0, 1, 2, 3),
      Buffer.of(20, 3, 3, 0, 1, 1),
    ])
    guest.sendRaw(record)
  },
  'resets while handlers work': async (guest) => {
    guest.send(
      HELLO,
      many(20, (stream) => request(stream, stream % 4 === 1 ? SLOW : blockOf('GET', '/stream'))),
    )
    await pause(guest.random.below(40))
    for (let stream = 1; stream < 40; stream += 2) if (guest.random.oneIn(2)) guest.send(reset(stream))
    await pause(guest.random.below(20))
  },
  'uploads abandoned': async (guest) => {
    guest.send(HELLO)
    for (let stream = 1; stream < 12; stream += 2) {
      const more = guest.random.pick([
        [],
        [['content-length', '100000']],
        [['expect', '100-continue']],
        [['content-length', '99999999999']],
      ] as const)
      guest.send(upload(stream, guest.random.pick(SINKS), more), encodeFrame(DATA, 0, stream, Buffer.alloc(guest.random.below(16_000))))
    }
    await pause(guest.random.below(40))
    if (guest.random.oneIn(2)) guest.send(many(6, reset))
    if (guest.random.oneIn(2)) guest.vanish()
  },
  'more than a window': (guest) =>
    guest.send(
      HELLO,
      upload(1, '/ignored'),
      many(20 + guest.random.below(60), () => encodeFrame(DATA, 0, 1, Buffer.alloc(16_384))),
    ),
  GOAWAY: async (guest) => {
    guest.send(
      HELLO,
      many(5, (stream) => request(stream, guest.random.pick([GET, SLOW, LARGE]))),
    )
    await pause(guest.random.below(20))
    guest.send(encodeFrame(GOAWAY, 0, 0, Buffer.concat([uint32(0), uint32(guest.random.below(3))])), request(11, GET))
    await pause(guest.random.below(20))
  },
  'malformed requests': (guest) => {
    const { random } = guest
    const bad = ['\0', '\r\n', '\r\nx: 1', ' a', 'a\x7f', 'x'.repeat(40_000)] as const
    const fields = (stream: number): Buffer =>
      encodeFields([
        [':method', random.oneIn(4) ? random.pick(bad) : 'GET'],
        [':scheme', random.oneIn(4) ? random.pick(bad) : 'https'],
        [':authority', random.oneIn(4) ? random.pick(bad) : 'a'],
        [':path', random.oneIn(4) ? random.pick(bad) : `/${stream}`],
        [
          random.oneIn(3) ? random.pick(['Te', 'connection', ':path', '', 'a b']) : 'x',
          random.oneIn(2) ? random.pick(bad).slice(0, 20) : '1',
        ],
      ])
    guest.send(
      HELLO,
      many(30, (stream) => request(stream, fields(stream), random.oneIn(2))),
    )
  },
  'another protocol': (guest) =>
    guest.send(
      Buffer.from(
        guest.random.pick(['GET / HTTP/1.1\r\nHost: a\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n', '\x16\x03\x01', '\0\0\0\0\0\0']),
      ),
    ),
  'heads in pieces': (guest) => {
    const padded = Buffer.concat([Buffer.of(4, 0, 0, 0, 0, 9), GET, Buffer.alloc(4)])
    return inTwo(
      guest,
      Buffer.concat([
        HELLO,
        encodeFrame(HEADERS, END_HEADERS | END_STREAM | WITH_PRIORITY | 8, 1, padded),
        encodeFrame(HEADERS, END_STREAM, 3, GET.subarray(0, 9)),
        encodeFrame(CONTINUATION, END_HEADERS, 3, GET.subarray(9)),
      ]),
    )
  },
}
