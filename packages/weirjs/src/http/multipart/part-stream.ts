// The content of one uploaded file as it arrives.

import { Readable } from 'node:stream'

import { BodyAlreadyReadError } from '../../base/errors.ts'
import type { BodySink } from '../body/body.ts'
import { PieceQueue } from '../body/piece-queue.ts'

const HIGH_WATER_MARK = 64 * 1024

/** Gets the promises of those that save files, such as `saveTo()`. */
export interface SavingWatcher {
  /** @returns what the program gets, which is never unhandled */
  watch<T>(owner: string, saving: Promise<T>): Promise<T>
}

/**
 * A Readable with the bytes of one part. It ends only when the part is complete; it emits an error when the form is aborted or a limit is
 * exceeded. You need not listen for that error: `bodyMultipartStream` reports it as well.
 */
export class PartStream extends Readable {
  readonly #onDemand: () => void
  readonly #watcher: SavingWatcher | null
  readonly #pieces = new PieceQueue(this)
  #wantsMore = false
  /** Receives the bytes directly, without the stream's buffer. This halves the cost of writing an upload to disk. */
  #sink: BodySink | null = null
  #isWhole = false
  #isDiverting = false
  /** The function that reserved it. */
  #reservedBy: string | null = null
  #isSkipped = false

  constructor(onDemand: () => void, watcher: SavingWatcher | null = null) {
    super({ highWaterMark: HIGH_WATER_MARK })
    this.#onDemand = onDemand
    this.#watcher = watcher
    this.on('error', () => {})
  }

  /** @returns false when the reader needs no more for now */
  give(buffer: Buffer, start: number, end: number): boolean {
    if (this.#sink !== null) return this.#sink.data(buffer, start, end, true)
    if (this.destroyed) return true // the part is skipped
    this.#wantsMore = false
    const hasRoom = this.#pieces.push(buffer, start, end, true)
    return hasRoom || this.#wantsMore
  }

  /** The part is complete. */
  finish(): void {
    this.#isWhole = true
    this.#sink?.end()
    if (this.destroyed) return
    this.#pieces.end()
    if (this.#sink !== null) this.resume() // so that it emits `end` and `close` for listeners
  }

  /** The part will never be complete. */
  abort(error: Error): void {
    if (this.#isWhole) return
    this.#sink?.fail(error)
    this.destroy(error)
  }

  /** A client that disconnects must not end a program that awaits the promise later, or never: that a file of a form fails is never unhandled. */
  watch<T>(owner: string, saving: Promise<T>): Promise<T> {
    if (this.#watcher !== null) return this.#watcher.watch(owner, saving)
    saving.catch(() => {})
    return saving
  }

  /**
   * `onFile` has returned: skips the file if nothing reads it. The stream is destroyed and not ended, so that a late reader does not
   * mistake the empty rest for a complete file.
   */
  skipUnlessRead(): void {
    if (this.#reservedBy !== null || this.#sink !== null || this.destroyed) return
    if (this.readableFlowing !== null || this.listenerCount('readable') > 0) return
    this.#isSkipped = true
    this.destroy()
  }

  /**
   * Reserves the stream for a reader that starts later: until then it is not skipped, and nothing else may listen to its data.
   * @param owner who reads it, such as `saveTo()`
   * @returns why it cannot be reserved, or null
   */
  reserve(owner: string): string | null {
    if (this.#reservedBy !== null) return 'the file is already being saved: use what the first call returns'
    if (this.#isSkipped) return 'onFile returned before the file was read, so it was skipped'
    const other = otherReader(this)
    if (other === null) this.#reservedBy = owner
    return other
  }

  /**
   * Passes all bytes to `sink`, starting with those in the stream's buffer. Called by the reader that reserved the stream.
   * @returns why it cannot be diverted, or null
   */
  divert(sink: BodySink): string | null {
    const other = otherReader(this)
    if (other !== null) return other
    // No bytes may be demanded until then: they would end up in this buffer, and an aborted form would have no sink to notify.
    this.#isDiverting = true
    for (let chunk: Buffer | null = this.read(); chunk !== null; chunk = this.read()) sink.data(chunk, 0, chunk.length, false)
    this.#isDiverting = false
    this.#sink = sink
    if (this.#isWhole) sink.end()
    return null
  }

  /** @throws BodyAlreadyReadError for a data listener on a reserved stream: each byte would reach only one of the two readers */
  override on(event: string | symbol, listener: (...args: never[]) => void): this {
    if (this.#reservedBy !== null && (event === 'data' || event === 'readable')) {
      throw new BodyAlreadyReadError(
        `content.on('${event}')`,
        `${this.#reservedBy} reads the bytes of this file; its option onProgress reports how many`,
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

/** Why `stream` can no longer be read as a whole: something reads it, or has read some of it. Null when it can. */
export function otherReader(stream: Readable): string | null {
  if (stream.readableDidRead || stream.readableEnded) return 'some of it has already been read: save it first'
  if (stream.readableFlowing !== true && stream.listenerCount('data') === 0 && stream.listenerCount('readable') === 0) return null
  return 'something else reads it, such as a "data" listener or pipe(); to count bytes, use the option onProgress'
}
