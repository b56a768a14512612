// One HTTP/2 connection without a socket: bytes in, events and frames out (RFC 9113). It has no timers and no promises; the same bytes, however
// they are split, produce the same events and the same responses.
//
// Events are pulled, as in http1/connection.ts: after `receive`, the owner calls `next` until it returns NEED_DATA, PAUSED or CLOSED. What the
// protocol itself requires (SETTINGS, PING, windows, resets) is handled here and is not an event. Frames to send gather in one output, which the
// owner writes once in each turn:
//
//   wire.receive(bytes, length)
//   for (let event = wire.next(); event > PAUSED; event = wire.next()) …   respond, pass the body on, pause it
//   wire.sender.fill(64 * 1024); transport.write(wire.sender.output.take()) again while `fill` returns true and the transport is not blocked
//   for (let s = wire.sender.nextHungry(); s !== null; …) …                let the source of its response continue
//
// Errors of the client leave in two ways. An error that concerns a stream resets it, and is the event RESET. An error of the connection is thrown
// by `next` as an Http2Error; GOAWAY is in the output by then.
//
// Its owner also uses its sender (responses), its bodies (windows) and its control (settings, PING). Here: streams, from first to last frame.

import type { Buffer } from 'node:buffer'
import type { WeirError } from '../../base/errors.ts'
import type { Limits } from '../../base/limits.ts'
import * as allowances from './allowances.ts'
import { Allowances } from './allowances.ts'
import { BodyReceiver, STREAM_WINDOW_BYTES } from './body-receiver.ts'
import { ConnectionControl } from './connection-control.ts'
import { BAD_HEAD, CLOSED, DATA, END, GOAWAY, HEAD, NEED_DATA, PAUSED, PONG, REFUSED, RESET } from './connection-events.ts'
import { FAULTS, type FaultName, Http2Error, INTERNAL_ERROR, NO_ERROR, REFUSED_STREAM } from './errors.ts'
import { FrameSender } from './frame-sender.ts'
import { FrameReader, NEED_DATA as NEED_BYTES, STREAM_FAULT, UNKNOWN } from './frames/frame-reader.ts'
import * as frames from './frames/frame-types.ts'
import { HeldHeads } from './held-heads.ts'
import { RequestReader, ROOM_FOR_REFUSALS } from './request-reader.ts'
import * as state from './states.ts'
import { Http2Stream, NO_BYTES } from './stream.ts'
import { StreamTable } from './stream-table.ts'

interface Http2Options {
  /** Whether extended CONNECT is offered (RFC 8441). Default false. */
  readonly offersConnect?: boolean
}

/** The frame was handled, and is not an event. */
const NOTHING = -1

/** While this many bytes of output wait, nothing is read that could add to them. */
const FULL_OUTPUT_BYTES = 256 * 1024
/** While more than this waits of all responses, no further request begins: a client that does not read causes no more work. */
export const MOST_QUEUED_BYTES = 4 * 1024 * 1024
/** How many times `maxConcurrentStreams` requests may be in progress, including those that were reset and whose handlers have not settled. */
const ROOM_FOR_RESET = 2

/** @typeParam T what the owner keeps of a stream, in its `owner` */
export class Http2WireConnection<T> {
  readonly sender: FrameSender<T>
  readonly bodies: BodyReceiver<T>
  readonly control: ConnectionControl<T>
  /** What arrives. Its owner only asks how far it has been read: `hasBegun`, `inBlock`, `unreadBytes`. */
  readonly frames: FrameReader
  readonly #allowances = new Allowances()
  readonly #streams = new StreamTable<T>()
  readonly #heads = new HeldHeads()
  /** How many streams have been refused, because there were too many or their heads too large, since the owner set it to 0. */
  refusedStreams = 0
  readonly #maxConcurrentStreams: number
  readonly #requests: RequestReader
  /** Streams that are not closed. */
  openStreams = 0
  /** Requests in progress: those returned by HEAD and BAD_HEAD and those that wait, without those that were released. */
  unreleased = 0
  /** The stream of the last HEAD. It enters the table at the next event, if it is still open by then. */
  #fresh: Http2Stream<T> | null = null
  /** The stream of the last DATA. At the next event its bytes count as taken. */
  #taking: Http2Stream<T> | null = null
  #takingBytes = 0
  /** Requests that begin once the client has read more of its responses. */
  readonly #waiting: Http2Stream<T>[] = []
  /** NEED_DATA has been returned since the last `receive`. */
  #hasReadAll = true

  /** The stream of the event, until it is released: a connection that is idle does not keep its last request. */
  stream!: Http2Stream<T>
  /** BAD_HEAD: a ProtocolError or a LimitError. */
  error: WeirError | null = null
  /** RESET: the code of RST_STREAM, the client's or ours. GOAWAY: the code of the client. */
  code = NO_ERROR
  /** RESET: the rule that the client broke; null if the client itself reset the stream. */
  fault: FaultName | null = null
  /** Contains the bytes of DATA: part of what was passed to `receive`, if `isBorrowed`; otherwise the owner may keep it. */
  buffer: Buffer = NO_BYTES
  /** HEAD, BAD_HEAD: size of the list of fields. */
  listBytes = 0
  dataStart = 0
  dataEnd = 0
  isBorrowed = true

  /** Our SETTINGS are in the output from the start. */
  constructor(limits: Limits, { offersConnect = false }: Http2Options = {}) {
    this.frames = new FrameReader(Math.max(frames.DEFAULT_FRAME_BYTES, ROOM_FOR_REFUSALS * limits.maxRequestHeaderSize))
    this.sender = new FrameSender(this.#allowances, this.#forget)
    this.bodies = new BodyReceiver(this.sender)
    this.control = new ConnectionControl(this.sender, this.#streams, this.#allowances, this.#dropStreams)
    this.#maxConcurrentStreams = limits.maxConcurrentStreams
    this.#requests = new RequestReader(limits, offersConnect, this.#allowances)
    this.control.announce(limits, this.#requests.maxListBytes, offersConnect)
  }

  // Events.

  /** Passes in `bytes[0, length)`, borrowed until `next` returns NEED_DATA, PAUSED or CLOSED. */
  receive(bytes: Buffer, length: number): void {
    this.#hasReadAll = false
    if (this.control.life < state.FAILED) this.frames.receive(bytes, length)
  }

  /**
   * @returns an event
   * @throws Http2Error when the client has broken the protocol. From then on it returns CLOSED
   */
  next(): number {
    if (this.control.life >= state.FAILED) return CLOSED
    try {
      if (this.#fresh !== null) this.#keepFresh(this.#fresh)
      const taking = this.#taking
      if (taking !== null) {
        this.#taking = null
        this.bodies.credit(taking, this.#takingBytes)
        if (taking.owesEnd && (taking.state === state.CLOSED || !(taking.isPaused || taking.isClosed))) return this.#end(taking)
      }
      if (this.sender.output.end >= FULL_OUTPUT_BYTES) {
        this.frames.hold()
        return PAUSED
      }
      for (;;) {
        const resumed = this.bodies.resumed.length > 0 ? this.bodies.takeResumed() : null
        const next = resumed === null && this.#hasReadAll && this.mayBegin ? this.#waiting.shift()! : null
        const event = resumed !== null ? this.#passOn(resumed) : next !== null ? this.#begin(next) : this.#readFrame()
        if (event !== NOTHING) return event
      }
    } catch (error) {
      this.control.fail(error instanceof Http2Error ? error.code : INTERNAL_ERROR)
      throw error
    }
  }

  #keepFresh(fresh: Http2Stream<T>): void {
    this.#fresh = null
    this.#streams.add(fresh)
  }

  /** After HEAD or BAD_HEAD, in place of `next`: the rest is read later. */
  rest(): void {
    if (this.#fresh !== null) this.#keepFresh(this.#fresh)
    this.frames.hold()
  }

  #readFrame(): number {
    switch (this.frames.next()) {
      case NEED_BYTES:
        this.#hasReadAll = true
        return NEED_DATA
      case frames.HEADERS:
        return this.#onHeaders()
      case frames.DATA:
        return this.#onData()
      case frames.WINDOW_UPDATE:
        return this.#onWindowUpdate()
      case frames.RST_STREAM:
        return this.#onReset()
      case frames.SETTINGS:
        this.control.onSettings(this.frames)
        return NOTHING
      case frames.PING:
        return this.control.onPing(this.frames) ? PONG : NOTHING
      case frames.GOAWAY:
        this.#allowances.spend(allowances.SETTINGS_FRAMES)
        this.code = this.frames.code
        return GOAWAY
      case frames.PRIORITY:
        this.#allowances.spend(allowances.PRIORITIES)
        return NOTHING
      case frames.PRIORITY_UPDATE:
        this.control.onPriorityUpdate(this.frames)
        return NOTHING
      case STREAM_FAULT:
        return this.#onStreamFault(this.frames.fault)
      case UNKNOWN:
        this.#allowances.spend(allowances.EMPTY_FRAMES)
        return NOTHING
      default:
        throw new Error('weir: an event of frames that does not exist')
    }
  }

  // Requests.

  #onHeaders(): number {
    const { stream: id, isEnd, buffer, start, end } = this.frames
    const stream = this.#streams.get(id)
    const from = stream === undefined ? this.#streams.stateOf(id) : stream.state
    const verdict = state.FRAMES_IN[from]![state.IN_HEADERS]
    this.#requests.decode(buffer, start, end, verdict === state.TAKEN)
    if (verdict !== state.TAKEN) return this.#judge(id, stream, verdict)
    return stream === undefined ? this.#open(id, isEnd) : this.#onTrailers(stream, isEnd)
  }

  #open(id: number, isWhole: boolean): number {
    if ((id & 1) === 0) throw new Http2Error('STREAM_ID')
    this.#streams.open(id)
    const early = this.control.earlyPriorities === null ? null : this.control.takePriority(id)
    const most = this.#maxConcurrentStreams
    if (this.openStreams >= most || this.unreleased >= ROOM_FOR_RESET * most || !this.#heads.hasRoomFor(this.#requests.listBytes)) {
      this.refusedStreams++
      this.#allowances.spend(allowances.REFUSALS)
      this.sender.writeReset(id, REFUSED_STREAM)
      this.#streams.rememberReset(id)
      return REFUSED
    }
    const stream = new Http2Stream<T>(id, STREAM_WINDOW_BYTES, this.control.peer.initialWindowBytes)
    stream.moveTo(isWhole ? state.HALF_CLOSED_REMOTE : state.OPEN)
    stream.isWhole = isWhole
    this.openStreams++
    this.unreleased++
    this.#requests.readHead(stream)
    this.#heads.count(stream.head.size)
    if (early !== null) this.sender.prioritize(stream, early)
    if (this.sender.queuedBytes <= MOST_QUEUED_BYTES && this.#waiting.length === 0) {
      this.#fresh = stream
      return this.#tellHead(stream)
    }
    stream.isPaused = stream.isWaiting = true
    this.#streams.add(stream)
    this.#waiting.push(stream)
    return NOTHING
  }

  #tellHead(stream: Http2Stream<T>): number {
    this.stream = stream
    this.error = stream.refusal
    this.listBytes = this.#requests.listBytes
    return stream.refusal === null ? HEAD : BAD_HEAD
  }

  /** Whether a request that has waited for the client may begin: `next`, called again after NEED_DATA, returns it. Better in a later turn. */
  get mayBegin(): boolean {
    return this.#waiting.length > 0 && this.sender.queuedBytes <= MOST_QUEUED_BYTES
  }

  /** A request that has waited. */
  #begin(stream: Http2Stream<T>): number {
    stream.isWaiting = false
    this.bodies.resumeBody(stream)
    return this.#tellHead(stream)
  }

  // Bodies.

  #onData(): number {
    const { stream: id, flowBytes, flowLeft, dataLeft, isFirst, isLastFrame, isEnd, buffer, start, end } = this.frames
    this.bodies.takeWindow(flowBytes, flowLeft)
    const stream = this.#streams.get(id)
    const from = stream === undefined ? this.#streams.stateOf(id) : stream.state
    const verdict = state.FRAMES_IN[from]![state.IN_DATA]
    if (stream === undefined || verdict !== state.TAKEN) {
      this.bodies.credit(null, flowBytes)
      return isFirst ? this.#judge(id, stream, verdict) : NOTHING
    }
    stream.receiveWindow -= flowBytes
    // A frame that is not allowed is refused with its first piece, so that the pieces do not matter.
    const isAllowed = stream.mayReceive(end - start + dataLeft, isLastFrame)
    const fault = stream.receiveWindow < flowLeft ? 'WINDOW_EXCEEDED' : isAllowed ? null : 'BODY_LENGTH'
    if (fault !== null) {
      this.bodies.credit(null, flowBytes)
      return this.#resetFor(stream, fault)
    }
    stream.receivedBytes += end - start
    if (isFirst && start === end && dataLeft === 0 && !isLastFrame) this.#allowances.spend(allowances.EMPTY_FRAMES)
    if (isEnd) this.#endReceiving(stream)
    if (start === end) {
      this.bodies.credit(stream, flowBytes)
      return isEnd ? this.#endSoon(stream) : NOTHING
    }
    if (stream.isPaused || stream.heldBytes > 0) return this.#hold(stream, buffer, start, end, flowBytes)
    return this.#tellData(stream, buffer, start, end, flowBytes, true)
  }

  #hold(stream: Http2Stream<T>, buffer: Buffer, start: number, end: number, flowBytes: number): number {
    if (!stream.isClosed) {
      this.bodies.holdBytes(stream, buffer, start, end, flowBytes)
      return NOTHING
    }
    this.bodies.credit(null, flowBytes)
    return this.#end(stream)
  }

  /** What was held while the body was paused. */
  #passOn(stream: Http2Stream<T>): number {
    const { held, heldBytes, heldFlowBytes } = stream
    if (heldBytes === 0) return this.#end(stream)
    this.bodies.releaseHeld(stream)
    return this.#tellData(stream, held, 0, heldBytes, heldFlowBytes, false)
  }

  #tellData(stream: Http2Stream<T>, buffer: Buffer, start: number, end: number, flowBytes: number, isBorrowed: boolean): number {
    this.stream = this.#taking = stream
    this.#takingBytes = flowBytes
    this.buffer = buffer
    this.dataStart = start
    this.dataEnd = end
    this.isBorrowed = isBorrowed
    return DATA
  }

  /** In place of reading DATA: its reader has paused meanwhile. */
  holdData(stream: Http2Stream<T>): void {
    if (stream.isClosed) return
    this.#taking = null
    this.bodies.holdBytes(stream, this.buffer, this.dataStart, this.dataEnd, this.#takingBytes)
  }

  #onTrailers(stream: Http2Stream<T>, isEnd: boolean): number {
    if (!isEnd) return this.#resetFor(stream, 'TRAILERS_OPEN')
    if (!stream.mayReceive(0, true)) return this.#resetFor(stream, 'BODY_LENGTH')
    const trailers = this.#requests.readTrailers()
    if (trailers === null) return this.#resetFor(stream, 'TRAILERS_FIELDS')
    stream.trailers = trailers
    this.#endReceiving(stream)
    return this.#endSoon(stream)
  }

  /** If the response is complete too, what is held will not be read. */
  #endReceiving(stream: Http2Stream<T>): void {
    stream.owesEnd = true
    stream.moveTo(stream.state === state.HALF_CLOSED_LOCAL ? state.CLOSED : state.HALF_CLOSED_REMOTE)
    if (stream.isClosed) this.#forget(stream)
  }

  /** END, unless something that is held comes first. */
  #endSoon(stream: Http2Stream<T>): number {
    return stream.isClosed || (!stream.isPaused && stream.heldBytes === 0) ? this.#end(stream) : NOTHING
  }

  #end(stream: Http2Stream<T>): number {
    stream.owesEnd = false
    this.stream = stream
    return END
  }

  // The end of a stream.

  #onReset(): number {
    const { stream: id, code } = this.frames
    const stream = this.#streams.get(id)
    if (stream === undefined) return this.#judge(id, stream, state.FRAMES_IN[this.#streams.stateOf(id)]![state.IN_RST_STREAM])
    // A client that has its response may reset the stream for good reason.
    if (stream.isSending) this.#allowances.spend(allowances.RESETS)
    this.sender.leaveReset(stream)
    return this.#tellReset(stream, code, null)
  }

  /** A frame that is not for this stream, or not now. */
  #judge(id: number, stream: Http2Stream<T> | undefined, verdict: state.Verdict): number {
    if (typeof verdict === 'number') {
      this.#allowances.spend(allowances.LATE_FRAMES)
      return NOTHING
    }
    if (stream !== undefined && !FAULTS[verdict].endsConnection) return this.#resetFor(stream, verdict)
    throw new Http2Error(verdict === 'STREAM_GONE' && this.#streams.wasSkipped(id) ? 'STREAM_ID' : verdict)
  }

  #resetFor(stream: Http2Stream<T>, fault: FaultName): number {
    this.#allowances.spend(allowances.FAULTY)
    const { code } = FAULTS[fault]
    this.sender.abandon(stream, code)
    return this.#tellReset(stream, code, fault)
  }

  #tellReset(stream: Http2Stream<T>, code: number, fault: FaultName | null): number {
    if (stream.isWaiting) {
      this.#waiting.splice(this.#waiting.indexOf(stream), 1) // its owner does not know it
      this.release(stream)
      return NOTHING
    }
    this.stream = stream
    this.code = code
    this.fault = fault
    return RESET
  }

  /** A frame that is an error of its stream, whatever the state. */
  #onStreamFault(fault: FaultName): number {
    const { stream: id } = this.frames
    const stream = this.#streams.get(id)
    if (stream !== undefined) return this.#resetFor(stream, fault)
    // A stream that was never opened cannot be reset (RFC 9113 §6.4).
    if (this.#streams.stateOf(id) === state.IDLE) throw new Http2Error(fault)
    this.#allowances.spend(allowances.LATE_FRAMES)
    return NOTHING
  }

  /** Both sides of the stream have ended it, or one of them has reset it. */
  readonly #forget = (stream: Http2Stream<T>): void => {
    this.openStreams--
    if (stream === this.#fresh) {
      this.#fresh = null
      if (stream.state === state.RESET) this.#streams.rememberReset(stream.id)
    } else this.#streams.delete(stream)
    if (stream.heldBytes === 0) return
    if (this.control.life < state.FAILED) this.bodies.credit(null, stream.heldFlowBytes)
    this.bodies.releaseHeld(stream)
  }

  /** The owner is done with the stream, which has ended or was reset, and its handler has settled. Until then it counts as in progress, even if closed. */
  release(stream: Http2Stream<T>): void {
    if (stream.isReleased) return
    stream.isReleased = true
    if (this.stream === stream) this.stream = undefined!
    this.unreleased--
    this.#heads.count(-stream.head.size)
  }

  #onWindowUpdate(): number {
    const { stream: id, value } = this.frames
    this.#allowances.spend(allowances.WINDOW_UPDATES)
    if (id === 0) {
      if (!this.sender.openWindow(null, value)) throw new Http2Error('WINDOW_OVERFLOW_CONNECTION')
      return NOTHING
    }
    const stream = this.#streams.get(id)
    if (stream !== undefined) return this.sender.openWindow(stream, value) ? NOTHING : this.#resetFor(stream, 'WINDOW_OVERFLOW')
    const verdict = state.FRAMES_IN[this.#streams.stateOf(id)]![state.IN_WINDOW_UPDATE]
    return verdict === state.IGNORED ? NOTHING : this.#judge(id, stream, verdict)
  }

  readonly #dropStreams = (): void => {
    if (this.#fresh !== null) this.#streams.add(this.#fresh)
    this.#fresh = this.#taking = null
    for (const stream of this.#waiting.splice(0)) this.release(stream)
    this.frames.drop()
    for (const stream of this.#streams.values()) this.sender.leaveReset(stream)
  }

  // For the owner's clock.

  /** Size of the memory held between two calls of `receive`: incomplete frames, and bodies that are paused. */
  get heldBytes(): number {
    return this.frames.heldBytes + this.bodies.heldBodyBytes
  }
}
