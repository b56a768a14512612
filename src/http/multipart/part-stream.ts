// The content of one uploaded file as it arrives.

import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'

import { BodyAlreadyReadError } from '../../base/errors.ts'
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
   * Keeps it for somebody who is about to read it, though not immediately: until then it is not skipped, and nobody else may listen to its data.
   * @returns what stands in the way, or null
   */
  reserve(): string | null {
    if (this.#isReserved) return 'the file is being saved already'
    if (this.#isSkipped) return 'onFile had returned before anybody read the file, so it was skipped'
    const other = otherReader(this)
    this.#isReserved = other === null
    return other
  }

  /**
   * Who has reserved it has all bytes handed to `sink` instead, those that wait here first.
   * @returns what stands in the way, or null
   */
  divert(sink: BodySink): string | null {
    const other = otherReader(this)
    if (other !== null) return other
    // Nothing may be asked for meanwhile: what comes would go here, and a form that breaks off would find no sink to tell.
    this.#isDiverting = true
    for (let chunk: Buffer | null = this.read(); chunk !== null; chunk = this.read()) sink.data(chunk, 0, chunk.length, false)
    this.#isDiverting = false
    this.#sink = sink
    if (this.#isWhole) sink.end()
    return null
  }

  /** @throws BodyAlreadyReadError for who would listen to data that goes elsewhere: it would be missing in one of two places */
  override on(event: string | symbol, listener: (...args: never[]) => void): this {
    if (this.#isReserved && (event === 'data' || event === 'readable')) {
      throw new BodyAlreadyReadError(
        `content.on('${event}')`,
        'saveTo() takes the bytes of this file; its option onProgress reports how many',
      )
    }
    return super.on(event, listener as (...args: unknown[]) => void)
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

/** Why `stream` cannot be read whole any more: somebody reads it, or has read of it. Null when nobody has. */
export function otherReader(stream: Readable): string | null {
  if (stream.readableDidRead || stream.readableEnded) return 'some of it was read already'
  if (stream.readableFlowing !== true && stream.listenerCount('data') === 0 && stream.listenerCount('readable') === 0) return null
  return 'something else reads it, such as a "data" listener or pipe(); to count bytes, use the option onProgress'
}
