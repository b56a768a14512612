// Saves a file of a form as an object in S3 while it arrives: the whole file, or nothing.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { extname } from 'node:path'
import type { Readable } from 'node:stream'
import * as S3 from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import type { ContentPolicy, Size, UploadInfo } from 'weirjs'
import { type CheckedContent, CONTENT_RULES, invalid, isInstance, option, rules, saveContent, shown } from 'weirjs/kit'

import { type AwsS3Client, checkClient, MIN_PART_BYTES, PART_BYTES, S3_RULES, s3Failure } from './s3-client.ts'

const { count, matching, size, text } = option

/** Where `saveToS3` saves an object, and what it tells S3 about it. */
export interface S3Target {
  /** Name of the bucket, which must exist. */
  readonly bucket: string
  /**
   * Key of the object. An object that has it is replaced. Default: `prefix` and 32 random hexadecimal digits, followed by the extension if the
   * policy has `extensions`. The client's file name never becomes part of a key.
   */
  readonly key?: string
  /** Beginning of the generated key, such as `photos/`. Default: none. */
  readonly prefix?: string
  /**
   * Further parameters of S3's PutObject and CreateMultipartUpload, such as `ContentType`, `Metadata` or `ServerSideEncryption`. Without
   * `ContentType`, S3 stores `application/octet-stream`: the type that the client sent is not passed on.
   */
  readonly params?: Readonly<Record<string, unknown>>
}

/** Options of `saveToS3`: what may be saved, and how. */
export interface S3SavePolicy extends ContentPolicy {
  /**
   * Size of each part that is sent to S3, at least 5 MiB. S3 accepts 10,000 parts: the default of 8 MiB allows 78 GiB, and grows with
   * `maxSize`.
   */
  readonly partSize?: Size
  /**
   * How many parts are sent at the same time. Default 2. One save takes up to this many parts of memory, and three more while it gathers the
   * next.
   */
  readonly concurrency?: number
  /** Aborts the save: it rejects with the reason of the signal. */
  readonly signal?: AbortSignal
}

/** A saved object. */
export interface SavedObject {
  readonly bucket: string
  readonly key: string
  /** Size in bytes. */
  readonly size: number
  /** Digest in hexadecimal; null unless `hash` was set. */
  readonly hash: string | null
  /** The type that its first bytes show, as in `SavedFile`; null without `types`. */
  readonly detectedType: string | null
  /** The entity tag that S3 gave it, with its quotes. */
  readonly etag: string | null
}

const OWNER = 'saveToS3()'
/** @internal */
export const S3_TARGET_RULES = rules<S3Target>(OWNER)(
  {
    ...S3_RULES,
    key: text('a string that is not empty', (key) => key !== '').optional(),
    prefix: text().optional(),
  },
  { excludes: [['key', 'prefix']] },
)
/** @internal */
export const S3_SAVE_RULES = rules<S3SavePolicy>(OWNER)({
  ...CONTENT_RULES,
  partSize: size({ least: MIN_PART_BYTES }).optional('8 MiB'),
  concurrency: count({ least: 1 }).or(2),
  signal: matching<AbortSignal>('an AbortSignal', (signal) => signal instanceof AbortSignal).optional(),
})
const MOST_PARTS = 10_000
/** How long S3 may take to delete the parts of a save that has failed. */
const DELETE_TIMEOUT_MS = 10_000

/**
 * Saves an upload as an object in S3, in constant memory: a large file is sent in parts while it arrives. The object exists once the promise
 * has resolved.
 *
 * When the save fails (the client disconnects, a limit, the signal, S3), the parts are deleted before the promise rejects, and there is no
 * object. Only if S3 does not accept that within ten seconds, or the process ends, parts remain: have a lifecycle rule of the bucket abort
 * incomplete multipart uploads. While S3 is silent about a complete file, only the signal and the timeouts of your client end the save, and S3
 * may store the object nevertheless.
 *
 * @param client of your program
 * @param info what the client sent about the file; only the extension of its `fileName` is used
 * @param content bytes, or the stream passed to `onFile`
 * @throws (rejects) FileRefusedError (415), PayloadTooLargeError (413), BodyAlreadyReadError for a stream that has another reader, the error
 *   of the stream, WEIR_STORE_UNAVAILABLE (503) with the error of S3 as its cause, and WEIR_OPTION_INVALID for invalid arguments
 */
export function saveToS3(
  client: AwsS3Client,
  target: S3Target,
  info: UploadInfo,
  content: Readable | Uint8Array,
  policy: S3SavePolicy = {},
): Promise<SavedObject> {
  return saveContent(S3_SAVE_RULES, info, content, policy, (file, settings) => send(client, target, file, settings))
}

async function send(
  client: AwsS3Client,
  target: S3Target,
  file: CheckedContent,
  { extensions, maxSize, partSize = partSizeFor(maxSize), concurrency, signal }: typeof S3_SAVE_RULES.settings,
): Promise<SavedObject> {
  checkClient(OWNER, client)
  const { bucket, prefix = '', params: more, ...given } = checkedTarget(target)
  const extension = extensions === null ? '' : extname(file.fileName).toLowerCase()
  const { key = `${prefix}${randomBytes(16).toString('hex')}${extension}` } = given
  signal?.throwIfAborted()
  const sender = new Sender(client, file)
  const abort = (): void => {
    file.destroy(reasonOf(signal))
    sender.cut(reasonOf(signal))
  }
  signal?.addEventListener('abort', abort)
  try {
    const params = { ...more, Bucket: bucket, Key: key, Body: file }
    const { ETag } = await new Upload({ client: sender as never, params: params as never, partSize, queueSize: concurrency }).done()
    return { bucket, key, size: file.received, hash: file.digest(), detectedType: file.detectedType, etag: ETag ?? null }
  } catch (error) {
    await sender.deleteParts()
    throw signal?.aborted === true ? reasonOf(signal) : s3Failure('saving an object', sender.failure ?? error)
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

/** @throws WEIR_OPTION_INVALID */
export function checkedTarget(target: S3Target): typeof S3_TARGET_RULES.settings {
  const given: unknown = target
  if (typeof given !== 'object' || given === null)
    throw invalid(OWNER, `target is ${shown(given)}, not an object such as { bucket: 'photos' }`)
  return S3_TARGET_RULES.read(target)
}

function partSizeFor(maxSize: number): number {
  return Math.max(PART_BYTES, Number.isFinite(maxSize) ? Math.ceil(maxSize / MOST_PARTS) : 0)
}

/**
 * The client as `Upload` sees it. When a part has failed, nothing more is read, whereas `Upload` would continue with other parts. When the content
 * is cut, no command is waited for, whereas `Upload` would wait for S3, which may be silent. The parts are always deleted, whereas older versions
 * of `Upload` keep them if joining fails.
 */
class Sender {
  readonly config: object
  readonly #client: AwsS3Client
  readonly #s3: typeof S3
  readonly #file: CheckedContent
  /** Ends the commands that are on their way. */
  readonly #end = new AbortController()
  readonly #cut: Promise<never>
  #reject!: (reason: Error) => void
  /** The command that begins the parts; null for a save without any. */
  #begun: Promise<unknown> | null = null
  /** The parts that may be in S3. */
  #unfinished: { readonly Bucket: string; readonly Key: string; readonly UploadId: string } | null = null
  /** Why reading was stopped. `Upload` may reject with the end of the file instead, which another part sees at the same time. */
  failure: unknown = null

  constructor(client: AwsS3Client, file: CheckedContent) {
    this.config = client.config
    this.#client = client
    this.#s3 = S3
    this.#file = file
    this.#cut = new Promise((_, reject) => (this.#reject = reject))
    this.#cut.catch(() => {})
    file.once('error', (error) => this.cut(error))
  }

  /** The client, the form, the program or another part has ended it. */
  cut(reason: Error): void {
    this.#reject(reason)
    this.#end.abort(reason)
  }

  async send(command: never): Promise<unknown> {
    try {
      return await Promise.race([this.#send(command), this.#cut])
    } catch (error) {
      if (!this.#file.destroyed) {
        this.failure = error
        this.#file.stop()
      }
      throw error
    }
  }

  async #send(command: never): Promise<unknown> {
    const given: unknown = command
    if (given instanceof this.#s3.CreateMultipartUploadCommand) return await (this.#begun = this.#begin(command, given.input))
    const result = await sendUntil(this.#client, command, this.#end.signal)
    if (given instanceof this.#s3.AbortMultipartUploadCommand) this.#unfinished = null
    return result
  }

  /** Without the id of what it begins, nothing could be deleted. So a cut does not end it. */
  async #begin(command: never, { Bucket, Key }: S3.CreateMultipartUploadCommandInput): Promise<unknown> {
    const result = (await this.#client.send(command)) as S3.CreateMultipartUploadOutput
    this.#unfinished = { Bucket: Bucket!, Key: Key!, UploadId: result.UploadId! }
    return result
  }

  /** Never rejects: if S3 does not accept this either, nothing can be done. If it is silent for some time, it goes on in the background. */
  async deleteParts(): Promise<void> {
    if (this.#begun === null) return // without a timer, which would last longer than a small save that was refused
    const signal = AbortSignal.timeout(DELETE_TIMEOUT_MS)
    await Promise.race([this.#delete().catch(() => {}), once(signal, 'abort')])
  }

  async #delete(): Promise<void> {
    await this.#begun
    const parts = this.#unfinished
    if (parts !== null) await this.#client.send(new this.#s3.AbortMultipartUploadCommand(parts) as never)
  }
}

/** Ends a command of the SDK if the signal aborts. */
function sendUntil(client: AwsS3Client, command: never, abortSignal: AbortSignal): Promise<unknown> {
  return (client.send as (command: never, options: { readonly abortSignal: AbortSignal }) => Promise<unknown>).call(client, command, {
    abortSignal,
  })
}

function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason
  return isInstance(reason, Error) ? reason : new Error('the upload was aborted', { cause: reason })
}
