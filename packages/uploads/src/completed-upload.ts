// The upload that `onComplete` receives.

import type { Readable } from 'node:stream'
import { invalid, kindOf } from 'weirjs/kit'

import { withoutIds } from './hidden-ids.ts'
import { metadataRecord } from './upload-metadata.ts'
import type { UploadRecord } from './upload-record.ts'
import type { UploadStorage } from './upload-storage.ts'

/** A complete upload. What clients state about it, its name and its type included, is not to be trusted. */
export class Upload {
  readonly id: string
  /** In bytes. */
  readonly size: number
  /**
   * What the client states about it: the pairs of Upload-Metadata, decoded; with the IETF's protocol, `filename` and `filetype` of
   * Content-Disposition and Content-Type.
   */
  readonly metadata: Readonly<Record<string, string>>
  readonly #storage: UploadStorage
  readonly #save: (record: UploadRecord) => Promise<void>
  #record: UploadRecord
  /** Whether the program has asked for its bytes in any way. @internal */
  isTouched = false
  readonly #pending = new Set<Promise<void>>()

  /** @internal @param save keeps a changed record */
  constructor(storage: UploadStorage, record: UploadRecord, save: (record: UploadRecord) => Promise<void>) {
    this.#storage = storage
    this.#record = record
    this.#save = save
    this.id = record.id
    this.size = record.length!
    this.metadata = metadataRecord(record.metadata)
  }

  /** The name that the client states, unchanged; null without one. For a file of your own, pass it to `safeFileName`. */
  get fileName(): string | null {
    return this.metadata.filename ?? this.metadata.name ?? null
  }

  /** The media type that the client states; null without one. */
  get type(): string | null {
    return this.metadata.filetype ?? this.metadata.type ?? null
  }

  /**
   * The media type that its first bytes show, whatever the client states; null without `types`. Formats may begin alike, such as all that are ZIP
   * files: it is then the first one that `types` allows.
   */
  get detectedType(): string | null {
    return this.#record.detectedType ?? null
  }

  /** Where its bytes are: the path of a file; on S3, a URL such as `s3://bucket/key`. */
  get path(): string {
    this.isTouched = true
    return this.#record.keptAt ?? this.#storage.locate(this.#record)
  }

  /** Its bytes. */
  stream(): Readable {
    this.isTouched = true
    return this.#storage.read(this.#record)
  }

  /**
   * Moves its bytes to a place of your own, which is not overwritten: the path of a file in an existing directory; on S3, a key. They are no
   * longer deleted when the upload expires.
   * @throws (rejects) WEIR_OPTION_INVALID for a target that is not a text; what the storage throws
   */
  moveTo(target: string): Promise<void> {
    return this.#noted(this.#moveTo(target))
  }

  /** Leaves its bytes where they are. They are no longer deleted when the upload expires: that is up to your program. */
  keep(): Promise<void> {
    return this.#noted(this.#update({ ...this.#record, keptAt: this.path }))
  }

  /** Waits, while the lock is held, for work that `onComplete` has begun and not awaited. @internal @throws (rejects) the error of that work */
  async settled(): Promise<void> {
    await Promise.all(this.#pending)
  }

  /** Only unsettled work is in the set, so an error that the program has handled does not count. */
  #noted(work: Promise<void>): Promise<void> {
    this.isTouched = true
    const noted = work.finally(() => this.#pending.delete(noted))
    this.#pending.add(noted)
    return noted
  }

  async #moveTo(target: string): Promise<void> {
    if (typeof target !== 'string' || target === '') throw invalid('moveTo()', `target is ${kindOf(target)}, not a path`)
    const before = this.#record
    await this.#update({ ...before, moving: target })
    try {
      await this.#storage.moveTo(before, target)
    } catch (error) {
      throw withoutIds(error) // it may have moved them nevertheless: the record keeps saying so
    }
    const { moving: _, ...moved } = this.#record
    await this.#update({ ...moved, keptAt: target })
  }

  async #update(record: UploadRecord): Promise<void> {
    await this.#save(record)
    this.#record = record
  }
}
