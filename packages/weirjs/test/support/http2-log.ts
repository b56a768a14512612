// Drives an HTTP/2 connection as its owner would, and records its events and the frames that it sends. It also checks what holds for every input:
// nothing borrowed is kept, a failure is final, no window is exceeded, and no event follows the end of its stream.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'

import type { Limits } from '../../src/base/limits.ts'
import { CHUNKED } from '../../src/wire/head/framing.ts'
import { Http2WireConnection } from '../../src/wire/http2/connection.ts'
import * as event from '../../src/wire/http2/connection-events.ts'
import { CODE_NAMES, Http2Error } from '../../src/wire/http2/errors.ts'
import * as frames from '../../src/wire/http2/frames/frame-types.ts'
import { HpackDecoder } from '../../src/wire/http2/hpack/decoder.ts'
import type { HeaderField } from '../../src/wire/http2/hpack/header-field.ts'
import { LIFE_NAMES } from '../../src/wire/http2/states.ts'
import type { Http2Stream } from '../../src/wire/http2/stream.ts'
import { codeOf, SETTING_NAMES, type Step, TYPES } from './http2-steps.ts'

const POISON = 0xdd
const DATE = 'Sun, 22 Nov 2026 21:00:00 GMT'
const TYPE_NAMES = new Map(Object.entries(TYPES).map(([name, type]) => [type, name]))
const FLUSH_BYTES = 64 * 1024

export class Http2Log {
  readonly wire: Http2WireConnection<null>
  readonly lines: string[] = []
  readonly streams = new Map<number, Http2Stream<null>>()
  readonly #decoder = new HpackDecoder(null)
  readonly #ended = new Set<number>()
  readonly #reset = new Set<number>()
  #block: { readonly stream: number; readonly flags: number; bytes: Buffer } | null = null
  /** Streams on which a head, the end or a reset has been sent. */
  readonly #sentHeads = new Set<number>()
  readonly #sentEnds = new Set<number>()
  readonly #sentResets = new Set<number>()
  #hasSentFailure = false
  #answers = false
  #data: { readonly stream: number; text: string } | null = null
  #lent = Buffer.alloc(0)
  /** Acknowledgements of SETTINGS that are not shown. */
  #hiddenAcks: number
  hasFailed = false

  constructor(limits: Limits, offersConnect = false, hiddenAcks = 0) {
    this.wire = new Http2WireConnection(limits, { offersConnect })
    this.#hiddenAcks = hiddenAcks
  }

  /** All that has been said. */
  get text(): string {
    this.#flushData()
    return this.lines.join('\n')
  }

  /** Passes bytes in, in memory that says something else afterwards, and takes all events. */
  receive(bytes: Buffer): void {
    if (this.#lent.length < bytes.length) this.#lent = Buffer.alloc(bytes.length)
    bytes.copy(this.#lent)
    this.wire.receive(this.#lent, bytes.length)
    this.run()
    this.#lent.fill(POISON)
  }

  run(): void {
    const { wire } = this
    try {
      for (let next = wire.next(); ; next = wire.next()) {
        if (next === event.CLOSED) assert.ok(this.hasFailed || wire.control.life === 3, 'closed without a failure')
        if (next === event.PAUSED) this.add('paused')
        if (next <= event.PAUSED) return
        this.#note(next)
      }
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error
      assert.ok(!this.hasFailed, 'a failure is final')
      this.hasFailed = true
      assert.equal(wire.openStreams, 0)
      assert.equal(wire.sender.queuedBytes, 0)
      this.add(`error ${error.fault}`)
    }
  }

  #note(next: number): void {
    const { wire } = this
    if (next === event.GOAWAY) {
      this.add(`goaway ${CODE_NAMES[wire.code] ?? wire.code}`)
      this.react(next, null)
    } else if (next === event.PONG) this.add('pong')
    else if (next !== event.REFUSED) {
      const { stream } = wire
      this.#noteStream(next, stream)
      this.react(next, stream)
    }
  }

  /** What the owner does about an event. @param stream null for GOAWAY */
  protected react(_event: number, _stream: Http2Stream<null> | null): void {}

  #noteStream(next: number, stream: Http2Stream<null>): void {
    const { wire } = this
    const { id } = stream
    assert.ok(!this.#ended.has(id) || next === event.RESET, `an event of stream ${id} after its end`)
    assert.ok(!this.#reset.has(id), `an event of stream ${id} after its reset`)
    if (next === event.HEAD || next === event.BAD_HEAD) {
      assert.ok(!this.streams.has(id))
      this.streams.set(id, stream)
      this.#noteHead(next, stream)
      if (stream.isWhole) this.#ended.add(id)
      if (this.#answers) {
        wire.sender.sendHead(stream, 200, null, null, 0, '', true)
        wire.release(stream)
      }
      return
    }
    assert.equal(this.streams.get(id), stream)
    if (next === event.DATA) {
      assert.ok(!stream.isPaused, 'DATA while the body is paused')
      const text = wire.buffer.toString('latin1', wire.dataStart, wire.dataEnd)
      assert.ok(text !== '')
      if (this.#data?.stream === id) this.#data.text += text
      else {
        this.#flushData()
        this.#data = { stream: id, text }
      }
    } else if (next === event.END) {
      this.#ended.add(id)
      const trailers = stream.trailers.map(([name, value]) => ` ${name}=${value}`).join('')
      this.add(`end ${id}${trailers}`)
    } else {
      assert.equal(next, event.RESET)
      this.#reset.add(id)
      this.add(`reset ${id} ${CODE_NAMES[wire.code] ?? wire.code}${wire.fault === null ? '' : ` ${wire.fault}`}`)
    }
  }

  #noteHead(next: number, { id, head, refusal }: Http2Stream<null>): void {
    if (next === event.BAD_HEAD) {
      this.add(`bad-head ${id} ${refusal!.code}`)
      return
    }
    const body = head.contentLength === CHUNKED ? 'unknown' : head.contentLength === 0 ? 'none' : head.contentLength
    this.add(`head ${id} ${head.method} ${head.url} body=${body}${head.expectsContinue ? ' expects' : ''}${head.upgrade ? ' upgrade' : ''}`)
    for (const [name, value] of head.entries()) if (name !== 'host' || value !== 'a') this.add(`field ${name}: ${value}`)
  }

  add(line: string): void {
    this.#flushData()
    this.lines.push(line)
  }

  #flushData(): void {
    if (this.#data === null) return
    this.lines.push(`data ${this.#data.stream} ${quoted(this.#data.text)}`)
    this.#data = null
  }

  /** Writes what is ready. */
  flush(maxBytes = FLUSH_BYTES): void {
    for (;;) {
      const hasMore = this.wire.sender.fill(maxBytes)
      assert.ok(this.wire.sender.output.end <= maxBytes || this.wire.sender.output.end < FLUSH_BYTES * 8, 'the output is bounded')
      this.readOutput(this.wire.sender.output.take())
      if (!hasMore) break
    }
    for (let hungry = this.wire.sender.nextHungry(); hungry !== null; hungry = this.wire.sender.nextHungry())
      this.add(`hungry ${hungry.id}`)
  }

  readOutput(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const length = bytes.readUIntBE(at, 3)
      assert.ok(length <= 16_384 && at + 9 + length <= bytes.length, 'a whole frame')
      this.#onFrame(bytes[at + 3]!, bytes[at + 4]!, bytes.readUInt32BE(at + 5), bytes.subarray(at + 9, at + 9 + length))
      at += 9 + length
    }
  }

  /** What RFC 9113 §5.1 and §8.1 let us send. */
  #checkFrame(type: number, flags: number, stream: number): void {
    assert.ok(!this.#hasSentFailure, 'nothing follows a failure')
    if (stream === 0 || type === frames.CONTINUATION) return
    assert.ok(!this.#sentResets.has(stream), 'nothing follows a reset')
    if (type === frames.RST_STREAM) this.#sentResets.add(stream)
    if (type !== frames.DATA && type !== frames.HEADERS) return
    assert.ok(!this.#sentEnds.has(stream), 'nothing follows the end of a response')
    if (type === frames.HEADERS) this.#sentHeads.add(stream)
    assert.ok(this.#sentHeads.has(stream), 'a response begins with its head')
    if ((flags & frames.END_STREAM) !== 0) this.#sentEnds.add(stream)
  }

  #onFrame(type: number, flags: number, stream: number, payload: Buffer): void {
    this.#checkFrame(type, flags, stream)
    if (type === frames.GOAWAY && payload.readUInt32BE(4) !== 0) this.#hasSentFailure = true
    if (this.#block !== null) assert.equal(type, frames.CONTINUATION)
    const say = (rest: string): void => this.add(`< ${TYPE_NAMES.get(type)} ${stream}${rest}`)
    const end = (flags & frames.END_STREAM) !== 0 ? ' end' : ''
    if (type === frames.HEADERS || type === frames.CONTINUATION) this.#onBlock(type, flags, stream, payload)
    else if (type === frames.DATA) say(`${end} ${quoted(payload.toString('latin1'))}`)
    else if (type === frames.RST_STREAM) say(` ${CODE_NAMES[payload.readUInt32BE(0)]}`)
    else if (type === frames.WINDOW_UPDATE) say(` +${payload.readUInt32BE(0)}`)
    else if (type === frames.PING) say(`${flags === frames.ACK ? ' ack' : ''} ${quoted(payload.toString('latin1'))}`)
    else if (type === frames.GOAWAY) say(` last=${payload.readUInt32BE(0)} ${CODE_NAMES[payload.readUInt32BE(4)]}`)
    else if (type === frames.SETTINGS && flags === frames.ACK && this.#hiddenAcks > 0) this.#hiddenAcks--
    else if (type === frames.SETTINGS) say(flags === frames.ACK ? ' ack' : settingsText(payload))
    else assert.fail(`a frame of type ${type}`)
  }

  #onBlock(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === frames.HEADERS) this.#block = { stream, flags, bytes: payload }
    else this.#block!.bytes = Buffer.concat([this.#block!.bytes, payload])
    if ((flags & frames.END_HEADERS) === 0) return
    const { flags: first, bytes } = this.#block!
    this.#block = null
    const fields: HeaderField[] = []
    this.#decoder.decode(bytes, 0, bytes.length, fields, Number.POSITIVE_INFINITY)
    const text = fields.map(({ name, value }) => ` ${name}=${value.length > 60 ? `${value.slice(0, 20)}…${value.length}` : value}`).join('')
    this.add(`< HEADERS ${stream}${(first & frames.END_STREAM) !== 0 ? ' end' : ''}${text}`)
  }

  /** Our own table for what the client's settings allow. */
  setTableLimit(bytes: number): void {
    this.#decoder.setTableLimit(bytes)
  }

  // What the owner does.

  act({ words, fields }: Extract<Step, { kind: 'act' }>): void {
    const [verb, ...rest] = words
    const { wire } = this
    if (verb === 'flush') this.flush(rest[0] === undefined ? FLUSH_BYTES : Number(rest[0]))
    else if (verb === 'answer') this.#answers = true
    else if (verb === 'begin-end') wire.control.beginEnd()
    else if (verb === 'end-connection') wire.control.end()
    else if (verb === 'fail') wire.control.fail(codeOf(rest[0]!))
    else if (verb === 'ping') wire.control.ping()
    else if (verb === 'tick') wire.control.tick(Number(rest[0]))
    else if (verb === 'table') this.setTableLimit(Number(rest[0]))
    else if (verb === 'see') for (const word of rest) this.add(`${word}=${this.#value(word)}`)
    else if (verb === 'run') this.run()
    else this.#actOn(verb!, this.streams.get(Number(rest[0])), rest.slice(1), fields)
  }

  #actOn(verb: string, stream: Http2Stream<null> | undefined, rest: readonly string[], fields: readonly string[]): void {
    const { wire } = this
    if (stream === undefined) throw new Error(`${verb}: the owner does not know this stream`)
    const isEnd = rest.at(-1) === 'end'
    if (verb === 'head') {
      const [status, length] = rest
      const isKnown = length !== undefined && length !== 'end'
      const list = fields.length === 0 ? null : fields
      wire.sender.sendHead(
        stream,
        Number(status),
        null,
        list,
        isKnown ? Number(length) : isEnd && status !== '204' ? 0 : -1,
        fields.includes('date?') ? DATE : '',
        isEnd,
      )
    } else if (verb === 'data') wire.sender.sendData(stream, Buffer.from(rest[0]!, 'latin1'), isEnd)
    else if (verb === 'text') wire.sender.sendText(stream, rest[0]!, Buffer.byteLength(rest[0]!))
    else if (verb === 'end') wire.sender.sendEnd(stream)
    else if (verb === 'trailers') wire.sender.sendEnd(stream, fields)
    else if (verb === 'interim') wire.sender.sendInterim(stream, Number(rest[0]), fields)
    else if (verb === 'pause') wire.bodies.pauseBody(stream)
    else if (verb === 'resume') {
      wire.bodies.resumeBody(stream)
      this.run()
    } else if (verb === 'release') wire.release(stream)
    else if (verb === 'reset') wire.sender.reset(stream, codeOf(rest[0]!))
    else throw new Error(`no such act: ${verb}`)
  }

  #value(name: string): string {
    const { wire } = this
    switch (name) {
      case 'open':
        return String(wire.openStreams)
      case 'unreleased':
        return String(wire.unreleased)
      case 'held':
        return `${Math.floor(wire.heldBytes / 1024)} KiB`
      case 'queued':
        return String(wire.sender.queuedBytes)
      case 'life':
        return LIFE_NAMES[wire.control.life]!
      case 'begun':
        return String(wire.frames.hasBegun)
      case 'in-head':
        return String(wire.frames.inBlock)
      case 'awaits-ack':
        return String(wire.control.awaitsSettingsAck)
      default:
        throw new Error(`no such value: ${name}`)
    }
  }
}

function settingsText(payload: Buffer): string {
  let text = ''
  for (let at = 0; at < payload.length; at += 6) text += ` ${SETTING_NAMES[payload.readUInt16BE(at)]}=${payload.readUInt32BE(at + 2)}`
  return text
}

function quoted(text: string): string {
  return text.length > 200 ? `${JSON.stringify(text.slice(0, 10))}…${text.length}` : JSON.stringify(text)
}
