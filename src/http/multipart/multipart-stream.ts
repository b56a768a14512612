// A form whose fields and files are handed to callbacks as they arrive: constant memory, whatever the size.

import { AsyncResource } from 'node:async_hooks'
import type { Readable } from 'node:stream'
import { PayloadTooLargeError } from '../../base/errors.ts'
import { isPromise } from '../../base/is-promise.ts'
import { checkFunction, checkNames, namesOf } from '../../base/options.ts'
import { BYTES_TYPE } from '../../formats/media-type.ts'
import { DEFAULT_MULTIPART_LIMITS } from '../../formats/multipart.ts'
import { isFile, type PartHead } from '../../formats/part-head.ts'

import { GatheredBytes } from '../body/gathered-bytes.ts'
import { type FormLimits, formLimits, type MultipartReading, type PartReceiver } from './multipart-reading.ts'
import { PartStream } from './part-stream.ts'

/** What a form says about one of its files. */
export interface UploadedFileInfo {
  /** Name of the form field. */
  readonly fieldName: string
  /** What the client calls the file; null when it gives no name. Untrusted and unchanged: see `safeFileName`. */
  readonly fileName: string | null
  /** As the client says, `application/octet-stream` when it says nothing. Untrusted. */
  readonly contentType: string
  /** Bytes so far: grows while the file passes, and is final at its end. */
  readonly length: number
}

/** Sizes are bytes. A limit of N allows N and refuses N + 1 with `PayloadTooLargeError`. */
export interface MultipartStreamOptions {
  /** Called for each field that is no file. A promise is waited for. */
  readonly onField?: (name: string, value: string) => unknown
  /** Called for each file when its first bytes are there. A promise is waited for; what nobody reads by then is skipped, and its stream closed. */
  readonly onFile?: (info: UploadedFileInfo, content: Readable) => unknown
  /** Parts of one form, fields and files alike. Default 200. */
  readonly maxParts?: number
  /** Size of one file. Default 50 MiB. The request's own `maxRequestBodySize` counts as well. */
  readonly maxFileBytes?: number
  /** Size of one field. Default 1 MiB. */
  readonly maxFieldBytes?: number
}

const OPTION_NAMES = namesOf<MultipartStreamOptions>()(['onField', 'onFile', 'maxParts', 'maxFileBytes', 'maxFieldBytes'])
const DEFAULT_LIMITS: FormLimits = { ...DEFAULT_MULTIPART_LIMITS, maxFileBytes: 50 * 1024 * 1024, maxFieldBytes: 1024 * 1024 }

/** The file that is passing. */
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

/** @throws WEIR_OPTION_INVALID, for callbacks that are none as well */
export function streamLimits(options: MultipartStreamOptions): FormLimits {
  checkNames('bodyMultipartStream()', options, OPTION_NAMES)
  checkFunction('bodyMultipartStream()', 'onField', options.onField)
  checkFunction('bodyMultipartStream()', 'onFile', options.onFile)
  return formLimits('bodyMultipartStream()', options, DEFAULT_LIMITS)
}

export class CallbackParts implements PartReceiver {
  readonly #reading: MultipartReading
  readonly #options: MultipartStreamOptions
  readonly #limits: FormLimits
  /** Callbacks are called out of the socket, in the name of who asked: an AsyncLocalStorage is there what it is in the handler. */
  readonly #caller = new AsyncResource('weir.form')
  #field: PartHead | null = null
  readonly #value = new GatheredBytes()
  #file: PassingFile | null = null
  #stream: PartStream | null = null
  /** A callback that has not settled. */
  #pending: Promise<void> | null = null

  constructor(reading: MultipartReading, options: MultipartStreamOptions, limits: FormLimits) {
    this.#reading = reading
    this.#options = options
    this.#limits = limits
  }

  begin(head: PartHead): boolean {
    if (!isFile(head)) {
      this.#field = head
      return true
    }
    const file = new PassingFile(head)
    const stream: PartStream = new PartStream(() => {
      // A stream that is past has no say in what follows it.
      if (this.#stream === stream) this.#reading.resume()
    })
    this.#file = file
    this.#stream = stream
    const result = this.#caller.runInAsyncScope(() => this.#options.onFile?.(file, stream))
    if (!this.#await(result, () => stream.skipUnlessRead())) stream.skipUnlessRead()
    return true
  }

  data(buffer: Buffer, start: number, end: number): boolean {
    const { maxFileBytes, maxFieldBytes } = this.#limits
    if (this.#file === null) {
      if (this.#value.size + end - start > maxFieldBytes) throw new PayloadTooLargeError('maxFieldBytes', maxFieldBytes)
      this.#value.add(buffer, start, end)
      return true
    }
    this.#file.length += end - start
    if (this.#file.length > maxFileBytes) throw new PayloadTooLargeError('maxFileBytes', maxFileBytes)
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
    // The callback lets go of what it holds, such as a temporary file; that it fails now is no news.
    await this.#pending
  }

  /** @returns whether there is something to wait for */
  #await(result: unknown, onSettled: () => void): boolean {
    if (!isPromise(result)) return false
    this.#pending = this.#goOnAfter(result, onSettled)
    return true
  }

  /** Never rejects: what fails, a stream that its reader has broken included, ends the reading. */
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
