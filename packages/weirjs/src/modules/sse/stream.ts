// The stream of events for one client: the events of a source, heartbeats while the source is silent, and a farewell when the server stops.
//
// The response pulls it no faster than the client reads, and the stream pulls its source no faster, so a client that does not read costs
// nothing here. Between two pulls nothing is created, not even a heartbeat.

import { Buffer } from 'node:buffer'

import { onStop } from '../../app/shutdown-listeners.ts'
import { ContentReader } from '../kit/content-reader.ts'
import { HeartbeatTimer } from '../kit/heartbeat-timer.ts'
import { ClientQueue } from './client-queue.ts'
import { EncodedEvent, encodeEvent, madeEvents, type SseEvent } from './event.ts'
import { countStream } from './open-streams.ts'
import { ResumableClient } from './resumable-client.ts'
import { ResumingClient } from './resuming-client.ts'

/** What a source yields. */
export type SourceItem = SseEvent | string | EncodedEvent
/** A source that is opened when its first event is needed. */
export type OpenSource = (signal: AbortSignal) => AsyncIterable<SourceItem>
/** The same without a signal, whose end would cost each of many streams more than all the rest of its own. */
export interface LateSource {
  open(): AsyncIterable<SourceItem>
}

/** How a stream behaves. */
interface StreamSettings {
  /** Sent first, so that the client knows that it is connected. */
  readonly greeting: string
  /** Sent last when the server stops. */
  readonly farewell: string
  /** Null: no heartbeats. */
  readonly heartbeatMs: number | null
}

/** Events that wait already go out together, up to this size: a piece costs much more than a small event. */
const JOINED_BYTES = 8 * 1024

type Piece = string | Uint8Array
const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }
/** One for all: thousands of streams may end at once, and without it, each would make an error with a stack. */
const ENDED = AbortSignal.abort().reason
const HEARTBEAT: IteratorResult<Piece> = { value: ':\n\n' }

/** The pending request for the next piece. */
interface Waiter {
  resolve(result: IteratorResult<Piece>): void
  reject(error: unknown): void
}

export class SseStream implements AsyncIterableIterator<Piece> {
  readonly #source: AsyncIterable<SourceItem> | OpenSource | LateSource
  readonly #stopping: AbortSignal
  /** Stops waiting for the server to stop; null before the stream begins. */
  #leave: (() => void) | null = null
  readonly #settings: StreamSettings
  /** Null before the stream begins, after it has ended, and without heartbeats. */
  #heartbeat: HeartbeatTimer | null = null
  /** Aborts when nothing more is needed from the source; null unless it gets the signal. */
  #ending: AbortController | null = null
  #items: AsyncIterator<SourceItem> | null = null
  #isAsked = false
  /** The item that the source delivered while the client was not waiting, because it had just received a heartbeat. */
  #ready: Promise<IteratorResult<SourceItem>> | null = null
  #waiter: Waiter | null = null
  #lastPieceAt = 0
  #hasEnded = false

  constructor(source: AsyncIterable<SourceItem> | OpenSource | LateSource, stopping: AbortSignal, settings: StreamSettings) {
    this.#source = source
    this.#stopping = stopping
    this.#settings = settings
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Piece>> {
    if (this.#hasEnded) return DONE
    if (this.#stopping.aborted && !this.#endsByItself()) return this.#sayFarewell()
    if (this.#items === null) return this.#begin()
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject }
      if (this.#ready === null) this.#ask(this.#items!)
      else this.#hear(this.#ready)
    })
  }

  /** The client has left or signed out, or the response was never sent. */
  async return(): Promise<IteratorResult<Piece>> {
    this.#end()
    this.#take()?.resolve(DONE)
    return DONE
  }

  /** The server is stopping. The stream itself tells its source. A waiting client gets the farewell now, any other with its next pull. */
  stop(): void {
    if (this.#endsByItself()) return
    this.#ending?.abort(ENDED)
    this.#take()?.resolve(this.#sayFarewell())
  }

  onHeartbeat(now: number): void {
    if (this.#waiter !== null && now - this.#lastPieceAt >= this.#settings.heartbeatMs!) this.#take()!.resolve(HEARTBEAT)
  }

  /** The source listens from here on, and keeps what it has to send until it is pulled. */
  async #begin(): Promise<IteratorResult<Piece>> {
    this.#leave = onStop(this.#stopping, () => this.stop())
    countStream(this.#stopping, 1)
    const { heartbeatMs } = this.#settings
    if (heartbeatMs !== null) this.#heartbeat = HeartbeatTimer.join(heartbeatMs, this)
    this.#items = this.#open()[Symbol.asyncIterator]()
    this.#ask(this.#items)
    if (this.#items instanceof ClientQueue && this.#items.opened !== null) {
      await this.#items.opened
      if (this.#hasEnded) return DONE // the client has left
    }
    this.#lastPieceAt = this.#heartbeat?.now ?? 0
    const start = this.#items instanceof ClientQueue ? this.#items.start : null
    // Clients keep an id without data, and dispatch nothing.
    return { value: start === null ? this.#settings.greeting : this.#settings.greeting + encodeEvent({ id: start }) }
  }

  #open(): AsyncIterable<SourceItem> {
    const source = this.#source
    if (typeof source !== 'function') return Symbol.asyncIterator in source ? source : source.open()
    this.#ending = new AbortController()
    return madeEvents('sse', source(this.#ending.signal))
  }

  #ask(items: AsyncIterator<SourceItem>): void {
    if (this.#isAsked) return
    this.#isAsked = true
    const item = Promise.resolve(items.next())
    const onItem = (): void => {
      this.#isAsked = false
      if (this.#waiter === null) this.#ready = item
      else this.#hear(item)
    }
    item.then(onItem, onItem)
  }

  /** Passes on what the source has delivered. */
  #hear(item: Promise<IteratorResult<SourceItem>>): void {
    this.#ready = null
    item
      .then((result) => {
        if (result.done === true) this.#end()
        // Encode before taking the waiter: encoding throws for what cannot be sent, and the waiter has to get that error.
        const given = result.done === true ? DONE : { value: this.#pieceOf(result.value) }
        this.#take()?.resolve(given)
      })
      .catch((error: unknown) => this.#take()?.reject(error))
  }

  /** Takes the waiter, which gets a piece now. */
  #take(): Waiter | null {
    const waiter = this.#waiter
    this.#waiter = null
    if (this.#heartbeat !== null) this.#lastPieceAt = this.#heartbeat.now
    return waiter
  }

  /** Whether the source itself tells the client why the stream ends now. */
  #endsByItself(): boolean {
    return this.#items instanceof ResumableClient && this.#items.endsWith(this.#stopping)
  }

  #pieceOf(item: SourceItem): Piece {
    if (!(item instanceof EncodedEvent)) return encodeEvent(item)
    const items = this.#items
    const canTake = items instanceof ClientQueue || items instanceof ResumingClient || items instanceof ResumableClient
    if (!canTake) return item.bytes
    const pieces = [item.bytes]
    let left = JOINED_BYTES - item.bytes.length
    for (let next = items.take(left); next !== null; next = items.take(left)) {
      pieces.push(next.bytes)
      left -= next.bytes.length
    }
    return pieces.length === 1 ? item.bytes : Buffer.concat(pieces)
  }

  #sayFarewell(): IteratorResult<Piece> {
    this.#end()
    return { value: this.#settings.farewell }
  }

  #end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#heartbeat?.delete(this)
    this.#heartbeat = null
    if (this.#leave !== null) {
      this.#leave()
      countStream(this.#stopping, -1)
    }
    this.#ending?.abort(ENDED)
    if (this.#items !== null) void close(this.#items).catch(() => {})
    else if (typeof this.#source !== 'function' && Symbol.asyncIterator in this.#source)
      ContentReader.discard(this.#source as AsyncIterable<never>)
  }
}

/** Errors of a source that is no longer needed do not matter. */
async function close(items: AsyncIterator<SourceItem>): Promise<void> {
  await items.return?.()
}
