// A client and an owner that do anything that they may do, in any order: windows hold, nothing is lost, mixed up or stuck, and what both sides
// believe of each stream is the same.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import fc from 'fast-check'

import { resolveLimits } from '../../src/base/limits.ts'
import { CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES } from '../../src/wire/http2/body-receiver.ts'
import { Http2WireConnection } from '../../src/wire/http2/connection.ts'
import * as event from '../../src/wire/http2/connection-events.ts'
import * as frames from '../../src/wire/http2/frames/frame-types.ts'
import type { Http2Stream } from '../../src/wire/http2/stream.ts'
import { encodeFields, encodeFrame } from '../support/http2-client.ts'
import { PROLOGUE, uint32 } from '../support/http2-steps.ts'
import { thinned } from '../support/thinned.ts'

const POST = encodeFields([
  [':method', 'POST'],
  [':scheme', 'https'],
  [':authority', 'a'],
  [':path', '/'],
])
const TRAILERS = encodeFields([['x-late', '1']])
const MOST_STREAMS = 5
const FIRST_WINDOW = 65_535
const POISON = 0xdd

/** The `count` bytes of a body from `at` on: each place of each body says where it is. */
function bytesOf(stream: number, at: number, count: number): Buffer {
  return Buffer.from(Array.from({ length: count }, (_, i) => (stream * 31 + (at + i) * 7) & 0xff))
}

/** A stream, as both ends must see it. */
class Seen {
  readonly id: number
  readonly stream: Http2Stream<Seen>
  // The client's side.
  clientEnded = false
  isReset = false
  sent = 0
  sendWindow = STREAM_WINDOW_BYTES
  /** What we may send to it. */
  window: number
  got = 0
  hasHead = false
  serverEnded = false
  // The owner's side.
  given = 0
  ownerEnded = false
  ownerHead = false
  ownerReset = false
  received = 0
  hasEnd = false
  isPaused = false

  constructor(stream: Http2Stream<Seen>, window: number) {
    this.id = stream.id
    this.stream = stream
    this.window = window
  }

  get isOpen(): boolean {
    return !this.isReset && !this.ownerReset && !(this.clientEnded && this.serverEnded)
  }
}

class World {
  readonly wire = new Http2WireConnection<Seen>(resolveLimits({ maxConcurrentStreams: MOST_STREAMS }))
  readonly seen = new Map<number, Seen>()
  readonly #lent = Buffer.alloc(80_000)
  #nextId = 1
  #initialWindow = FIRST_WINDOW
  #window = FIRST_WINDOW
  #sendWindow = CONNECTION_WINDOW_BYTES
  #pings = 0
  #settings = 1

  constructor() {
    this.#send(PROLOGUE)
    this.#flush(1 << 20)
  }

  #send(...parts: readonly Buffer[]): void {
    const bytes = Buffer.concat(parts)
    bytes.copy(this.#lent)
    this.wire.receive(this.#lent, bytes.length)
    this.#run()
    this.#lent.fill(POISON, 0, bytes.length)
  }

  #run(): void {
    const { wire } = this
    for (let next = wire.next(); next > event.PAUSED; next = wire.next()) {
      const { stream } = wire
      if (next === event.HEAD) {
        const seen = new Seen(stream, this.#initialWindow)
        stream.owner = seen
        this.seen.set(stream.id, seen)
        wire.release(stream)
        continue
      }
      const seen = stream.owner!
      assert.ok(!seen.ownerReset, 'an event after the owner has reset the stream')
      if (next === event.DATA) {
        assert.ok(!seen.isPaused && !seen.hasEnd)
        const bytes = wire.buffer.subarray(wire.dataStart, wire.dataEnd)
        assert.ok(bytes.equals(bytesOf(seen.id, seen.received, bytes.length)), 'the bytes that the client has sent')
        seen.received += bytes.length
      } else if (next === event.END) {
        assert.ok(!seen.hasEnd)
        assert.ok(seen.received === seen.sent || seen.serverEnded || seen.ownerEnded, 'all of the body came before its end')
        seen.hasEnd = true
      } else assert.fail(`event ${next}, fault ${wire.fault}`)
    }
  }

  // What the client does.

  open(isEnd: boolean): void {
    if ([...this.seen.values()].filter(({ isOpen }) => isOpen).length >= MOST_STREAMS) return
    const id = this.#nextId
    this.#nextId += 2
    this.#send(encodeFrame(frames.HEADERS, frames.END_HEADERS | (isEnd ? frames.END_STREAM : 0), id, POST))
    assert.ok(this.seen.has(id))
    this.seen.get(id)!.clientEnded = isEnd
  }

  upload(seen: Seen, size: number, padding: number, isEnd: boolean): void {
    if (seen.clientEnded || seen.isReset) return
    const most = Math.min(seen.sendWindow, this.#sendWindow, 16_384) - padding - 1
    if (most < 0) return
    const data = bytesOf(seen.id, seen.sent, Math.min(size, most))
    const payload = padding < 0 ? data : Buffer.concat([Buffer.of(padding), data, Buffer.alloc(padding)])
    seen.sent += data.length
    seen.sendWindow -= payload.length
    this.#sendWindow -= payload.length
    seen.clientEnded = isEnd
    const flags = (isEnd ? frames.END_STREAM : 0) | (padding < 0 ? 0 : frames.PADDED)
    this.#send(encodeFrame(frames.DATA, flags, seen.id, payload))
  }

  endUpload(seen: Seen): void {
    if (seen.clientEnded || seen.isReset) return
    seen.clientEnded = true
    this.#send(encodeFrame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, seen.id, TRAILERS))
  }

  cancel(seen: Seen): void {
    if (seen.isReset || (seen.clientEnded && seen.serverEnded)) return
    const { wire } = this
    const wasOpen = !seen.stream.isClosed
    seen.isReset = true
    const bytes = encodeFrame(frames.RST_STREAM, 0, seen.id, uint32(8))
    wire.receive(bytes, bytes.length)
    if (wasOpen) assert.deepEqual([wire.next(), wire.stream, wire.code, wire.fault], [event.RESET, seen.stream, 8, null])
    assert.equal(wire.next(), event.NEED_DATA)
  }

  widen(seen: Seen | undefined, bytes: number): void {
    if (seen === undefined) this.#window += bytes
    else seen.window += bytes
    this.#send(encodeFrame(frames.WINDOW_UPDATE, 0, seen?.id ?? 0, uint32(bytes)))
  }

  setWindow(bytes: number): void {
    this.#read(this.wire.sender.output.take()) // what was made before
    for (const seen of this.seen.values()) seen.window += bytes - this.#initialWindow
    this.#initialWindow = bytes
    this.#settings++
    this.#send(encodeFrame(frames.SETTINGS, 0, 0, Buffer.concat([Buffer.of(0, 4), uint32(bytes)])))
  }

  ping(): void {
    this.#pings++
    this.#send(encodeFrame(frames.PING, 0, 0, Buffer.from('12345678')))
  }

  // What the owner does.

  respond(seen: Seen, isWhole: boolean): void {
    if (seen.ownerHead) return
    seen.ownerHead = true
    seen.ownerEnded = isWhole
    this.wire.sender.sendHead(seen.stream, 200, null, null, -1, '', isWhole)
  }

  give(seen: Seen, size: number, isLast: boolean): void {
    if (!seen.ownerHead || seen.ownerEnded) return
    this.wire.sender.sendData(seen.stream, bytesOf(seen.id, seen.given, size), isLast)
    seen.given += size
    seen.ownerEnded = isLast
  }

  end(seen: Seen, hasTrailers: boolean): void {
    if (!seen.ownerHead || seen.ownerEnded) return
    seen.ownerEnded = true
    this.wire.sender.sendEnd(seen.stream, hasTrailers ? ['x-sum', '1'] : null)
  }

  pause(seen: Seen): void {
    if (seen.stream.isClosed) return
    seen.isPaused = true
    this.wire.bodies.pauseBody(seen.stream)
  }

  resume(seen: Seen): void {
    seen.isPaused = false
    this.wire.bodies.resumeBody(seen.stream)
    this.#run()
  }

  drop(seen: Seen): void {
    if (seen.stream.isClosed) return
    seen.ownerReset = true
    this.wire.sender.reset(seen.stream, 2)
  }

  flush(bytes: number): void {
    this.#flush(bytes)
  }

  #flush(bytes: number): void {
    const hasMore = this.wire.sender.fill(bytes)
    this.#read(this.wire.sender.output.take())
    if (hasMore) assert.ok(bytes < 1 << 20, 'a large output takes all')
    for (let hungry = this.wire.sender.nextHungry(); hungry !== null; hungry = this.wire.sender.nextHungry()) {
      assert.ok(hungry.isSending && hungry.queuedBytes === 0 && hungry.owner!.window > 0 && this.#window > 0)
    }
  }

  /** The client reads what was sent, and checks that it was allowed. */
  #read(output: Buffer): void {
    for (let at = 0; at < output.length; ) {
      const [length, type, flags, id] = [output.readUIntBE(at, 3), output[at + 3]!, output[at + 4]!, output.readUInt32BE(at + 5)]
      const payload = output.subarray(at + 9, at + 9 + length)
      at += 9 + length
      const isEnd = (flags & frames.END_STREAM) !== 0
      if (id === 0) this.#readControl(type, flags, payload)
      else {
        const seen = this.seen.get(id)!
        assert.ok(seen !== undefined)
        if (type === frames.WINDOW_UPDATE) seen.sendWindow += payload.readUInt32BE(0)
        else if (type === frames.RST_STREAM) {
          assert.ok(seen.ownerReset && payload.readUInt32BE(0) === 2)
          seen.serverEnded = true
        } else {
          assert.ok(!seen.serverEnded, 'nothing follows the end')
          if (type === frames.HEADERS) {
            assert.ok(!seen.hasHead || isEnd)
            seen.hasHead = true
          } else if (type === frames.DATA) this.#readData(seen, payload)
          else assert.fail(`a frame of type ${type}`)
          seen.serverEnded = isEnd
          if (isEnd) assert.ok(seen.ownerEnded && seen.got === seen.given, 'the response is complete')
        }
      }
    }
  }

  #readControl(type: number, flags: number, payload: Buffer): void {
    if (type === frames.WINDOW_UPDATE) this.#sendWindow += payload.readUInt32BE(0)
    else if (type === frames.PING) this.#pings -= flags
    else if (type === frames.SETTINGS) this.#settings -= flags
    else assert.fail(`a frame of type ${type} on stream 0`)
  }

  #readData(seen: Seen, payload: Buffer): void {
    assert.ok(seen.hasHead)
    this.#window -= payload.length
    seen.window -= payload.length
    if (payload.length > 0) assert.ok(this.#window >= 0 && seen.window >= 0, 'within the windows')
    assert.ok(payload.equals(bytesOf(seen.id, seen.got, payload.length)), 'the bytes of the response')
    seen.got += payload.length
  }

  /** What must hold once all has been written. */
  check(): void {
    const { wire } = this
    this.#flush(1 << 20)
    assert.equal(this.#pings, 0)
    assert.equal(this.#settings, 0)
    assert.equal(wire.openStreams, [...this.seen.values()].filter(({ isOpen }) => isOpen).length)
    let queued = 0
    for (const seen of this.seen.values()) {
      const { stream } = seen
      assert.equal(stream.isClosed, !seen.isOpen, 'both sides agree')
      if (!seen.isOpen) continue
      queued += stream.queuedBytes
      assert.equal(stream.queuedBytes, seen.given - seen.got)
      if (stream.queuedBytes > 0) assert.ok(Math.min(seen.window, this.#window) <= 0, 'nothing is stuck')
      if (!seen.isPaused) {
        assert.equal(seen.received, seen.sent, 'nothing is held')
        assert.equal(seen.hasEnd, seen.clientEnded && !stream.isWhole)
        if (!seen.clientEnded) assert.ok(seen.sendWindow > STREAM_WINDOW_BYTES / 2 - 1, 'the window opens again')
      }
    }
    assert.equal(wire.sender.queuedBytes, queued)
    assert.ok(wire.heldBytes <= 2 * CONNECTION_WINDOW_BYTES)
    if (![...this.seen.values()].some(({ isOpen, isPaused }) => isOpen && isPaused))
      assert.ok(this.#sendWindow > CONNECTION_WINDOW_BYTES / 2 - 1 && wire.heldBytes < 100)
  }
}

const size = fc.oneof(fc.nat(20), fc.nat(2_000), fc.nat(70_000))
const on = <T extends unknown[]>(act: (world: World, seen: Seen, ...args: T) => void, ...args: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.tuple(fc.nat(MOST_STREAMS + 1), ...args).map(([index, ...values]) => {
    const one = (world: World): void => {
      const all = [...world.seen.values()].slice(-MOST_STREAMS - 2)
      if (all.length > 0) act(world, all[(index as number) % all.length]!, ...(values as T))
    }
    one.toString = () => `${act} on ${index} with ${values}`
    return one
  })
const act: fc.Arbitrary<(world: World) => void> = fc.oneof(
  { weight: 3, arbitrary: fc.boolean().map((isEnd) => (world: World) => world.open(isEnd)) },
  {
    weight: 4,
    arbitrary: on<[number, number, boolean]>(
      (world, seen, bytes, padding, isEnd) => world.upload(seen, bytes, padding, isEnd),
      size,
      fc.constantFrom(-1, -1, 0, 255),
      fc.boolean(),
    ),
  },
  on((world, seen) => world.endUpload(seen)),
  on((world, seen) => world.cancel(seen)),
  on<[number]>((world, seen, bytes) => world.widen(seen.isOpen ? seen : undefined, bytes), fc.integer({ min: 1, max: 100_000 })),
  fc.integer({ min: 1, max: 100_000 }).map((bytes) => (world: World) => world.widen(undefined, bytes)),
  fc.constantFrom(0, 1, 100, 65_535, 500_000).map((bytes) => (world: World) => world.setWindow(bytes)),
  fc.constant((world: World) => world.ping()),
  { weight: 3, arbitrary: on<[boolean]>((world, seen, isWhole) => world.respond(seen, isWhole), fc.boolean()) },
  { weight: 4, arbitrary: on<[number, boolean]>((world, seen, bytes, isLast) => world.give(seen, bytes, isLast), size, fc.boolean()) },
  on<[boolean]>((world, seen, hasTrailers) => world.end(seen, hasTrailers), fc.boolean()),
  on((world, seen) => world.pause(seen)),
  on((world, seen) => world.resume(seen)),
  on((world, seen) => world.drop(seen)),
  fc.constantFrom(2_000, 20_000, 1 << 20).map((bytes) => (world: World) => world.flush(bytes)),
  fc.constant((world: World) => world.check()),
)

test('whatever client and owner do: windows hold, and nothing is lost or stuck', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      const world = new World()
      for (const one of acts) one(world)
      world.check()
    }),
    { numRuns: thinned(2_000), includeErrorInReport: true },
  )
})
