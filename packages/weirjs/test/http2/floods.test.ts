// What a client may do often, but not endlessly (RFC 9113 §10.5, allowances.ts): as often as its allowance says, and not once more; again after a
// while; and without an end where requests or responses pay for it.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { resolveLimits } from '../../src/base/limits.ts'
import * as kinds from '../../src/wire/http2/allowances.ts'
import { ALLOWANCES } from '../../src/wire/http2/allowances.ts'
import { Http2WireConnection } from '../../src/wire/http2/connection.ts'
import { BAD_HEAD, HEAD, PAUSED } from '../../src/wire/http2/connection-events.ts'
import { ENHANCE_YOUR_CALM, FAULTS, Http2Error } from '../../src/wire/http2/errors.ts'
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  GOAWAY,
  HEADERS,
  PADDED,
  PING,
  PRIORITY,
  PRIORITY_UPDATE,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from '../../src/wire/http2/frames/frame-types.ts'
import { FREE_LIST_BYTES, ROOM_FOR_REFUSALS } from '../../src/wire/http2/request-reader.ts'
import type { Http2Stream } from '../../src/wire/http2/stream.ts'
import { encodeFields, encodeFrame } from '../support/http2-client.ts'
import { codeOf, PROLOGUE, uint32 } from '../support/http2-steps.ts'

const GET = encodeFields([
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', 'a'],
  [':path', '/'],
])

/** The size of that list. */
const GET_LIST_BYTES =
  4 * 32 + ':method'.length + 'GET'.length + ':scheme'.length + 'https'.length + ':authority'.length + 1 + ':path'.length + 1
/** A field of 3,033 bytes that enters the table, where 0xbe refers to it. */
const INDEXED_3000 = Buffer.concat([
  Buffer.from([0x40, 1, 0x61, 0x7f, 0x80 | ((3000 - 127) % 128), (3000 - 127) >> 7]),
  Buffer.alloc(3000, 'x'),
])

/** A client, and a server that releases each request at once, and answers it if it is told to. */
class Peers {
  readonly wire: Http2WireConnection<null>
  answers = false
  /** Whether it works on requests for ever. */
  keeps = false
  /** What the server does with a new request. */
  onHead: (stream: Http2Stream<null>) => void = () => {}
  fault: string | null = null
  heads = 0
  nextStream = -1
  sentBytes = 0

  constructor(limits = resolveLimits()) {
    this.wire = new Http2WireConnection(limits)
    this.send(PROLOGUE)
  }

  send(...parts: readonly Buffer[]): void {
    if (this.fault !== null) return
    const bytes = Buffer.concat(parts)
    this.wire.receive(bytes, bytes.length)
    try {
      for (let event = this.wire.next(); event > PAUSED; event = this.wire.next()) if (event === HEAD || event === BAD_HEAD) this.#onHead()
    } catch (error) {
      assert.ok(error instanceof Http2Error, String(error))
      this.fault = error.fault
    }
    while (this.wire.sender.fill(64 * 1024)) this.#take()
    this.#take()
  }

  #take(): void {
    this.sentBytes += this.wire.sender.output.take().length
  }

  #onHead(): void {
    const { wire } = this
    const { stream } = wire
    this.heads++
    this.onHead(stream)
    if (this.answers) wire.sender.sendHead(stream, 200, null, null, 0, '', true)
    if (!this.keeps) wire.release(stream)
  }

  open(isEnd = true): Buffer {
    this.nextStream += 2
    return encodeFrame(HEADERS, END_HEADERS | (isEnd ? END_STREAM : 0), this.nextStream, GET)
  }
}

const reset = (stream: number): Buffer => encodeFrame(RST_STREAM, 0, stream, uint32(codeOf('CANCEL')))
const update = (stream: number, increment = 1): Buffer => encodeFrame(WINDOW_UPDATE, 0, stream, uint32(increment))
const empty = (stream: number): Buffer => encodeFrame(DATA, 0, stream)

interface Flood {
  readonly what: string
  readonly kind: number
  /** Before the flood. */
  readonly begin?: (peers: Peers) => readonly Buffer[]
  /** What spends one of the allowance. */
  readonly once: (peers: Peers) => readonly Buffer[]
  readonly limits?: Parameters<typeof resolveLimits>[0]
  /** How many of the allowance are spent before. */
  readonly spent?: number
}

const floods: readonly Flood[] = [
  { what: 'requests that are cancelled', kind: kinds.RESETS, once: (peers) => [peers.open(), reset(peers.nextStream)] },
  {
    what: 'uploads that are cancelled',
    kind: kinds.RESETS,
    once: (peers) => [peers.open(false), encodeFrame(DATA, 0, peers.nextStream, Buffer.alloc(1)), reset(peers.nextStream)],
  },
  {
    what: 'streams above the limit',
    kind: kinds.REFUSALS,
    limits: { maxConcurrentStreams: 1 },
    begin: (peers) => [peers.open(false)],
    once: (peers) => [peers.open()],
  },
  {
    what: 'streams that are reset for WINDOW_UPDATE of nothing',
    kind: kinds.FAULTY,
    once: (peers) => [peers.open(), update(peers.nextStream, 0)],
  },
  {
    what: 'streams that are reset for a window that is too large',
    kind: kinds.FAULTY,
    once: (peers) => [peers.open(), update(peers.nextStream, 2 ** 31 - 1)],
  },
  {
    what: 'streams that are reset for PRIORITY of a wrong length',
    kind: kinds.FAULTY,
    once: (peers) => [peers.open(), encodeFrame(PRIORITY, 0, peers.nextStream, Buffer.alloc(4))],
  },
  {
    what: 'streams that are reset for DATA after their end',
    kind: kinds.FAULTY,
    once: (peers) => [peers.open(), encodeFrame(DATA, 0, peers.nextStream, Buffer.alloc(1))],
  },
  {
    what: 'streams that are reset for HEADERS after their end',
    kind: kinds.FAULTY,
    once: (peers) => [peers.open(), encodeFrame(HEADERS, END_HEADERS | END_STREAM, peers.nextStream)],
  },
  {
    what: 'streams that are reset for a wrong length',
    kind: kinds.FAULTY,
    once: (peers) => [
      encodeFrame(HEADERS, END_HEADERS, (peers.nextStream += 2), Buffer.concat([GET, encodeFields([['content-length', '1']])])),
      encodeFrame(DATA, END_STREAM, peers.nextStream),
    ],
  },
  { what: 'SETTINGS', kind: kinds.SETTINGS_FRAMES, once: () => [encodeFrame(SETTINGS, 0, 0)], spent: 1 },
  { what: 'GOAWAY', kind: kinds.SETTINGS_FRAMES, once: () => [encodeFrame(GOAWAY, 0, 0, Buffer.alloc(8))], spent: 1 },
  { what: 'PING', kind: kinds.PINGS, once: () => [encodeFrame(PING, 0, 0, Buffer.alloc(8))] },
  { what: 'PRIORITY', kind: kinds.PRIORITIES, once: () => [encodeFrame(PRIORITY, 0, 1, Buffer.alloc(5))] },
  {
    what: 'PRIORITY_UPDATE',
    kind: kinds.PRIORITIES,
    once: (peers) => [encodeFrame(PRIORITY_UPDATE, 0, 0, Buffer.concat([uint32((peers.nextStream += 2)), Buffer.from('u=1')]))],
  },
  { what: 'DATA without data', kind: kinds.EMPTY_FRAMES, begin: (peers) => [peers.open(false)], once: () => [empty(1)] },
  {
    what: 'DATA of nothing but padding',
    kind: kinds.EMPTY_FRAMES,
    begin: (peers) => [peers.open(false)],
    once: () => [encodeFrame(DATA, PADDED, 1, Buffer.from([3, 0, 0, 0]))],
  },
  { what: 'frames of unknown types', kind: kinds.EMPTY_FRAMES, once: () => [encodeFrame(99, 0, 1, Buffer.alloc(5))] },
  { what: 'acknowledgements of SETTINGS', kind: kinds.EMPTY_FRAMES, once: () => [encodeFrame(SETTINGS, ACK, 0)] },
  { what: 'answers to PINGs that were not sent', kind: kinds.EMPTY_FRAMES, once: () => [encodeFrame(PING, ACK, 0, Buffer.alloc(8))] },
  { what: 'WINDOW_UPDATE', kind: kinds.WINDOW_UPDATES, once: () => [update(0)] },
  { what: 'WINDOW_UPDATE of a stream', kind: kinds.WINDOW_UPDATES, begin: (peers) => [peers.open()], once: () => [update(1)] },
  {
    what: 'frames on a stream that was reset',
    kind: kinds.LATE_FRAMES,
    begin: (peers) => {
      peers.onHead = (stream) => peers.wire.sender.reset(stream, 8)
      return [peers.open(false)]
    },
    once: () => [encodeFrame(DATA, 0, 1, Buffer.alloc(1))],
  },
  {
    what: 'RST_STREAM of a stream that is closed',
    kind: kinds.LATE_FRAMES,
    begin: (peers) => {
      peers.answers = true
      return [peers.open()]
    },
    once: () => [reset(1)],
  },
]

for (const flood of floods) {
  const { most, perSecond, fault } = ALLOWANCES[flood.kind]!
  const begin = (): Peers => {
    const peers = new Peers(resolveLimits(flood.limits))
    peers.send(...(flood.begin?.(peers) ?? []))
    for (let i = flood.spent ?? 0; i < most; i++) peers.send(...flood.once(peers))
    assert.equal(peers.fault, null, 'within the allowance')
    return peers
  }
  test(`${flood.what}: ${most}, and not one more`, () => {
    const peers = begin()
    peers.send(...flood.once(peers))
    assert.equal(peers.fault, fault)
    assert.equal(FAULTS[fault].code, ENHANCE_YOUR_CALM)
    assert.equal(peers.wire.openStreams, 0)
    assert.ok(peers.wire.heldBytes < 20_000)
  })
  test(`${flood.what}: as many again as time gives back`, () => {
    const peers = begin()
    peers.wire.control.tick(1000)
    for (let i = 0; i < perSecond; i++) peers.send(...flood.once(peers))
    assert.equal(peers.fault, null)
    peers.send(...flood.once(peers))
    assert.equal(peers.fault, fault)
  })
  test(`${flood.what}: no more than ${most} after a long time`, () => {
    const peers = begin()
    peers.wire.control.tick(3_600_000)
    for (let i = 0; i < most; i++) peers.send(...flood.once(peers))
    assert.equal(peers.fault, null)
    peers.send(...flood.once(peers))
    assert.equal(peers.fault, fault)
  })
}

test('a client may cancel every second request without an end', () => {
  const peers = new Peers()
  peers.answers = true
  for (let i = 0; i < 5_000; i++) {
    peers.answers = false
    peers.send(peers.open(), reset(peers.nextStream))
    peers.answers = true
    peers.send(peers.open())
  }
  assert.deepEqual([peers.fault, peers.heads], [null, 10_000])
})

test('a client that reads a long response may send WINDOW_UPDATE for every 2 KiB of it', () => {
  const peers = new Peers()
  const piece = Buffer.alloc(2048)
  peers.onHead = (stream) => peers.wire.sender.sendHead(stream, 200, null, null, -1, '', false)
  let stream: Http2Stream<null> | undefined
  const { onHead } = peers
  peers.onHead = (opened) => {
    stream = opened
    onHead(opened)
  }
  peers.send(peers.open())
  for (let i = 0; i < 20_000; i++) {
    peers.wire.sender.sendData(stream!, piece, false)
    peers.send(update(0, piece.length), update(1, piece.length))
  }
  assert.equal(peers.fault, null)
})

test('a client that reads small pieces may send two WINDOW_UPDATEs for each', () => {
  const peers = new Peers()
  let stream: Http2Stream<null> | undefined
  peers.onHead = (opened) => {
    stream = opened
    peers.wire.sender.sendHead(opened, 200, null, null, -1, '', false)
  }
  peers.send(peers.open())
  for (let i = 0; i < 20_000; i++) {
    peers.wire.sender.sendData(stream!, Buffer.from('event'), false)
    peers.send(update(0, 5), update(1, 5))
  }
  assert.equal(peers.fault, null)
})

test('a client that opens its window by single bytes pays for each (CVE-2019-9511)', () => {
  const peers = new Peers()
  const setting = Buffer.concat([Buffer.of(0, 4), uint32(0)])
  peers.send(encodeFrame(SETTINGS, 0, 0, setting))
  peers.onHead = (stream) => {
    peers.wire.sender.sendHead(stream, 200, null, null, -1, '', false)
    peers.wire.sender.sendData(stream, Buffer.alloc(100_000), true)
  }
  peers.send(peers.open())
  const { most, perFrame } = ALLOWANCES[kinds.WINDOW_UPDATES]!
  const bytes = most / (1 - perFrame / 128)
  for (let i = 0; i < bytes - 10; i++) peers.send(update(1))
  assert.equal(peers.fault, null)
  for (let i = 0; i < 20; i++) peers.send(update(1))
  assert.equal(peers.fault, 'FLOOD_WINDOWS')
})

for (const windowBytes of [32, 255, 1_023]) {
  test(`a client with windows of ${windowBytes} bytes may open both whenever half of them is used`, () => {
    const peers = new Peers()
    const setting = Buffer.concat([Buffer.of(0, 4), uint32(windowBytes)])
    peers.send(encodeFrame(SETTINGS, 0, 0, setting))
    let stream: Http2Stream<null> | undefined
    peers.onHead = (opened) => {
      stream = opened
      peers.wire.sender.sendHead(opened, 200, null, null, -1, '', false)
      peers.wire.sender.sendData(opened, Buffer.alloc(200_000), true)
    }
    peers.send(peers.open())
    const half = windowBytes >> 1
    while (peers.fault === null && stream!.isSending) peers.send(update(0, half), update(1, half))
    assert.equal(peers.fault, null)
  })
}

test('a client that reads nothing of its responses makes no more of them than fit (zero windows)', () => {
  const peers = new Peers(resolveLimits({ maxConcurrentStreams: 100 }))
  const setting = Buffer.concat([Buffer.of(0, 4), uint32(0)])
  peers.send(encodeFrame(SETTINGS, 0, 0, setting))
  peers.onHead = (stream) => {
    peers.wire.sender.sendHead(stream, 200, null, null, -1, '', false)
    peers.wire.sender.sendData(stream, Buffer.alloc(512 * 1024), true)
  }
  for (let i = 0; i < 100; i++) peers.send(peers.open())
  assert.deepEqual([peers.fault, peers.heads], [null, 9])
  assert.equal(peers.wire.sender.queuedBytes, 9 * 512 * 1024)
  // Nor does one that opens and cancels others meanwhile.
  for (let i = 0; i < 500; i++) peers.send(peers.open(), reset(peers.nextStream))
  assert.deepEqual([peers.heads, peers.wire.sender.queuedBytes], [9, 9 * 512 * 1024])
  assert.ok(peers.wire.unreleased <= 200)
})

test('an endless head of small CONTINUATIONs is refused when it is larger than any head', () => {
  const peers = new Peers(resolveLimits({ maxRequestHeaderSize: 16_384 }))
  peers.send(encodeFrame(HEADERS, 0, 1, GET))
  let sent = 0
  for (; peers.fault === null; sent++) peers.send(encodeFrame(CONTINUATION, 0, 1, encodeFields([['a', 'b']])))
  assert.equal(peers.fault, 'BLOCK_TOO_LARGE')
  assert.ok(sent < 2_500 && peers.wire.heldBytes < 64 * 1024)
})

test('a list that HPACK makes large is bounded while it is decoded', () => {
  const peers = new Peers(resolveLimits({ maxRequestHeaderSize: 16_384 }))
  const bomb = Buffer.concat([GET, INDEXED_3000, Buffer.alloc(10_000, 0xbe)])
  for (let i = 0; i < 50; i++) peers.send(encodeFrame(HEADERS, END_HEADERS | END_STREAM, (peers.nextStream += 2), bomb))
  assert.deepEqual([peers.fault, peers.heads], [null, 50])
})

test('heads that HPACK makes large, with and without a response, spend an allowance by their size after decompression', () => {
  const limits = resolveLimits()
  const { most, perSecond, fault } = ALLOWANCES[kinds.HEAD_BYTES]!
  const mostBytes = ROOM_FOR_REFUSALS * (limits.maxRequestHeaderSize + 32 * (limits.maxRequestHeaders + 5))
  for (const references of [1, 2, 15, 60]) {
    const peers = new Peers(limits)
    peers.answers = true
    const listBytes = GET_LIST_BYTES + references * 3033
    const spent = Math.min(listBytes, mostBytes) - FREE_LIST_BYTES
    const bomb = encodeFrame(HEADERS, END_HEADERS | END_STREAM, 1, Buffer.concat([GET, Buffer.alloc(references, 0xbe)]))
    const send = (): void => {
      bomb.writeUInt32BE((peers.nextStream += 2), 5)
      peers.send(bomb)
    }
    peers.send(encodeFrame(HEADERS, END_HEADERS | END_STREAM, (peers.nextStream += 2), Buffer.concat([GET, INDEXED_3000])))
    let left = most - Math.max(0, GET_LIST_BYTES + 3033 - FREE_LIST_BYTES)
    for (; left >= spent; left -= spent) send()
    assert.equal(peers.fault, null, `${references} references, within the allowance`)
    peers.wire.control.tick(1000)
    for (left += perSecond; left >= spent; left -= spent) send()
    assert.equal(peers.fault, null, `${references} references, within what time gives back`)
    send()
    assert.equal(peers.fault, fault, `${references} references`)
  }
})

test('heads that HPACK makes large, of requests in progress, have a bound for all connections, and each has room for some', () => {
  const kept: [peers: Peers, stream: Http2Stream<null>][] = []
  const connect = (): Peers => {
    const peers = new Peers()
    peers.keeps = true
    peers.onHead = (stream) => kept.push([peers, stream])
    peers.send(encodeFrame(HEADERS, END_HEADERS | END_STREAM, (peers.nextStream += 2), Buffer.concat([GET, INDEXED_3000])))
    return peers
  }
  const sendBombs = (peers: Peers): void => {
    const bomb = Buffer.concat([GET, Buffer.alloc(19, 0xbe)])
    for (let i = 0; i < 99; i++) peers.send(encodeFrame(HEADERS, END_HEADERS | END_STREAM, (peers.nextStream += 2), bomb))
    assert.equal(peers.fault, null)
  }
  const connections = Array.from({ length: 40 }, connect)
  connections.forEach(sendBombs)
  let bytes = 0
  for (const [, { head }] of kept) bytes += head.size
  assert.ok(bytes > 128 * 1024 ** 2 && bytes <= 128 * 1024 ** 2 + connections.length * 64 * 1024, String(bytes))
  const other = connect()
  for (let i = 0; i < 64; i++) other.send(other.open())
  assert.equal(other.heads, 65)
  for (const [peers, stream] of kept.splice(0)) peers.wire.release(stream)
  const late = connect()
  sendBombs(late)
  assert.equal(late.heads, 100)
  for (const [peers, stream] of kept) peers.wire.release(stream)
})

test('single bytes that are held take about as much memory as they are', () => {
  const peers = new Peers()
  peers.onHead = (stream) => peers.wire.bodies.pauseBody(stream)
  peers.send(peers.open(false))
  for (let i = 0; i < 100_000; i++) peers.send(encodeFrame(DATA, 0, 1, Buffer.of(120)))
  assert.equal(peers.fault, null)
  assert.ok(peers.wire.heldBytes <= 256 * 1024)
})

test('streams that were refused leave nothing behind', () => {
  const peers = new Peers(resolveLimits({ maxConcurrentStreams: 1 }))
  peers.send(peers.open(false))
  for (let i = 0; i < 10_000; i++) {
    peers.send(peers.open())
    peers.wire.control.tick(1000)
  }
  assert.deepEqual([peers.fault, peers.heads, peers.wire.openStreams, peers.wire.unreleased], [null, 1, 1, 0])
})
