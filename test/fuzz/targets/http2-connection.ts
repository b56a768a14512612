// A whole HTTP/2 connection: the input is what a client sends after its preface and first SETTINGS. What the owner does follows from that: each
// stream is served in a way that its number says, and each GOAWAY of the client makes the owner do something that its code says.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'

import { type Limits, resolveLimits } from '../../../packages/weirjs/src/base/limits.ts'
import { BAD_HEAD, END, GOAWAY as GOAWAY_EVENT, HEAD, RESET } from '../../../packages/weirjs/src/wire/http2/connection-events.ts'
import { CANCEL, NO_ERROR } from '../../../packages/weirjs/src/wire/http2/errors.ts'
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
} from '../../../packages/weirjs/src/wire/http2/frames/frame-types.ts'
import type { Http2Stream } from '../../../packages/weirjs/src/wire/http2/stream.ts'
import { encodeFrame } from '../../../packages/weirjs/test/support/http2-client.ts'
import { Http2Log } from '../../../packages/weirjs/test/support/http2-log.ts'
import { PROLOGUE } from '../../../packages/weirjs/test/support/http2-steps.ts'
import { assertSameWords, cutRandomly, cutTwice, type Target } from '../target.ts'

const LIMITS: readonly Limits[] = [
  resolveLimits(),
  resolveLimits({ maxConcurrentStreams: 2, maxRequestHeaders: 6, maxRequestHeaderSize: 300 }),
]
/** What may be held beside a block of 16 KiB or twice a head, a frame, and bodies that are paused. */
const MOST_HELD_BYTES = 64 * 1024 + 2 * LIMITS[0]!.maxRequestHeaderSize

class FuzzedOwner extends Http2Log {
  readonly #open = new Set<Http2Stream<null>>()

  protected override react(event: number, stream: Http2Stream<null> | null): void {
    if (event === GOAWAY_EVENT) this.#act(this.wire.code % 9)
    else if (event === HEAD) this.#begin(stream!)
    else if (event === BAD_HEAD) {
      this.wire.sender.sendHead(stream!, 400, null, null, 0, '', true)
      this.wire.release(stream!)
    } else if (event === END && this.#open.has(stream!)) this.#respond(stream!)
    else if (event === RESET) {
      this.#open.delete(stream!)
      this.wire.release(stream!)
    }
  }

  #begin(stream: Http2Stream<null>): void {
    const { wire } = this
    this.#open.add(stream)
    switch ((stream.id >> 1) % 6) {
      case 0:
        this.#respond(stream)
        break
      case 1:
        wire.sender.sendHead(stream, 200, 'text/plain', ['x-a', '1', 'set-cookie', 'a=1'], -1, '', false)
        wire.sender.sendData(stream, Buffer.from('piece'), false)
        break
      case 2:
        wire.bodies.pauseBody(stream)
        break
      case 3:
        wire.sender.sendHead(stream, 413, null, null, 5, '', false)
        wire.sender.reset(stream, NO_ERROR)
        wire.sender.sendText(stream, 'no!', 3)
        this.#open.delete(stream)
        wire.release(stream)
        break
      case 4:
        wire.sender.reset(stream, CANCEL)
        wire.release(stream)
    }
  }

  #respond(stream: Http2Stream<null>): void {
    const { wire } = this
    if (stream.hasHead) wire.sender.sendEnd(stream, ['x-late', '1'])
    else wire.sender.sendHead(stream, 200, null, null, 0, '', true)
    this.#open.delete(stream)
    wire.release(stream)
  }

  #act(what: number): void {
    const { wire } = this
    const [first] = this.#open
    if (what === 0) this.flush(3000)
    else if (what === 1) for (const stream of this.#open) wire.bodies.resumeBody(stream)
    else if (what === 2 && first !== undefined) {
      wire.sender.reset(first, CANCEL)
      this.#open.delete(first)
      wire.release(first)
    } else if (what === 3) wire.control.beginEnd()
    else if (what === 4) wire.control.end()
    else if (what === 5) wire.control.ping()
    else if (what === 6) for (const stream of this.#open) this.#respond(stream)
    else if (what === 7) wire.control.tick(1000)
    else if (what === 8) for (const stream of this.#open) if (stream.hasHead) wire.sender.sendData(stream, Buffer.alloc(500, 'x'), false)
  }
}

const frame = (type: number, flags: number, stream: number, payload = ''): string =>
  encodeFrame(type, flags, stream, Buffer.from(payload, 'latin1')).toString('latin1')

/** GET / of a, POST / of a, and a field. */
const GET = '\x82\x87\x84\x41\x01a'
const POST = '\x83\x87\x84\x41\x01a'
const FIELD = '\x40\x01b\x01c'
const BOTH = END_HEADERS | END_STREAM
const act = (code: number): string => frame(GOAWAY, 0, 0, `\0\0\0\0\0\0\0${String.fromCharCode(code)}`)

const SEEDS = [
  frame(HEADERS, BOTH, 1, GET) + frame(HEADERS, BOTH, 3, GET + FIELD) + frame(HEADERS, BOTH, 5, `${GET}\xbf`),
  frame(HEADERS, END_HEADERS, 5, POST) + frame(DATA, 0, 5, 'held') + act(1) + frame(DATA, END_STREAM, 5, 'more') + act(0),
  frame(SETTINGS, 0, 0, '\0\x04\0\0\0\x03') +
    frame(HEADERS, END_HEADERS, 3, POST) +
    act(0) +
    frame(WINDOW_UPDATE, 0, 3, '\0\0\0\x01') +
    act(6),
  frame(HEADERS, END_HEADERS, 7, POST) + frame(DATA, 0, 7, 'rest') + frame(HEADERS, BOTH, 7, FIELD) + frame(DATA, 0, 7, 'late'),
  frame(HEADERS, END_HEADERS, 9, POST) + frame(DATA, 0, 9, 'x') + frame(HEADERS, BOTH, 9, FIELD) + frame(HEADERS, BOTH, 13, `${GET}\xbe`),
  frame(HEADERS, END_HEADERS, 11, POST) +
    act(3) +
    frame(PING, ACK, 0, 'weir end') +
    frame(HEADERS, BOTH, 13, GET) +
    frame(RST_STREAM, 0, 11, '\0\0\0\x08'),
  frame(HEADERS, END_STREAM, 1, GET) + frame(CONTINUATION, END_HEADERS, 1, FIELD) + frame(PING, 0, 0, '12345678') + act(5) + act(4),
  frame(PRIORITY_UPDATE, 0, 0, '\0\0\0\x03u=1') + frame(HEADERS, BOTH, 3, GET) + act(8) + frame(PRIORITY, 0, 3, '\0\0\0\0\0') + act(2),
  frame(HEADERS, END_HEADERS, 11, `${POST}\x5c\x015`) + frame(DATA, PADDED | END_STREAM, 11, '\x02hello\0\0') + frame(DATA, 0, 11, 'x'),
  frame(SETTINGS, 0, 0, '\0\x04\x7f\xff\xff\xff\0\x01\0\0\0\0') +
    frame(WINDOW_UPDATE, 0, 0, '\x7f\xff\0\0') +
    frame(HEADERS, BOTH, 3, GET) +
    act(7),
]

export const http2ConnectionTarget: Target = {
  name: 'http2-connection',
  promise:
    'a connection says and does the same, wherever its bytes are cut; what it sends is what RFC 9113 allows, and what it holds is bounded',
  dictionary: [
    ...[0, 1, 2, 3, 4, 5, 6, 7, 8].map(act),
    frame(HEADERS, BOTH, 1, GET),
    frame(HEADERS, END_HEADERS, 3, POST),
    frame(HEADERS, BOTH, 3, FIELD),
    frame(DATA, 0, 3, 'text'),
    frame(DATA, END_STREAM, 3),
    frame(RST_STREAM, 0, 3, '\0\0\0\x08'),
    frame(WINDOW_UPDATE, 0, 3, '\0\0\0\x01'),
    frame(WINDOW_UPDATE, 0, 0, '\0\0\0\x01'),
    frame(SETTINGS, 0, 0, '\0\x04\0\0\0\x03'),
    frame(PING, ACK, 0, 'weir end'),
    GET,
    POST,
    FIELD,
    '\xbe',
    '\x20',
    '\x3f\xe1\x1f',
    ...['\0\0\0\x01', '\0\0\0\x03', '\0\0\0\x05', '\0\0\0\x07', '\0\0\0\x09', '\0\0\0\x0b', '\x7f\xff\xff\xff', '\0', '\x01', '\x05'],
  ],
  maxBytes: 800,
  seeds: () => SEEDS.map((text) => Buffer.from(text, 'latin1')),
  quickCheck(input, choices) {
    const limits = choices.pick(LIMITS)
    const words = read([input], limits)
    const ends = cutTwice(input.length, choices)
    assertSameWords(
      read(
        ends.map((end, i) => input.subarray(i === 0 ? 0 : ends[i - 1], end)),
        limits,
      ),
      words,
      'cut',
    )
    return outcomeOf(words)
  },
  fullCheckOneIn: 8,
  fullCheck(input, choices) {
    const limits = choices.pick(LIMITS)
    const words = read([input], limits)
    const oneByOne = [...input].map((byte) => Buffer.of(byte))
    assertSameWords(read(oneByOne, limits), words, 'byte by byte')
    assertSameWords(read(cutRandomly(input, choices, 20), limits), words, 'cut in many pieces')
  },
}

function read(parts: readonly Buffer[], limits: Limits): string[] {
  const owner = new FuzzedOwner(limits, true)
  owner.receive(PROLOGUE)
  for (const part of parts) {
    owner.receive(part)
    assert.ok(owner.wire.heldBytes <= MOST_HELD_BYTES, `${owner.wire.heldBytes} bytes are held`)
  }
  owner.flush()
  const { wire } = owner
  assert.ok(wire.openStreams <= limits.maxConcurrentStreams && wire.unreleased <= 2 * limits.maxConcurrentStreams)
  return owner.text.split('\n')
}

/** What happened, without what it was about: the kinds of the last events. */
function outcomeOf(words: readonly string[]): string {
  const kinds = words
    .filter((word) => !word.startsWith('field') && !word.startsWith('< SETTINGS'))
    .map((word) => (/^(?:< )?\S+/.exec(word) ?? [''])[0])
  const error = words.find((word) => word.startsWith('error ') || word.startsWith('reset '))?.replace(/\d+/g, '') ?? ''
  return `${kinds.slice(-4).join(' ')} ${error}`
}
