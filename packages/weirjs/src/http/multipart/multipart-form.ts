// Reads a whole form into memory, for small uploads.

import { Buffer } from 'node:buffer'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { PayloadTooLargeError } from '../../base/errors.ts'
import { flag } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { Size } from '../../base/size.ts'
import type { UnsharedBytes } from '../../base/unshared-bytes.ts'
import { BYTES_TYPE } from '../../formats/media-type.ts'
import { Pairs } from '../../formats/pairs.ts'
import { isFile, type PartHead } from '../../formats/part-head.ts'

import { GatheredBytes } from '../body/gathered-bytes.ts'
import { DEFAULT_FORM_LIMITS, type FormLimits, formRules } from './form-limits.ts'
import type { PartReceiver } from './multipart-reading.ts'

/**
 * Limits of `bodyMultipart`. A limit of N allows N and refuses N + 1 with `PayloadTooLargeError` (413).
 * @example
 * const options: MultipartOptions = { maxFileSize: '1MiB' }
 * const form = request.bodyMultipart(options)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export interface MultipartOptions {
  /** Number of parts in the form: fields and files together. Default 200. */
  readonly maxParts?: number
  /** Size of one file. Default: limited only by `maxRequestBodySize`. */
  readonly maxFileSize?: Size
  /** @deprecated another name of `maxFileSize` */
  readonly maxFileBytes?: Size
  /** Size of one field. Default: limited only by `maxRequestBodySize`. */
  readonly maxFieldSize?: Size
  /** @deprecated another name of `maxFieldSize` */
  readonly maxFieldBytes?: Size
}

/** @internal */
export const MULTIPART_RULES = rules<MultipartOptions>('bodyMultipart()')(formRules(DEFAULT_FORM_LIMITS))

/** @throws WEIR_OPTION_INVALID */
export function memoryLimits(options: MultipartOptions): FormLimits {
  return { ...DEFAULT_FORM_LIMITS, ...MULTIPART_RULES.read(options) }
}

/**
 * An uploaded file in memory.
 * @example
 * const shown = ({ fileName, content }: UploadedFile) => `${fileName}: ${content.length} bytes`
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export class UploadedFile {
  /** Name of the form field. */
  readonly fieldName: string
  /** The file name that the client sent, unchanged; null when it sent none. Do not trust it: see `safeFileName`. */
  readonly fileName: string | null
  /** The content type that the client sent; `application/octet-stream` when it sent none. Do not trust it. */
  readonly contentType: string
  /** The bytes; `content.length` is the size. You may keep them after the request. */
  readonly content: UnsharedBytes
  #data: FileData | null = null

  /** @internal */
  constructor(head: PartHead, content: UnsharedBytes) {
    this.fieldName = head.name
    this.fileName = head.fileName
    this.contentType = head.contentType ?? BYTES_TYPE
    this.content = content
  }

  /** The content as a stream, always the same object. It can be read once; its `copyTo` writes the whole file each time. */
  get data(): FileData {
    this.#data ??= new FileData(this.content)
    return this.#data
  }

  /** Name, type and size in bytes of the file, without its content. */
  toJSON(): { fieldName: string; fileName: string | null; contentType: string; length: number } {
    const { fieldName, fileName, contentType, content } = this
    return { fieldName, fileName, contentType, length: content.length }
  }
}

/** Options of `copyTo`. */
interface CopyOptions {
  /** Whether to end the target after the file. Default `true`. With `false` it stays open: write the next file, or call `end()`. */
  readonly end?: boolean
}

/** @internal */
export const COPY_RULES = rules<CopyOptions>('copyTo()')({ end: flag(true) })

/**
 * The content of a file in memory as a Readable.
 * @example
 * const saved = (data: FileData) => data.pipe(createWriteStream('photo.png'))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
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
   * Writes the whole file to `target` and ends it, unless `end` is false. Every call writes the whole file, even after the stream itself
   * was read or closed, because it does not read from the stream.
   *
   * @returns resolves when `target` has finished; with `end: false`, when everything has been written to it
   * @throws (rejects) WEIR_OPTION_INVALID for a target that has ended or was destroyed, and any error of the target
   */
  async copyTo(target: Writable, options: CopyOptions = {}): Promise<void> {
    const { end } = COPY_RULES.read(options)
    if (target.writableEnded || target.destroyed)
      throw invalid('copyTo()', 'the target has ended: use a separate target for each file, or copy with { end: false }')
    await pipeline(new FileData(this.#content), target, { end })
  }

  override _read(): void {
    if (!this.#isPushed && this.length > 0) this.push(this.#content)
    this.#isPushed = true
    this.push(null)
  }
}

/**
 * A multipart form in memory. You may keep it after the request.
 * @example
 * const form: MultipartFormData | null = await request.bodyMultipart()
 * console.log(form?.fields, form?.files.length)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export class MultipartFormData {
  /** The parts that are not files, in order, repeated names included. */
  readonly fields: Pairs
  /** The files, in order. */
  readonly files: readonly UploadedFile[]

  /** @internal */
  constructor(fields: Pairs, files: readonly UploadedFile[]) {
    this.fields = fields
    this.files = files
  }
}

export class MemoryParts implements PartReceiver {
  readonly #limits: FormLimits
  readonly #fields: string[] = []
  readonly #files: UploadedFile[] = []
  #head: PartHead | null = null
  #isFile = false
  readonly #content = new GatheredBytes()
  /** The file, while only one piece of it has arrived. Most small files have only one, which is copied once. */
  #onlyPiece: UnsharedBytes | null = null

  constructor(limits: FormLimits) {
    this.#limits = limits
  }

  get form(): MultipartFormData {
    return new MultipartFormData(new Pairs(this.#fields), this.#files)
  }

  /** The fields so far: name, value, name, value. */
  get fieldPairs(): readonly string[] {
    return this.#fields
  }

  /** Null before the first file. */
  get lastFile(): UploadedFile | null {
    return this.#files.at(-1) ?? null
  }

  begin(head: PartHead): boolean {
    this.#head = head
    this.#isFile = isFile(head)
    return true
  }

  data(buffer: Buffer, start: number, end: number): boolean {
    const limit = this.#isFile ? 'maxFileSize' : 'maxFieldSize'
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
