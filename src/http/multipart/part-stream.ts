// The content of one uploaded file as it arrives.

import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'

import type { BodySink } from '../body/body.ts'

const HIGH_WATER_MARK = 64 * 1024

/**
 * A Readable over one part. It ends only when the part is whole; when the form breaks off or a limit is crossed it errors.
 * Nobody has to listen for that error: `bodyMultipartStream` reports it as well.
 */
export class PartStream extends Readable {
  readonly #onDemand: () => void
  #wantsMore = false
  /** Takes the bytes past the stream's own buffer: half the cost of an upload that is written to disk. */
  #sink: BodySink | null = null
  #isWhole = false
  #isDiverting = false
  #isReserved = false
  #isSkipped = false

  constructor(onDemand: () => void) {
    super({ highWaterMark: HIGH_WATER_MARK })
    this.#onDemand = onDemand
    this.on('error', () => {})
  }

  /** @returns false when the reader has enough for now */
  give(buffer: Buffer, start: number, end: number): boolean {
    if (this.#sink !== null) return this.#sink.data(buffer, start, end, true)
    if (this.destroyed) return true // nobody wants it: the part is skipped
    this.#wantsMore = false
    const hasRoom = this.push(Buffer.from(buffer.subarray(start, end)))
    return hasRoom || this.#wantsMore
  }

  /** The part is whole. */
  finish(): void {
    this.#isWhole = true
    this.#sink?.end()
    if (this.destroyed) return
    this.push(null)
    if (this.#sink !== null) this.resume() // so that it ends and closes for those who only listen
  }

  /** The part will never be whole. */
  abort(error: Error): void {
    if (this.#isWhole) return
    this.#sink?.fail(error)
    this.destroy(error)
  }

  /** Whoever was given the stream has returned: what nobody reads is skipped. Who comes later finds no end, which would make what is left a whole file. */
  skipUnlessRead(): void {
    if (this.#isReserved || this.#sink !== null || this.destroyed) return
    if (this.readableFlowing !== null || this.listenerCount('readable') > 0) return
    this.#isSkipped = true
    this.destroy()
  }

  /**
   * Somebody is about to read it, though not at once: it is not skipped meanwhile.
   * @returns false when it has been read already, is being read, or was skipped
   */
  reserve(): boolean {
    if (this.#isReserved || this.#isSkipped || this.#sink !== null || this.readableFlowing !== null || this.readableDidRead) return false
    this.#isReserved = true
    return true
  }

  /**
   * Hands the bytes to `sink` instead, what is waiting here first.
   * @returns false when somebody reads the stream already
   */
  divert(sink: BodySink): boolean {
    if (this.#sink !== null || this.destroyed || this.readableFlowing !== null || this.readableDidRead) return false
    // Nothing may be asked for meanwhile: what comes would go here, and a form that breaks off would find no sink to tell.
    this.#isDiverting = true
    for (let chunk: Buffer | null = this.read(); chunk !== null; chunk = this.read()) sink.data(chunk, 0, chunk.length, false)
    this.#isDiverting = false
    this.#sink = sink
    if (this.#isWhole) sink.end()
    return true
  }

  /** The sink can take more. */
  demand(): void {
    this.#onDemand()
  }

  override _read(): void {
    if (this.#isDiverting) return
    this.#wantsMore = true
    this.#onDemand()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    callback(error)
    this.#onDemand()
  }
}
