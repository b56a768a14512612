// A whole form in memory, for small uploads.

import { Buffer } from 'node:buffer'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { PayloadTooLargeError } from '../../base/errors.ts'
import { checkNames, flag, invalid, namesOf } from '../../base/options.ts'
import type { UnsharedBytes } from '../../base/unshared-bytes.ts'
import { BYTES_TYPE } from '../../formats/media-type.ts'
import { DEFAULT_MULTIPART_LIMITS } from '../../formats/multipart.ts'
import { Pairs } from '../../formats/pairs.ts'
import { isFile, type PartHead } from '../../formats/part-head.ts'

import { GatheredBytes } from '../body/gathered-bytes.ts'
import { type FormLimits, formLimits, type PartReceiver } from './multipart-reading.ts'

/** Sizes are bytes. A limit of N allows N and refuses N + 1 with `PayloadTooLargeError`. */
export interface MultipartOptions {
  /** Parts of one form, fields and files alike. Default 200. */
  readonly maxParts?: number
  /** Size of one file. Default: as large as the body may be. */
  readonly maxFileBytes?: number
  /** Size of one field. Default: as large as the body may be. */
  readonly maxFieldBytes?: number
}

const OPTION_NAMES = namesOf<MultipartOptions>()(['maxParts', 'maxFileBytes', 'maxFieldBytes'])

/** How large files and fields may be is left to the limit of the body. */
export const DEFAULT_FORM_LIMITS: FormLimits = {
  ...DEFAULT_MULTIPART_LIMITS,
  maxFileBytes: Number.POSITIVE_INFINITY,
  maxFieldBytes: Number.POSITIVE_INFINITY,
}

/** @throws WEIR_OPTION_INVALID */
export function memoryLimits(options: MultipartOptions): FormLimits {
  checkNames('bodyMultipart()', options, OPTION_NAMES)
  return formLimits('bodyMultipart()', options, DEFAULT_FORM_LIMITS)
}

/** A file in memory. */
export class UploadedFile {
  /** Name of the form field. */
  readonly fieldName: string
  /** What the client calls the file; null when it gives no name. Untrusted and unchanged: see `safeFileName`. */
  readonly fileName: string | null
  /** As the client says, `application/octet-stream` when it says nothing. Untrusted. */
  readonly contentType: string
  /** The bytes; `content.length` is the size. They are the handler's own and may be kept. */
  readonly content: UnsharedBytes
  #data: FileData | null = null

  /** @internal */
  constructor(head: PartHead, content: UnsharedBytes) {
    this.fieldName = head.name
    this.fileName = head.fileName
    this.contentType = head.contentType ?? BYTES_TYPE
    this.content = content
  }

  /** The content as a stream: always the same one. As a stream it can be read once; `copyTo` writes the whole file each time. */
  get data(): FileData {
    this.#data ??= new FileData(this.content)
    return this.#data
  }

  /** What the form says about the file, and its size in bytes: not its content. */
  toJSON(): { fieldName: string; fileName: string | null; contentType: string; length: number } {
    const { fieldName, fileName, contentType, content } = this
    return { fieldName, fileName, contentType, length: content.length }
  }
}

/** How a file is copied. */
export interface CopyOptions {
  /** Whether the target is ended after the file. Default true. With false it stays open, for the next file or for `end()`. */
  readonly end?: boolean
}

const COPY_OPTION_NAMES = namesOf<CopyOptions>()(['end'])

/** The content of a file in memory as a Readable. */
export class FileData extends Readable {
  /** Size of the file in bytes. */
  readonly length: number
  readonly #content: Uint8Array
  #isPushed = false

  /** @internal */
  constructor(content: Uint8Array) {
    super()
    this.length = content.length
    this.#content = content
  }

  /**
   * Writes the whole file to `target` and ends it, unless `options` says otherwise. Every call writes all of it, also when the stream itself
   * has been read or closed, and none of them reads from the stream.
   *
   * @returns resolves when `target` has finished, with `end: false` when everything has been handed to it
   * @throws (rejects) WEIR_OPTION_INVALID for a target that has ended or was destroyed, and whatever the target fails with
   */
  async copyTo(target: Writable, options: CopyOptions = {}): Promise<void> {
    checkNames('copyTo()', options, COPY_OPTION_NAMES)
    const end = options.end === undefined || flag('copyTo()', 'end', options.end)
    if (target.writableEnded || target.destroyed)
      throw invalid('copyTo()', 'the target has ended: give each file a target of its own, or copy with { end: false }')
    await pipeline(new FileData(this.#content), target, { end })
  }

  override _read(): void {
    if (!this.#isPushed && this.length > 0) this.push(this.#content)
    this.#isPushed = true
    this.push(null)
  }
}

/** A form in memory. */
export class MultipartFormData {
  /** The fields that are no files, in order, repeated names included. */
  readonly fields: Pairs
  /** The files, in order. */
  readonly files: readonly UploadedFile[]

  /** @internal */
  constructor(fields: Pairs, files: readonly UploadedFile[]) {
    this.fields = fields
    this.files = files
  }
}

/** Gathers the parts. */
export class MemoryParts implements PartReceiver {
  readonly #limits: FormLimits
  readonly #fields: string[] = []
  readonly #files: UploadedFile[] = []
  #head: PartHead | null = null
  #isFile = false
  readonly #content = new GatheredBytes()
  /** The file so far when it came in one piece, as most small ones do: it is copied once, to where it stays. */
  #onlyPiece: UnsharedBytes | null = null

  constructor(limits: FormLimits) {
    this.#limits = limits
  }

  get form(): MultipartFormData {
    return new MultipartFormData(new Pairs(this.#fields), this.#files)
  }

  begin(head: PartHead): boolean {
    this.#head = head
    this.#isFile = isFile(head)
    return true
  }

  data(buffer: Buffer, start: number, end: number): boolean {
    const limit = this.#isFile ? 'maxFileBytes' : 'maxFieldBytes'
    const maximum = this.#limits[limit]
    const content = this.#content
    const piece = this.#onlyPiece
    if (content.size + (piece === null ? 0 : piece.length) + end - start > maximum) throw new PayloadTooLargeError(limit, maximum)
    if (this.#isFile && piece === null && content.size === 0) {
      this.#onlyPiece = new Uint8Array(buffer.subarray(start, end))
      return true
    }
    if (piece !== null) {
      content.add(Buffer.from(piece.buffer), 0, piece.length)
      this.#onlyPiece = null
    }
    content.add(buffer, start, end)
    return true
  }

  end(): boolean {
    if (this.#isFile) this.#files.push(new UploadedFile(this.#head!, this.#onlyPiece ?? this.#content.takeBytes()))
    else this.#fields.push(this.#head!.name, this.#content.takeText(this.#head!.charset))
    this.#onlyPiece = null
    return true
  }

  async abort(): Promise<void> {}
}
