// Reads the parts of a form from a body: feeds the parser, stops while the receiver cannot keep up, and ends exactly once.

import { Buffer } from 'node:buffer'
import { isInstance, WeirError } from '../../base/errors.ts'
import { boundaryOf } from '../../formats/boundary.ts'
import { MultipartParser, type PartHandler } from '../../formats/multipart.ts'
import type { MultipartLimits } from '../../formats/multipart-limits.ts'
import type { PartHead } from '../../formats/part-head.ts'

import type { BodySink, RequestBody } from '../body/body.ts'

/** Receives the parts. After a method has returned false, nothing more is delivered until the reading's `resume` is called. */
export interface PartReceiver {
  begin(head: PartHead): boolean
  /** The memory is reused as soon as this returns. */
  data(buffer: Buffer, start: number, end: number): boolean
  end(): boolean
  /** The form will never be complete. Resolves when everything that was started has been released. */
  abort(error: Error): Promise<void>
}

/**
 * Reads the form in a body.
 * @param makeReceiver creates the receiver; it calls `resume` of the reading when it can take more, and `fail` when it has failed
 * @returns false when the body is not valid multipart/form-data; rejects when a limit is exceeded, the receiver has failed, or the client
 *   has disconnected
 * @throws RequestExpiredError, BodyAlreadyReadError
 */
export function readMultipart(
  contentType: string | null,
  body: RequestBody,
  member: string,
  limits: MultipartLimits,
  makeReceiver: (reading: MultipartReading) => PartReceiver,
): Promise<boolean> {
  body.checkAlive(member)
  const boundary = contentType === null ? null : boundaryOf(contentType)
  if (boundary === null) return Promise.resolve(false)
  const reading = new MultipartReading(body, boundary, limits, makeReceiver)
  body.take(member, reading)
  return reading.done
}

const NOTHING = Buffer.alloc(0)

export class MultipartReading implements BodySink, PartHandler {
  readonly #body: RequestBody
  readonly #parser: MultipartParser
  readonly #receiver: PartReceiver
  /** Bytes that have not been parsed yet. */
  #chunk: Buffer = NOTHING
  #at = 0
  #end = 0
  #isWaiting = false
  #isPumping = false
  #hasEnded = false
  /** The form is complete or has failed: whatever still arrives is ignored. */
  #isOver = false
  /** The receiver is running: an error that is thrown now is its own, even if it looks like one of the parser. */
  #isReceiving = false
  #resolve!: (isValid: boolean) => void
  #reject!: (error: unknown) => void
  /** True when the form was valid, false when it was not. */
  readonly done: Promise<boolean>

  constructor(body: RequestBody, boundary: string, limits: MultipartLimits, makeReceiver: (reading: MultipartReading) => PartReceiver) {
    this.#body = body
    this.#parser = new MultipartParser(boundary, this, limits)
    this.#receiver = makeReceiver(this)
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** The receiver can take more. */
  resume(): void {
    this.#isWaiting = false
    if (this.#isPumping || this.#isOver) return
    this.#pump()
    if (!this.#isWaiting && !this.#hasEnded && !this.#isOver) this.#body.demand()
  }

  // Called by the body.

  data(buffer: Buffer, start: number, end: number): boolean {
    if (this.#isOver) return false
    this.#chunk = buffer
    this.#at = start
    this.#end = end
    this.#pump()
    if (this.#at < this.#end) {
      // The receiver has stopped in the middle of the chunk. The rest must survive the reuse of the engine's buffer.
      this.#chunk = Buffer.from(buffer.subarray(this.#at, this.#end))
      this.#end -= this.#at
      this.#at = 0
    }
    return !this.#isWaiting && !this.#isOver
  }

  end(): void {
    this.#hasEnded = true
    if (!this.#isPumping) this.#pump()
  }

  /** The body was aborted, or the receiver has failed. The first error wins. */
  fail(error: unknown): void {
    this.#break(error, () => this.#reject(error))
  }

  #break(error: unknown, settle: () => void): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#chunk = NOTHING
    this.#at = this.#end = 0
    const reason = isInstance(error, Error) ? error : new Error('a callback failed', { cause: error })
    this.#receiver.abort(reason).then(settle, this.#reject)
  }

  #pump(): void {
    this.#isPumping = true
    try {
      while (!this.#isWaiting && !this.#isOver && this.#at < this.#end) this.#at += this.#parser.push(this.#chunk, this.#at, this.#end)
      if (this.#at === this.#end) this.#chunk = NOTHING
      if (this.#hasEnded && !this.#isWaiting && !this.#isOver && this.#at === this.#end) this.#finish()
    } catch (error) {
      const isInvalid = !this.#isReceiving && isInstance(error, WeirError) && error.code.startsWith('WEIR_MULTIPART_')
      this.#isReceiving = false
      if (isInvalid) this.#break(error, () => this.#resolve(false))
      else this.fail(error)
    }
    this.#isPumping = false
  }

  #finish(): void {
    this.#parser.finish()
    this.#isOver = true
    this.#resolve(true)
  }

  // Called by the parser.

  partBegin(head: PartHead): boolean {
    this.#isReceiving = true
    return this.#goOn(this.#receiver.begin(head))
  }

  partData(bytes: Uint8Array, start: number, end: number): boolean {
    this.#isReceiving = true
    return this.#goOn(this.#receiver.data(bytes as Buffer, start, end))
  }

  partEnd(): boolean {
    this.#isReceiving = true
    return this.#goOn(this.#receiver.end())
  }

  #goOn(isReady: boolean): boolean {
    this.#isReceiving = false
    if (!isReady) this.#isWaiting = true
    return !this.#isWaiting && !this.#isOver
  }
}
