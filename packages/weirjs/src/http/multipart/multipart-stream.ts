// Passes the fields and files of a form to callbacks as they arrive, in constant memory.

import { AsyncResource } from 'node:async_hooks'
import type { Readable } from 'node:stream'
import { PayloadTooLargeError } from '../../base/errors.ts'
import { isPromise } from '../../base/is-promise.ts'
import { func } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import type { Size } from '../../base/size.ts'
import { BYTES_TYPE } from '../../formats/media-type.ts'
import { DEFAULT_MULTIPART_LIMITS } from '../../formats/multipart-limits.ts'
import { isFile, type PartHead } from '../../formats/part-head.ts'

import type { RequestBody } from '../body/body.ts'
import { GatheredBytes } from '../body/gathered-bytes.ts'
import { type FormLimits, formRules } from './form-limits.ts'
import { type MultipartReading, type PartReceiver, readMultipart } from './multipart-reading.ts'
import { PartStream, type SavingWatcher } from './part-stream.ts'

/**
 * What is known about an uploaded file while it arrives.
 * @example
 * const isPng = ({ contentType }: UploadedFileInfo) => contentType === 'image/png'
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export interface UploadedFileInfo {
  /** Name of the form field. */
  readonly fieldName: string
  /** The file name that the client sent, unchanged; null when it sent none. Do not trust it: see `safeFileName`. */
  readonly fileName: string | null
  /** The content type that the client sent; `application/octet-stream` when it sent none. Do not trust it. */
  readonly contentType: string
  /** Bytes received so far. It grows while the file arrives, and is final when the stream ends. */
  readonly length: number
}

/**
 * Callbacks and limits of `bodyMultipartStream`. A limit of N allows N and refuses N + 1 with `PayloadTooLargeError` (413).
 * @example
 * const options: MultipartStreamOptions = { onFile: async (info, content) => void (await saveTo('uploads', info, content)) }
 * await request.bodyMultipartStream(options)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export interface MultipartStreamOptions {
  /** Called for each part that is not a file, when it is complete. A returned promise is awaited. */
  readonly onField?: (name: string, value: string) => unknown
  /**
   * Called for each file when its head has arrived. A returned promise is awaited. If nothing has started to read the file by then, the
   * file is skipped and its stream closed.
   */
  readonly onFile?: (info: UploadedFileInfo, content: Readable) => unknown
  /** Number of parts in the form: fields and files together. Default 200. */
  readonly maxParts?: number
  /** Size of one file. Default 50 MiB. The body as a whole is limited by `maxRequestBodySize`. */
  readonly maxFileSize?: Size
  /** @deprecated another name of `maxFileSize` */
  readonly maxFileBytes?: Size
  /** Size of one field. Default 1 MiB. */
  readonly maxFieldSize?: Size
  /** @deprecated another name of `maxFieldSize` */
  readonly maxFieldBytes?: Size
}

const DEFAULT_LIMITS: FormLimits = { ...DEFAULT_MULTIPART_LIMITS, maxFileSize: 50 * 1024 * 1024, maxFieldSize: 1024 * 1024 }

/** @internal */
export const MULTIPART_STREAM_RULES = rules<MultipartStreamOptions>('bodyMultipartStream()')({
  ...formRules(DEFAULT_LIMITS),
  onField: func().optional(),
  onFile: func().optional(),
})

/** The file that is arriving. */
class PassingFile implements UploadedFileInfo {
  readonly fieldName: string
  readonly fileName: string | null
  readonly contentType: string
  length = 0

  constructor(head: PartHead) {
    this.fieldName = head.name
    this.fileName = head.fileName
    this.contentType = head.contentType ?? BYTES_TYPE
  }
}

/** `request.bodyMultipartStream()`. @throws (rejects) WEIR_OPTION_INVALID, also for callbacks that are not functions */
export async function passForm(
  contentType: string | null,
  body: RequestBody,
  options: MultipartStreamOptions,
  watcher: SavingWatcher,
): Promise<boolean> {
  const { maxParts, maxFileSize, maxFieldSize } = MULTIPART_STREAM_RULES.read(options)
  const limits = { ...DEFAULT_LIMITS, maxParts, maxFileSize, maxFieldSize }
  const makeReceiver = (reading: MultipartReading): PartReceiver => new CallbackParts(reading, options, limits, watcher)
  return readMultipart(contentType, body, 'bodyMultipartStream()', limits, makeReceiver)
}

export class CallbackParts implements PartReceiver {
  readonly #reading: MultipartReading
  readonly #options: MultipartStreamOptions
  readonly #limits: FormLimits
  readonly #watcher: SavingWatcher | null
  /** The socket's events call the callbacks. They run in the handler's asynchronous context, so that they see its AsyncLocalStorage. */
  readonly #caller = new AsyncResource('weir.form')
  #field: PartHead | null = null
  readonly #value = new GatheredBytes()
  #file: PassingFile | null = null
  #stream: PartStream | null = null
  /** A callback that has not settled. */
  #pending: Promise<void> | null = null

  /** @param watcher is told of the files that the program saves; null if it is not the program that does */
  constructor(reading: MultipartReading, options: MultipartStreamOptions, limits: FormLimits, watcher: SavingWatcher | null = null) {
    this.#reading = reading
    this.#options = options
    this.#limits = limits
    this.#watcher = watcher
  }

  begin(head: PartHead): boolean {
    if (!isFile(head)) {
      this.#field = head
      return true
    }
    const file = new PassingFile(head)
    const stream: PartStream = new PartStream(() => {
      // The stream of an earlier file must not resume the reading.
      if (this.#stream === stream) this.#reading.resume()
    }, this.#watcher)
    this.#file = file
    this.#stream = stream
    const result = this.#caller.runInAsyncScope(() => this.#options.onFile?.(file, stream))
    if (!this.#await(result, () => stream.skipUnlessRead())) stream.skipUnlessRead()
    return true
  }

  data(buffer: Buffer, start: number, end: number): boolean {
    const { maxFileSize, maxFieldSize } = this.#limits
    if (this.#file === null) {
      if (this.#value.size + end - start > maxFieldSize) throw new PayloadTooLargeError('maxFieldSize', maxFieldSize)
      this.#value.add(buffer, start, end)
      return true
    }
    this.#file.length += end - start
    if (this.#file.length > maxFileSize) throw new PayloadTooLargeError('maxFileSize', maxFileSize)
    return this.#stream!.give(buffer, start, end)
  }

  end(): boolean {
    const stream = this.#stream
    if (stream !== null) {
      this.#file = null
      this.#stream = null
      stream.finish()
      return this.#pending === null
    }
    const { name, charset } = this.#field!
    const result = this.#caller.runInAsyncScope(() => this.#options.onField?.(name, this.#value.takeText(charset)))
    return !this.#await(result, () => {})
  }

  async abort(error: Error): Promise<void> {
    this.#stream?.abort(error)
    this.#stream = null
    // Let the callback release what it holds, such as a temporary file. Its failure adds nothing to the first error.
    await this.#pending
  }

  /** @returns whether the result is a promise, which is then awaited */
  #await(result: unknown, onSettled: () => void): boolean {
    if (!isPromise(result)) return false
    this.#pending = this.#goOnAfter(result, onSettled)
    return true
  }

  /** Never rejects: any failure, even of a stream that its reader has broken, ends the reading. */
  async #goOnAfter(result: Promise<unknown>, onSettled: () => void): Promise<void> {
    try {
      await result
      this.#pending = null
      onSettled()
      this.#reading.resume()
    } catch (error) {
      this.#pending = null
      this.#reading.fail(error)
    }
  }
}
