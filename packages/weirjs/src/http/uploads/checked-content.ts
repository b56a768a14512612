// The content of a file on its way to wherever the program keeps files: reserved for one reader, checked against a policy while it arrives, and
// given up as a whole when anything fails.

import type { Buffer } from 'node:buffer'
import type { Hash } from 'node:crypto'
import { Readable } from 'node:stream'

import { BodyAlreadyReadError, isInstance } from '../../base/errors.ts'
import type { BodySink } from '../body/body.ts'
import { PieceQueue } from '../body/piece-queue.ts'
import { otherReader, PartStream } from '../multipart/part-stream.ts'
import {
  type ByteInspector,
  type CheckedPolicy,
  type ContentPolicy,
  type PolicyRules,
  type PolicySettings,
  piecesOf,
  refuseIf,
  saveChecked,
  type UploadInfo,
} from './content-policy.ts'

/** Largest piece of a file in memory that is passed on at once. */
const PIECE_BYTES = 256 * 1024
const HIGH_WATER_MARK = 256 * 1024

/**
 * Saves the content of a file: an upload that arrives, or bytes. `write` reads the checked bytes and sends them where they are kept. If it throws,
 * or the client, the form or the policy ends the content early, the promise rejects, and the content is destroyed.
 *
 * Call it before the first `await` of your function, so that the form does not skip the file. If the content is of a form, the promise may be
 * awaited late: a client that disconnects until then does not end the process.
 *
 * @param rules of your options, with the policy's among them: `rules<ContentPolicy>('saveToS3()')(CONTENT_RULES)`
 * @param info what the client sent about the file, of which only the name is used
 * @param write gets the bytes, and the settings that `rules` has made of the policy. It reads all bytes. What it returns is what the promise resolves with
 * @throws (rejects) FileRefusedError (415), PayloadTooLargeError (413), BodyAlreadyReadError for a stream that has another reader, the error of the
 *   stream, what `write` throws, and WEIR_OPTION_INVALID for a wrong policy, and for content that is neither bytes nor a Readable
 */
export function saveContent<T, O extends ContentPolicy, S extends PolicySettings>(
  rules: PolicyRules<O, S>,
  info: UploadInfo,
  content: Readable | Uint8Array,
  policy: O,
  write: (content: CheckedContent, settings: S) => Promise<T>,
): Promise<T> {
  return saveChecked(rules, info, content, policy, async (fileName, checked, settings) => {
    const body = new CheckedContent(rules.owner, fileName, content, checked)
    try {
      return await write(body, settings)
    } catch (error) {
      throw body.failure ?? error
    } finally {
      body.destroy()
    }
  })
}

/**
 * The bytes of a file, which a policy has checked before they can be read. It ends only when the file is complete. Nothing is read of the file
 * before this is read, and no faster than this is read.
 */
export class CheckedContent extends Readable {
  /** The client's name of the file, made safe: `upload.bin` if it has none. It has one of the policy's extensions, if there are any. */
  readonly fileName: string
  readonly #pieces = new PieceQueue(this)
  readonly #owner: string
  readonly #content: Readable | Uint8Array
  readonly #inspector: ByteInspector
  readonly #hash: Hash | null
  #received = 0
  #isBegun = false
  #isStopped = false
  #failure: Error | null = null
  /** More bytes can be taken. */
  #onRoom = (): void => {}

  /** @internal */
  constructor(owner: string, fileName: string, content: Readable | Uint8Array, { inspector, hash }: CheckedPolicy) {
    super({ highWaterMark: HIGH_WATER_MARK })
    this.fileName = fileName
    this.#owner = owner
    this.#content = content
    this.#inspector = inspector
    this.#hash = hash
    this.on('error', () => {}) // who reads it reports it
  }

  /** How many bytes have arrived so far. Not called `size` or `length`: clients of storages take those for the final size. */
  get received(): number {
    return this.#received
  }

  /** The type that the first bytes show, once they have arrived; null unless the policy has `types`. */
  get detectedType(): string | null {
    return this.#inspector.detectedType
  }

  /**
   * The error with which the client, the form or the policy ended it early. Null for a file that is complete or still arrives, and once `stop` was
   * called.
   */
  get failure(): Error | null {
    return this.#failure
  }

  /** The digest in hexadecimal, to be called once all has been read; null unless the policy has `hash`. */
  digest(): string | null {
    return this.#hash?.digest('hex') ?? null
  }

  /** Reads nothing more, because the storage has failed. The error of the storage is then the reason. */
  stop(): void {
    if (this.destroyed) return
    this.#isStopped = true
    this.destroy(new Error('the storage has failed'))
  }

  override _read(): void {
    if (this.#isBegun) this.#onRoom()
    else this.#begin()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#isStopped) this.#failure = error
    callback(error)
    this.#onRoom()
  }

  #begin(): void {
    this.#isBegun = true
    const content = this.#content
    if (!(content instanceof PartStream)) {
      this.#pump(content).catch((error: unknown) =>
        this.#fail(isInstance(error, Error) ? error : new Error('the file has failed', { cause: error })),
      )
      return
    }
    // In the meantime, the upload may have been aborted, or something else may have started to read it.
    if (content.destroyed && !content.readableDidRead) {
      this.#fail(content.errored ?? new Error('the upload was aborted'))
      return
    }
    const sink: BodySink = {
      data: (buffer, start, end, isBorrowed) => this.#take(buffer, start, end, isBorrowed),
      end: () => this.#end(),
      fail: (error) => this.#fail(error),
    }
    this.#onRoom = () => content.demand()
    const reason = content.divert(sink)
    if (reason !== null) this.#fail(new BodyAlreadyReadError(this.#owner, reason))
    content.demand()
  }

  async #pump(content: Readable | Uint8Array): Promise<void> {
    if (!(content instanceof Uint8Array)) refuseIf(this.#owner, otherReader(content))
    for await (const piece of piecesOf(content, PIECE_BYTES)) {
      if (!this.#take(piece, 0, piece.length, false) && !this.destroyed) await new Promise<void>((resolve) => (this.#onRoom = resolve))
      if (this.destroyed) return
    }
    this.#end()
  }

  /** @returns false if there is no room for more */
  #take(buffer: Buffer, start: number, end: number, isBorrowed: boolean): boolean {
    if (this.destroyed) return true
    const bytes = buffer.subarray(start, end)
    this.#received += bytes.length
    try {
      this.#inspector.look(bytes)
    } catch (error) {
      this.#fail(error as Error)
      return true
    }
    this.#hash?.update(bytes)
    return this.#pieces.push(buffer, start, end, isBorrowed)
  }

  #end(): void {
    if (this.destroyed) return
    try {
      this.#inspector.end()
    } catch (error) {
      this.#fail(error as Error)
      return
    }
    this.#pieces.end()
  }

  #fail(error: Error): void {
    this.destroy(error)
  }
}
