// A client of a simulation that speaks HTTP/2: it opens streams, sends pieces of their bodies in any order, opens its windows, cancels, and
// checks everything that it receives.

import { Buffer } from 'node:buffer'

import type { SeededRandom } from '../../../dev/src/chaos/seeded-random.ts'
import { HpackReference } from './hpack-reference.ts'
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  encodeFields,
  encodeFrame,
  GOAWAY,
  HEADERS,
  INITIAL_WINDOW_SIZE,
  PADDED,
  PING,
  PREFACE,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from './http2-client.ts'
import { uint32 } from './http2-steps.ts'
import { CAREFUL, MAX_BODY } from './simulated-client.ts'
import { type Ending, TEMPERS } from './simulated-handlers.ts'
import type { SimulatedSocket } from './simulated-socket.ts'

const FIRST_WINDOW = 65_535
const CANCEL = 8
const GETS = Object.keys(TEMPERS).filter((name) => TEMPERS[name]!.method === 'GET')
const POSTS = Object.keys(TEMPERS).filter((name) => TEMPERS[name]!.method === 'POST')
/** Frames after which no connection can go on. */
const VIOLATIONS: readonly Buffer[] = [
  encodeFrame(DATA, 0, 0, Buffer.of(1)),
  encodeFrame(HEADERS, END_HEADERS, 2, Buffer.alloc(0)),
  encodeFrame(WINDOW_UPDATE, 0, 0, uint32(0)),
  encodeFrame(CONTINUATION, END_HEADERS, 1, Buffer.alloc(0)),
  encodeFrame(SETTINGS, 0, 1, Buffer.alloc(0)),
  encodeFrame(PING, 0, 0, Buffer.alloc(7)),
]

/** One request, and what its client knows of it. */
export class SimulatedStream {
  readonly id: number
  readonly n: number
  readonly name: string
  readonly method: string
  readonly body: Buffer
  readonly hasLength: boolean
  readonly waitsForContinue: boolean
  readonly hasTrailers: boolean

  sentBytes = 0
  /** We have sent END_STREAM. */
  hasSentAll = false
  /** We have reset it. */
  isCancelled = false
  sendWindow: number
  receiveWindow: number
  /** Received bytes for which no WINDOW_UPDATE was sent. */
  credit = 0
  hadContinue = false
  /** How often 103 has come. */
  hints = 0
  trailers: ReadonlyMap<string, string> | null = null
  status: number | null = null
  readonly received: Buffer[] = []
  /** The server has sent END_STREAM. */
  hasEnded = false
  /** The code with which the server has reset it. */
  resetCode: number | null = null

  constructor(random: SeededRandom, id: number, n: number, sendWindow: number, receiveWindow: number) {
    this.id = id
    this.n = n
    this.sendWindow = sendWindow
    this.receiveWindow = receiveWindow
    const isPost = random.chance(0.5)
    this.name = random.pick(isPost ? POSTS : GETS)
    this.method = isPost ? 'POST' : random.chance(0.1) ? 'HEAD' : 'GET'
    const size = isPost ? random.pick([0, 1, 10, 300, 4_000, MAX_BODY, MAX_BODY + (random.chance(0.2) ? 1_000 : 0)]) : 0
    this.body = Buffer.alloc(size, `${n}-${this.name}.`)
    // A handler that does not read all of its body does not notice that it is too large.
    this.hasLength = (size > MAX_BODY && !CAREFUL.includes(this.name)) || random.chance(0.5)
    this.waitsForContinue = isPost && size > 0 && random.chance(0.15)
    this.hasTrailers = isPost && random.chance(0.2)
  }

  get title(): string {
    return `request ${this.n} on stream ${this.id} (${this.method} /${this.name} of ${this.body.length} bytes)`
  }

  /** What must come of it, if nothing disturbs it. */
  get ending(): Ending {
    const { ending, refuses } = TEMPERS[this.name]!
    if (this.method === 'HEAD') return ending === 'break' || this.name === 'streamFailsAtOnce' ? 200 : ending
    const isRead = refuses !== true && ending !== 'nothing'
    return isRead && this.body.length > MAX_BODY ? 413 : ending
  }

  get isOver(): boolean {
    return this.isCancelled || this.resetCode !== null || (this.hasEnded && this.hasSentAll)
  }

  get response(): Buffer {
    return Buffer.concat(this.received)
  }
}

export class SimulatedHttp2Client {
  readonly socket: SimulatedSocket
  readonly streams: SimulatedStream[] = []
  readonly #random: SeededRandom
  readonly #blame: (what: string) => void
  readonly #onFrame: (client: SimulatedHttp2Client, stream: SimulatedStream | null) => void
  readonly #decoder = new HpackReference()
  readonly #count: number
  /** How much of a stream it lets the server send. */
  readonly #windowBytes: number
  #readBytes = 0
  #sendWindow = FIRST_WINDOW
  #receiveWindow = FIRST_WINDOW
  #credit = 0
  #initialSendWindow = FIRST_WINDOW
  #initialReceiveWindow = FIRST_WINDOW
  #mostStreams = Number.POSITIVE_INFINITY
  #owedAcks = 0
  /** The head of a response that is not complete. */
  #block: { readonly stream: number; readonly flags: number; readonly parts: Buffer[] } | null = null
  #hasBegun = false
  /** It has broken the protocol. */
  hasViolated = false
  hasSentGoaway = false
  goaway: { readonly last: number; readonly code: number } | null = null

  constructor(
    random: SeededRandom,
    socket: SimulatedSocket,
    blame: (what: string) => void,
    onFrame: (client: SimulatedHttp2Client, stream: SimulatedStream | null) => void,
  ) {
    this.#random = random
    this.socket = socket
    this.#blame = blame
    this.#onFrame = onFrame
    this.#count = random.between(1, 8)
    this.#windowBytes = random.pick([0, 1, 100, 5_000, FIRST_WINDOW, 1 << 20])
  }

  // What it sends.

  /** Does one thing that it may do. @param isPatient whether it cancels nothing and breaks nothing, but finishes what it began @returns whether there was anything to do */
  proceed(isPatient: boolean): boolean {
    if (this.socket.isGone || this.hasViolated) return false
    this.read()
    if (!this.#hasBegun) return this.#begin()
    const random = this.#random
    const dice = isPatient ? 100 : random.below(100)
    const open = this.streams.filter(({ isOver }) => !isOver)
    const one = open.length > 0 ? random.pick(open) : null
    if (dice < 3 && one !== null) return this.cancel(one)
    if (dice === 3) return this.#frame(PING, 0, 0, null, Buffer.alloc(8, this.streams.length))
    if (dice === 4) return this.#changeWindow()
    if (dice === 5 && random.chance(0.15)) return this.#violate()
    if (dice === 6 && random.chance(0.2) && !this.hasSentGoaway) {
      this.hasSentGoaway = true
      return this.#frame(GOAWAY, 0, 0, null, Buffer.concat([uint32(0), uint32(0)]))
    }
    if (dice === 7 && one !== null)
      return this.#frame(0x10, 0, 0, null, Buffer.concat([uint32(one.id), Buffer.from(`u=${random.below(8)}, i`)]))
    if (this.#owedAcks > 0) {
      this.#owedAcks--
      return this.#frame(SETTINGS, ACK, 0, null)
    }
    const acts = [() => this.#open(), () => this.#sendPiece(open), () => this.#openWindows(open)]
    const first = random.below(acts.length)
    for (let i = 0; i < acts.length; i++) if (acts[(first + i) % acts.length]!()) return true
    return false
  }

  #begin(): boolean {
    this.#hasBegun = true
    const setting = Buffer.concat([Buffer.of(0, INITIAL_WINDOW_SIZE), uint32(this.#windowBytes)])
    this.socket.send(PREFACE)
    this.#initialReceiveWindow = this.#windowBytes
    return this.#frame(SETTINGS, 0, 0, null, setting)
  }

  #frame(type: number, flags: number, id: number, stream: SimulatedStream | null, payload?: Buffer): true {
    this.socket.send(encodeFrame(type, flags, id, payload))
    this.#onFrame(this, stream)
    return true
  }

  #open(): boolean {
    const random = this.#random
    const inProgress = this.streams.filter(({ isOver }) => !isOver).length
    const isTooMany = inProgress >= this.#mostStreams && !random.chance(0.05)
    if (this.streams.length === this.#count || isTooMany || this.goaway !== null || this.hasSentGoaway) return false
    const n = this.streams.length
    const stream = new SimulatedStream(random, 2 * n + 1, n, this.#initialSendWindow, this.#initialReceiveWindow)
    this.streams.push(stream)
    const { method, name, body, hasLength, waitsForContinue, hasTrailers } = stream
    const isWhole = body.length === 0 && !hasTrailers && random.chance(0.7)
    const fields: [string, string][] = [
      [':method', method],
      [':scheme', 'https'],
      [':authority', 'h'],
      [':path', `/${name}/${n}`],
    ]
    if (hasLength && method === 'POST') fields.push(['content-length', String(body.length)])
    if (waitsForContinue) fields.push(['expect', '100-continue'])
    if (random.chance(0.2)) fields.push(['priority', `u=${random.below(8)}`])
    this.#sendBlock(stream, fields, isWhole)
    return true
  }

  /** In one frame or several: nothing else may come between them. */
  #sendBlock(stream: SimulatedStream, fields: readonly (readonly [string, string])[], isEnd: boolean): void {
    const block = encodeFields(fields)
    const cut = this.#random.chance(0.2) ? this.#random.between(0, block.length) : block.length
    const isCut = cut < block.length
    stream.hasSentAll = isEnd
    const first = encodeFrame(HEADERS, (isEnd ? END_STREAM : 0) | (isCut ? 0 : END_HEADERS), stream.id, block.subarray(0, cut))
    this.socket.send(first)
    if (isCut) this.socket.send(encodeFrame(CONTINUATION, END_HEADERS, stream.id, block.subarray(cut)))
    this.#onFrame(this, stream)
  }

  #sendPiece(open: readonly SimulatedStream[]): boolean {
    const random = this.#random
    const ready = open.filter((stream) => !stream.hasSentAll && (!stream.waitsForContinue || stream.hadContinue || stream.status !== null))
    const able = ready.filter(({ body, sentBytes, sendWindow }) => body.length === sentBytes || Math.min(sendWindow, this.#sendWindow) > 0)
    if (able.length === 0) return false
    const stream = random.pick(able)
    const rest = stream.body.length - stream.sentBytes
    if (rest === 0 && stream.hasTrailers) {
      this.#sendBlock(stream, [['x-late', String(stream.n)]], true)
      return true
    }
    const room = Math.min(rest, stream.sendWindow, this.#sendWindow, 16_384)
    const isPadded = room > 300 && random.chance(0.1)
    const size = isPadded ? room - 10 : Math.min(room, random.pick([1, 50, 1_000, 16_384]))
    const isLast = size === rest && !stream.hasTrailers && (size === 0 || random.chance(0.7))
    const bytes = stream.body.subarray(stream.sentBytes, stream.sentBytes + size)
    const payload = isPadded ? Buffer.concat([Buffer.of(9), bytes, Buffer.alloc(9)]) : bytes
    stream.sentBytes += size
    stream.sendWindow -= payload.length
    this.#sendWindow -= payload.length
    stream.hasSentAll = isLast
    return this.#frame(DATA, (isLast ? END_STREAM : 0) | (isPadded ? PADDED : 0), stream.id, stream, payload)
  }

  #openWindows(open: readonly SimulatedStream[]): boolean {
    if (this.#credit > 0) {
      this.#receiveWindow += this.#credit
      const payload = uint32(this.#credit)
      this.#credit = 0
      return this.#frame(WINDOW_UPDATE, 0, 0, null, payload)
    }
    const stream = open.find((one) => !one.hasEnded && one.receiveWindow < 4_000)
    if (stream === undefined) return false
    const bytes = this.#random.pick([4_000, 9_000, 70_000])
    stream.receiveWindow += bytes
    stream.credit = 0
    return this.#frame(WINDOW_UPDATE, 0, stream.id, stream, uint32(bytes))
  }

  #changeWindow(): boolean {
    const bytes = this.#random.pick([0, 10, 3_000, FIRST_WINDOW])
    // What is on its way may still use the larger window: until the server has acknowledged it, both hold.
    for (const stream of this.streams) stream.receiveWindow += Math.max(0, bytes - this.#initialReceiveWindow)
    if (bytes < this.#initialReceiveWindow) return false
    this.#initialReceiveWindow = bytes
    return this.#frame(SETTINGS, 0, 0, null, Buffer.concat([Buffer.of(0, INITIAL_WINDOW_SIZE), uint32(bytes)]))
  }

  cancel(stream: SimulatedStream): boolean {
    if (stream.isOver || this.hasViolated) return false
    stream.isCancelled = true
    this.socket.send(encodeFrame(RST_STREAM, 0, stream.id, uint32(CANCEL)))
    return true
  }

  #violate(): boolean {
    this.hasViolated = true
    this.socket.send(this.#random.pick(VIOLATIONS))
    return true
  }

  // What it receives.

  /** Reads all frames that have arrived. */
  read(): void {
    const { received } = this.socket
    while (received.length - this.#readBytes >= 9) {
      const at = this.#readBytes
      const length = received.readUIntBE(at, 3)
      if (received.length < at + 9 + length) return
      this.#readBytes += 9 + length
      this.#onReceived(received[at + 3]!, received[at + 4]!, received.readUInt32BE(at + 5), received.subarray(at + 9, at + 9 + length))
    }
  }

  /** Bytes of a frame that is not complete. */
  get incompleteBytes(): number {
    return this.socket.received.length - this.#readBytes
  }

  #onReceived(type: number, flags: number, id: number, payload: Buffer): void {
    const stream = id === 0 ? null : (this.streams[(id - 1) / 2] ?? null)
    if (id !== 0 && stream === null) throw new Error(`a frame on stream ${id}, which was never opened`)
    if (this.#block !== null && (type !== CONTINUATION || this.#block.stream !== id)) throw new Error('a frame inside a head')
    switch (type) {
      case SETTINGS:
        if ((flags & ACK) === 0) this.#onSettings(payload)
        break
      case HEADERS:
        this.#block = { stream: id, flags, parts: [payload] }
        if ((flags & END_HEADERS) !== 0) this.#onBlock(stream!)
        break
      case CONTINUATION:
        this.#block!.parts.push(payload)
        if ((flags & END_HEADERS) !== 0) this.#onBlock(stream!)
        break
      case DATA:
        this.#onData(stream!, flags, payload)
        break
      case RST_STREAM:
        if (stream!.resetCode !== null) this.#blame(`${stream!.title} was reset twice`)
        stream!.resetCode = payload.readUInt32BE(0)
        break
      case WINDOW_UPDATE:
        if (stream === null) this.#sendWindow += payload.readUInt32BE(0)
        else stream.sendWindow += payload.readUInt32BE(0)
        break
      case GOAWAY:
        this.#onGoaway(payload.readUInt32BE(0), payload.readUInt32BE(4))
        break
      case PING:
        if ((flags & ACK) === 0) this.socket.send(encodeFrame(PING, ACK, 0, payload))
        break
      default:
        this.#blame(`a frame of type ${type}`)
    }
    this.#onFrame(this, stream)
  }

  #onSettings(payload: Buffer): void {
    for (let at = 0; at < payload.length; at += 6) {
      const value = payload.readUInt32BE(at + 2)
      if (payload.readUInt16BE(at) === 3) this.#mostStreams = value
      if (payload.readUInt16BE(at) !== INITIAL_WINDOW_SIZE) continue
      for (const stream of this.streams) stream.sendWindow += value - this.#initialSendWindow
      this.#initialSendWindow = value
    }
    this.#owedAcks++
  }

  #onGoaway(last: number, code: number): void {
    if (this.goaway !== null && last > this.goaway.last) this.#blame(`GOAWAY went from ${this.goaway.last} to ${last}`)
    this.goaway = { last, code }
  }

  #onBlock(stream: SimulatedStream): void {
    const { flags, parts } = this.#block!
    this.#block = null
    const fields = new Map(this.#decoder.decode(Buffer.concat(parts)))
    this.#mustBeOpen(stream, 'a head')
    const status = fields.get(':status')
    if (status === '103') {
      if (stream.name !== 'hinting' || stream.status !== null || ++stream.hints > 2) this.#blame(`unwanted hints for ${stream.title}`)
      return
    }
    if (stream.status !== null && status === undefined && (flags & END_STREAM) !== 0) {
      stream.trailers = fields
      stream.hasEnded = true
      return
    }
    if (status === '100') {
      if (!stream.waitsForContinue || stream.hadContinue || stream.status !== null) this.#blame(`an unwanted 100 for ${stream.title}`)
      stream.hadContinue = true
      return
    }
    if (stream.status !== null) throw new Error(`a second head for ${stream.title}`)
    stream.status = Number(status)
    const name = fields.get('x-n')
    if (name !== undefined && name !== String(stream.n)) this.#blame(`the response to ${stream.title} belongs to ${name}`)
    if ((flags & END_STREAM) !== 0) stream.hasEnded = true
  }

  #onData(stream: SimulatedStream, flags: number, payload: Buffer): void {
    this.#mustBeOpen(stream, 'DATA')
    if (stream.status === null) this.#blame(`the body of ${stream.title} came before its head`)
    stream.receiveWindow -= payload.length
    this.#receiveWindow -= payload.length
    this.#credit += payload.length
    if (stream.receiveWindow < 0) this.#blame(`DATA exceeds the window of ${stream.title}`)
    if (this.#receiveWindow < 0) this.#blame('DATA exceeds the window of the connection')
    stream.received.push(payload)
    if ((flags & END_STREAM) !== 0) stream.hasEnded = true
  }

  #mustBeOpen(stream: SimulatedStream, what: string): void {
    if (stream.hasEnded || stream.resetCode !== null) this.#blame(`${what} after the end of ${stream.title}`)
  }
}
