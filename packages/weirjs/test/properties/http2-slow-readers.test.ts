// Many HTTP/2 connections with large responses, whose clients stop reading and go on as they like: what has been written and not taken stays
// within a bound, and whoever reads gets everything.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'

import fc from 'fast-check'

import { resolveLimits } from '../../src/base/limits.ts'
import type { ByteSource } from '../../src/http/response/byte-source.ts'
import { LEND_PIECE } from '../../src/http/response/byte-source.ts'
import { OutgoingResponse } from '../../src/http/response/outgoing-response.ts'
import { DUE, GATES, WHOLE } from '../../src/net/cycle/exchange-states.ts'
import { StreamedResponse } from '../../src/net/cycle/response-sender.ts'
import { isTight, MUCH_STUCK_BYTES, Output, type Watched } from '../../src/net/http2/output.ts'
import { Http2Writer } from '../../src/net/http2/writer.ts'
import type { Ticker } from '../../src/net/time/ticker.ts'
import type { Transport } from '../../src/net/transport/transport.ts'
import type { Flushable } from '../../src/net/transport/write-batch.ts'
import { Http2WireConnection } from '../../src/wire/http2/connection.ts'
import * as event from '../../src/wire/http2/connection-events.ts'
import type { Http2Stream } from '../../src/wire/http2/stream.ts'
import { encodeFields, encodeFrame, HEADERS, INITIAL_WINDOW_SIZE, PREFACE, SETTINGS, WINDOW_UPDATE } from '../support/http2-client.ts'
import { uint32 } from '../support/http2-steps.ts'
import { thinned } from '../support/thinned.ts'

const BODY_BYTES = 300_000
const WINDOW = 2 ** 24
const GET = encodeFields([
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', 'a'],
  [':path', '/'],
])
const START = Buffer.concat([
  PREFACE,
  encodeFrame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, INITIAL_WINDOW_SIZE]), uint32(WINDOW)])),
  encodeFrame(WINDOW_UPDATE, 0, 0, uint32(WINDOW)),
  encodeFrame(HEADERS, 5, 1, GET),
])
/** Two frames, and what may gather besides them. */
const MOST_WRITE_BYTES = 34 * 1024
const MOST_TIGHT_BYTES = 13 * 1024

type Write = readonly [bytes: Buffer, onSent: ((bytes: Buffer) => void) | undefined]

/** The way to a client that reads or does not. */
class Way {
  isReading = true
  isSecure = true
  isDestroyed = false
  received = 0
  /** What the system has taken, and what waits for the client. */
  #taken: Write[] = []
  #waiting: Write[] = []

  get unsentBytes(): number {
    return this.#waiting.reduce((sum, [bytes]) => sum + bytes.length, 0)
  }

  get isBlocked(): boolean {
    return this.unsentBytes >= 16 * 1024
  }

  flushSoon(box: Flushable): void {
    box.flush()
  }

  writeBytes(bytes: Buffer, onSent?: (bytes: Buffer) => void): void {
    const write = [bytes, onSent] as const
    if (this.isReading && this.#waiting.length === 0) this.#taken.push(write)
    else this.#waiting.push(write)
  }

  /** A turn later, what has been taken is complete. @returns whether there was anything */
  take(): boolean {
    const done = this.#taken
    this.#taken = []
    if (this.isReading) done.push(...this.#waiting.splice(0))
    for (const [bytes, onSent] of done) {
      this.received += bytes.length
      onSent?.(bytes)
    }
    return done.length > 0
  }
}

class Client {
  readonly way = new Way()
  readonly wire = new Http2WireConnection<Watched>(resolveLimits({}))
  readonly output: Output<Watched>

  constructor() {
    const { way, wire } = this
    this.output = new Output(wire, way as unknown as Transport, {
      isRunning: false,
      onFlushed() {},
      onDrain: () => this.output.flush(),
    })
    wire.receive(START, START.length)
    for (let next = wire.next(); next !== event.NEED_DATA; next = wire.next()) if (next === event.HEAD) this.#answer(wire.stream)
  }

  #answer(stream: Http2Stream<Watched>): void {
    let left = BODY_BYTES
    const source = {
      [Symbol.asyncIterator]: () => source,
      next: async () => ({ done: true, value: undefined }),
      [LEND_PIECE]: async (mostBytes: number) => {
        const bytes = Math.min(left, mostBytes)
        left -= bytes
        return { done: false, value: Buffer.alloc(bytes) }
      },
    }
    const response = new OutgoingResponse()
    response.header('Content-Length', BODY_BYTES).stream(source as unknown as ByteSource)
    const writer = new Http2Writer(this.wire.sender, this.output, stream, { date: '' } as unknown as Ticker)
    const exchange = { request: WHOLE, work: GATES, response: DUE, exchange: null, connection: { clientAddress: '' } }
    const reply = new StreamedResponse(exchange, writer, response, null)
    const settle = (): boolean => {
      if (!writer.mustWait) reply.goOn()
      return reply.isWaiting
    }
    stream.owner = { settle, onDry: () => reply.goOn(), onBacklog() {} }
    reply.send()
  }

  /** Bytes in the server's memory that the client has not taken. */
  get heldBytes(): number {
    return this.way.unsentBytes + this.wire.sender.output.end
  }
}

test('what slow readers have not taken stays within a bound, and whoever reads gets everything', async () => {
  const acts = fc.array(fc.tuple(fc.nat(), fc.nat(200), fc.constantFrom(false, false, true)), { minLength: 5, maxLength: 50 })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 200 }), acts, async (count, steps) => {
      const clients = Array.from({ length: count }, () => new Client())
      const bound = MUCH_STUCK_BYTES + MOST_WRITE_BYTES + count * MOST_TIGHT_BYTES
      for (const [from, many, isReading] of steps) {
        for (let i = from; i < from + many; i++) clients[i % count]!.way.isReading = isReading
        for (const { way } of clients) way.take()
        await turn()
        const held = clients.reduce((sum, client) => sum + client.heldBytes, 0)
        assert.ok(held <= bound, `${held} bytes of ${count} clients`)
      }
      for (const { way } of clients) way.isReading = true
      // On a busy machine, responses go on in a later turn once the time of one is over.
      for (let idleTurns = 0; idleTurns < 100; idleTurns++) {
        if (clients.reduce((some, { way }) => way.take() || some, false)) idleTurns = 0
        await turn()
      }
      for (const { way } of clients) assert.ok(way.received >= BODY_BYTES, `${way.received} bytes`)
      assert.equal(isTight, false)
    }),
    { numRuns: thinned(30) },
  )
})

test('a client that leaves does not count as slow any more', async () => {
  const clients = Array.from({ length: 200 }, () => new Client())
  for (const { way } of clients) way.isReading = false
  for (let i = 0; i < 20; i++) await turn()
  assert.equal(isTight, true)
  for (const { wire, output } of clients) {
    wire.control.fail(0)
    output.close()
  }
  assert.equal(isTight, false)
})
