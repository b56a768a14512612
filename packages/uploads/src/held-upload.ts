// An upload whose lock a request holds, with the operations on it.

import { Buffer } from 'node:buffer'
import { type ContentPolicy, HttpError, type HttpSession, PayloadTooLargeError, WeirError } from 'weirjs'
import { CONTENT_RULES, isInstance, rules, saveContent } from 'weirjs/kit'
import { AppendSource } from './append-source.ts'
import type { Checksum } from './checksum.ts'
import { Upload } from './completed-upload.ts'
import { ofProgram, stored } from './storage-errors.ts'
import type { UploadLock } from './upload-locks.ts'
import type { UploadRecord } from './upload-record.ts'
import type { OnComplete } from './upload-settings.ts'
import type { StoredUpload, UploadStorage } from './upload-storage.ts'

/** @internal */
export const TYPE_RULES = rules<ContentPolicy>('uploads')(CONTENT_RULES)
/** The most bytes that any format is recognized by. */
const MOST_TYPE_BYTES = 64

/** What all uploads of a module have in common. */
export interface UploadHome {
  readonly storage: UploadStorage
  readonly maxSize: number
  /** Null: any. */
  readonly types: readonly string[] | null
  readonly onComplete: OnComplete
  /** @throws PayloadTooLargeError */
  checkLength(length: number): void
  /** It is complete or deleted, and no longer counts as open. */
  settle(id: string): void
  /** Called if `onComplete` has succeeded without asking for the bytes, which will then be deleted. */
  readonly onUntouched: () => void
}

/** How an upload was completed. */
interface Completion {
  /** The result of `onComplete`. Undefined if it has not run in this request. */
  readonly result: unknown
}

export class HeldUpload {
  readonly #home: UploadHome
  readonly #lock: UploadLock
  #record: UploadRecord
  #offset: number
  #source: AppendSource | null = null
  #isWanted = false

  constructor(home: UploadHome, { record, offset }: StoredUpload, lock: UploadLock) {
    this.#home = home
    this.#lock = lock
    this.#record = record
    this.#offset = offset
  }

  get record(): UploadRecord {
    return this.#record
  }

  /** How many bytes are durable. */
  get offset(): number {
    return this.#offset
  }

  /** Whether all bytes of a known length are there. */
  get isWhole(): boolean {
    return this.#offset === this.#record.length
  }

  /** Another request wants to continue. Only the receiving of bytes is interrupted, and only if some have not arrived. */
  interrupt(): void {
    this.#isWanted = true
    this.#source?.stopWhenQuiet(new WeirError('WEIR_UPLOAD_SUPERSEDED'))
  }

  /**
   * Checks what a request is going to append, by its head, before its body is asked for.
   * @param length Content-Length; null if it is not known
   * @throws WEIR_UPLOAD_OFFSET, WEIR_UPLOAD_LENGTH, PayloadTooLargeError
   */
  checkAppend(offset: number, length: number | null): void {
    if (offset !== this.#offset) throw new WeirError('WEIR_UPLOAD_OFFSET', `it is ${this.#offset}, not ${offset}`)
    if (this.#record.stage !== 'open' && length !== 0) throw new WeirError('WEIR_UPLOAD_LENGTH', 'all bytes are there')
    if (length !== null && length > this.#room) throw this.#overrun(this.#offset + length)
  }

  /** The client states the length of the whole. @throws WEIR_UPLOAD_LENGTH, PayloadTooLargeError */
  async stateLength(length: number): Promise<void> {
    const known = this.#record.length
    if (known === length) return
    if (known !== null) throw new WeirError('WEIR_UPLOAD_LENGTH', `it is ${known}, not ${length}`)
    this.#home.checkLength(length)
    if (length < this.#offset) throw new WeirError('WEIR_UPLOAD_LENGTH', `it has ${this.#offset} bytes already, more than ${length}`)
    await this.#save({ ...this.#record, length })
  }

  /**
   * Appends the body of the request. If the body breaks off, the bytes that have arrived are kept. With a checksum, all bytes count or none. An
   * upload whose body is longer than was stated, or than is allowed, is deleted: it is not known which of its bytes are meant.
   * @throws WEIR_UPLOAD_SUPERSEDED, WEIR_UPLOAD_CHECKSUM, WEIR_UPLOAD_LENGTH, PayloadTooLargeError, what breaks the body
   */
  async append(session: HttpSession, checksum: Checksum | null): Promise<void> {
    const source = new AppendSource(session, this.#room, () => this.#overrun(), checksum)
    this.#source = source
    if (this.#isWanted) this.interrupt()
    const how = { isAtomic: checksum !== null, hasTakenOver: this.#lock.hasTakenOver }
    try {
      this.#offset = await stored(this.#home.storage.append(this.#record, this.#offset, source.bytes(), how))
    } catch (error) {
      if (source.hasOverrun && this.#lock.isHeld()) await this.cancel()
      throw error
    } finally {
      this.#source = null
    }
    this.#checkHeld()
  }

  /**
   * Appends the bytes of complete uploads, unless the first ones show that the whole is refused. Ends early if the client leaves: a few bytes of a
   * client may ask for a gigabyte, and it may ask again.
   * @throws FileRefusedError (415)
   */
  async appendUploads({ signal }: HttpSession, parts: readonly UploadRecord[]): Promise<void> {
    const { storage, types } = this.#home
    async function* bytes(): AsyncGenerator<Uint8Array> {
      for (const part of parts)
        for await (const piece of storage.read(part) as AsyncIterable<Uint8Array>) {
          if (signal.aborted) throw new WeirError('WEIR_CLIENT_GONE')
          yield piece
        }
    }
    if (types !== null) await stored(checkTypes(bytes(), types))
    this.#offset = await stored(storage.append(this.#record, this.#offset, bytes(), { isAtomic: false, hasTakenOver: false }))
    this.#checkHeld()
    if (!this.isWhole) throw new WeirError('WEIR_STORE_UNAVAILABLE', 'a part has lost bytes')
  }

  /**
   * All bytes are there: calls `onComplete`, unless it has succeeded before. If it throws an error that is the client's fault (400 to 499), the upload
   * is deleted. After any other, it is called again by the next request that asks for the upload.
   * @throws what `onComplete` throws
   */
  async complete(session: HttpSession): Promise<Completion> {
    const { storage, types, onComplete } = this.#home
    if (this.#record.stage === 'complete') return { result: undefined }
    await stored(storage.complete(this.#record, this.#offset))
    const isPart = this.#record.concat === 'partial'
    await this.#save({ ...this.#record, length: this.#offset, stage: isPart ? 'complete' : 'received' })
    if (isPart) return { result: undefined }
    let upload: Upload
    let result: unknown
    try {
      // Bytes that were moved elsewhere have been checked before.
      if (types !== null && this.#record.keptAt === null)
        this.#record = { ...this.#record, detectedType: await checkTypes(storage.read(this.#record) as AsyncIterable<Uint8Array>, types) }
      upload = new Upload(storage, this.#record, (record) => this.#save(record))
      result = await onComplete(upload, session)
      await upload.settled()
    } catch (error) {
      if (isRefusal(session, error)) await this.cancel()
      throw ofProgram(error, this.#record.id)
    }
    await this.#save({ ...this.#record, stage: 'complete' })
    this.#home.settle(this.#record.id)
    if (!upload.isTouched) this.#home.onUntouched()
    return { result }
  }

  async cancel(): Promise<void> {
    this.#checkHeld()
    await stored(this.#home.storage.delete(this.#record))
    this.#home.settle(this.#record.id)
  }

  get #room(): number {
    return (this.#record.length ?? this.#home.maxSize) - this.#offset
  }

  /** @param size the size that it would have, if it is known */
  #overrun(size?: number): Error {
    const { length } = this.#record
    if (length === null) return new PayloadTooLargeError('maxSize', this.#home.maxSize, size)
    return new WeirError('WEIR_UPLOAD_LENGTH', `it is ${length}, and there are more bytes`)
  }

  async #save(record: UploadRecord): Promise<void> {
    this.#checkHeld()
    await stored(this.#home.storage.save(record))
    this.#record = record
  }

  /** The client must not be told anything that another process may have undone. */
  #checkHeld(): void {
    if (!this.#lock.isHeld()) throw new WeirError('WEIR_UPLOAD_LOCKED', 'the lock was lost')
  }
}

/** Whether the program refuses the upload for good. An error because the client has left, or because the lock was lost, says nothing about the upload. */
export function isRefusal(session: HttpSession, error: unknown): boolean {
  return isInstance(error, HttpError) && error.status < 500 && error.code !== 'WEIR_UPLOAD_LOCKED' && !session.signal.aborted
}

/**
 * Checks the type of an upload by its first bytes, as for a file of a form.
 * @returns what the bytes show @throws (rejects) FileRefusedError (415) unless they are of one of the types; what the stream throws
 */
async function checkTypes(bytes: AsyncIterable<Uint8Array>, types: readonly string[]): Promise<string | null> {
  let first: Uint8Array = Buffer.alloc(0)
  for await (const piece of bytes) {
    first = Buffer.concat([first, piece.subarray(0, MOST_TYPE_BYTES)])
    if (first.length >= MOST_TYPE_BYTES) break
  }
  return saveContent(TYPE_RULES, { fileName: null }, first, { types }, async (content) => {
    await content.toArray()
    return content.detectedType
  })
}
