// Handles what concerns an HTTP/2 connection as a whole: settings, PING, priorities, and how it ends (RFC 9113 §6.5, §6.7, §6.8, RFC 9218 §7.1).

import { Buffer } from 'node:buffer'
import type { Limits } from '../../base/limits.ts'
import type { Allowances } from './allowances.ts'
import * as allowances from './allowances.ts'
import { CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES } from './body-receiver.ts'
import { Http2Error, NO_ERROR } from './errors.ts'
import type { FrameSender } from './frame-sender.ts'
import type { FrameReader } from './frames/frame-reader.ts'
import { MOST_31_BITS, PING_BYTES, SETTING_BYTES } from './frames/frame-types.ts'
import * as settings from './frames/settings.ts'
import { PeerSettings } from './frames/settings.ts'
import { type Priority, readPriority } from './priority.ts'
import * as state from './states.ts'
import { checkLifeMove } from './states.ts'
import type { StreamTable } from './stream-table.ts'

/** Settings in one frame. Only eight have a meaning. */
const MOST_SETTINGS = 32
/** Priorities of streams that have not been opened. */
const MOST_EARLY_PRIORITIES = 100

// The payloads of our PINGs. The response to a PING has the same payload.
const END_PING = Buffer.from('weir end')
const ASK_PING = Buffer.from('weir ask')

export class ConnectionControl<T> {
  /** What the client has set. */
  readonly peer: PeerSettings = new PeerSettings()
  readonly #sender: FrameSender<T>
  readonly #streams: StreamTable<T>
  readonly #allowances: Allowances
  readonly #dropStreams: () => void
  /** From SERVING to GONE: see states.ts. A field and not a getter, because it is read many times for each request. */
  readonly life: number = state.SERVING
  /** Whether the client has yet to acknowledge our SETTINGS (RFC 9113 §6.5.3). */
  awaitsSettingsAck = true
  /** Priorities of streams that the client is about to open; null if there are none, which is usual. */
  earlyPriorities: Map<number, Priority> | null = null

  /** @param dropStreams called when nothing more is received or sent on any stream */
  constructor(sender: FrameSender<T>, streams: StreamTable<T>, allowances: Allowances, dropStreams: () => void) {
    this.#sender = sender
    this.#streams = streams
    this.#allowances = allowances
    this.#dropStreams = dropStreams
  }

  /** Our SETTINGS, and the window of the connection. */
  announce({ maxConcurrentStreams }: Limits, maxListBytes: number, offersConnect: boolean): void {
    const own = [settings.MAX_CONCURRENT_STREAMS, maxConcurrentStreams, settings.INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES]
    own.push(settings.MAX_HEADER_LIST_SIZE, maxListBytes, settings.NO_RFC7540_PRIORITIES, 1)
    if (offersConnect) own.push(settings.ENABLE_CONNECT_PROTOCOL, 1)
    this.#sender.writeSettings(own)
    this.#sender.writeWindowUpdate(0, CONNECTION_WINDOW_BYTES - settings.DEFAULT_WINDOW_BYTES)
  }

  // The end.

  /**
   * Begins to end the connection without losing requests. A first GOAWAY tells the client to open no more streams; once the client has read it,
   * a second one names the last stream. Streams above that one are ignored.
   */
  beginEnd(): void {
    if (this.life !== state.SERVING) return
    this.#moveLife(state.ENDING)
    this.#sender.writeGoaway(MOST_31_BITS, NO_ERROR)
    this.#sender.writePing(END_PING, 0, false)
  }

  /** Sends GOAWAY with the last stream. Streams above it are ignored. The connection is complete when `openStreams` is 0. */
  end(): void {
    if (this.life >= state.LAST) return
    this.#moveLife(state.LAST)
    this.#streams.close()
    this.#sender.writeGoaway(this.#streams.highest, NO_ERROR)
  }

  /** Ends the connection with GOAWAY and `code`. All streams are gone, without events. */
  fail(code: number): void {
    if (this.life >= state.FAILED) return
    this.#moveLife(state.FAILED)
    this.#sender.writeGoaway(this.#streams.highest, code)
    this.#dropStreams()
  }

  /** Sends PING. The event PONG follows if the client is still there. */
  ping(): void {
    if (this.life < state.FAILED) this.#sender.writePing(ASK_PING, 0, false)
  }

  /** Our side ends. Every stream is complete, or has been failed. */
  linger(): void {
    if (this.life !== state.LAST) this.fail(NO_ERROR)
    this.#moveLife(state.LINGERING)
  }

  /** The connection is reset, whatever is owed. */
  abort(code: number): void {
    this.#drop(code)
    if (this.life < state.ABORTED) this.#moveLife(state.ABORTED)
  }

  /** The transport has closed. */
  leave(): void {
    this.#drop(NO_ERROR)
    this.#moveLife(state.GONE)
  }

  #drop(code: number): void {
    if (this.life < state.LINGERING) this.fail(code)
    else this.#dropStreams()
  }

  #moveLife(to: number): void {
    checkLifeMove(this.life, to)
    ;(this as { life: number }).life = to
  }

  /** Time has passed, which restores allowances. */
  tick(elapsedMs: number): void {
    this.#allowances.earnTime(elapsedMs)
  }

  // Frames.

  /** @throws Http2Error */
  onSettings({ isAck, buffer, start, end }: FrameReader): void {
    if (isAck) {
      if (!this.awaitsSettingsAck) this.#allowances.spend(allowances.EMPTY_FRAMES)
      this.awaitsSettingsAck = false
      return
    }
    this.#allowances.spend(allowances.SETTINGS_FRAMES)
    if (end - start > MOST_SETTINGS * SETTING_BYTES) throw new Http2Error('FLOOD_SETTINGS')
    const { peer } = this
    const before = peer.initialWindowBytes
    peer.read(buffer, start, end)
    this.#sender.setTableLimit(peer.headerTableBytes)
    this.#sender.changeWindows(this.#streams.values(), peer.initialWindowBytes - before)
    this.#sender.writeSettingsAck()
  }

  /** @returns whether it is the response to `ping` @throws Http2Error */
  onPing({ isAck, buffer, start }: FrameReader): boolean {
    if (!isAck) {
      this.#allowances.spend(allowances.PINGS)
      this.#sender.writePing(buffer, start, true)
      return false
    }
    if (ASK_PING.compare(buffer, start, start + PING_BYTES) === 0) return true
    if (this.life === state.ENDING && END_PING.compare(buffer, start, start + PING_BYTES) === 0) this.end()
    else this.#allowances.spend(allowances.EMPTY_FRAMES)
    return false
  }

  /** @throws Http2Error */
  onPriorityUpdate({ stream: id, buffer, start, end }: FrameReader): void {
    this.#allowances.spend(allowances.PRIORITIES)
    const stream = this.#streams.get(id)
    const isIdle = stream === undefined && this.#streams.stateOf(id) === state.IDLE
    if (isIdle && (id & 1) === 0) throw new Http2Error('PRIORITY_UPDATE_PUSH')
    const priority = stream !== undefined || isIdle ? readPriority(buffer.toString('latin1', start, end)) : null
    if (priority === null) return
    if (stream !== undefined) this.#sender.prioritize(stream, priority)
    else this.#keepPriority(id, priority)
  }

  /** Remembers the priority of a stream that the client is about to open (RFC 9218 §7). The last value counts. */
  #keepPriority(id: number, priority: Priority): void {
    this.earlyPriorities ??= new Map()
    if (this.earlyPriorities.size < MOST_EARLY_PRIORITIES || this.earlyPriorities.has(id)) this.earlyPriorities.set(id, priority)
  }

  /** The priority that a stream was given before it was opened; null if it was given none. */
  takePriority(id: number): Priority | null {
    const early = this.earlyPriorities
    if (early === null) return null
    const priority = early.get(id) ?? null
    early.delete(id)
    // The client has skipped the streams below it, which are now closed.
    if (early.size > 0) for (const other of early.keys()) if (other < id) early.delete(other)
    if (early.size === 0) this.earlyPriorities = null
    return priority
  }
}
