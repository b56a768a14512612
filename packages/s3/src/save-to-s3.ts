// Saves a file of a form as an object in S3 while it arrives: the whole file, or nothing.

import { randomBytes } from 'node:crypto'
import { extname } from 'node:path'
import type { Readable } from 'node:stream'
import * as S3 from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import type { ContentPolicy, UploadInfo } from 'weirjs'
import { type CheckedContent, checkNames, checkText, invalid, isInstance, namesOf, saveContent, shown, wholeNumber } from 'weirjs/kit'

import { type AwsS3Client, checkBucket, checkClient, checkParams, MIN_PART_BYTES, PART_BYTES, s3Failure } from './s3-client.ts'

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
   * `ContentType`, S3 stores `application/octet-stream`: what the client sent is not passed on.
   */
  readonly params?: Readonly<Record<string, unknown>>
}

/** Options of `saveToS3`: what may be saved, and how. */
export interface S3SavePolicy extends ContentPolicy {
  /**
   * Bytes of each part that is sent to S3, at least 5 MiB. S3 accepts 10,000 parts: the default of 8 MiB allows 78 GiB, and grows with
   * `maxBytes`.
   */
  readonly partSize?: number
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
  /** The entity tag that S3 gave it, with its quotes. */
  readonly etag: string | null
}

const OWNER = 'saveToS3()'
const TARGET_NAMES = namesOf<S3Target>()(['bucket', 'key', 'prefix', 'params'])
const POLICY_NAMES = namesOf<S3SavePolicy>()(['maxBytes', 'extensions', 'magic', 'hash', 'onProgress', 'partSize', 'concurrency', 'signal'])
const MOST_PARTS = 10_000
const CONCURRENCY = 2

/**
 * Saves an upload as an object in S3, in constant memory: a large file is sent in parts while it arrives. The object exists once the promise
 * has resolved.
 *
 * When the save fails (the client disconnects, a limit, the signal, S3), the parts are deleted before the promise rejects, and there is no
 * object. Only if S3 does not accept that either, or the process ends, parts remain: have a lifecycle rule of the bucket abort incomplete
 * multipart uploads.
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
  return saveContent(OWNER, info, content, policy, (file) => send(client, target, file, policy))
}

async function send(client: AwsS3Client, target: S3Target, file: CheckedContent, policy: S3SavePolicy): Promise<SavedObject> {
  checkClient(OWNER, client)
  checkTarget(target)
  checkNames(OWNER, policy, POLICY_NAMES)
  const partSize = partSizeOf(policy)
  const concurrency = wholeNumber(OWNER, 'concurrency', policy.concurrency ?? CONCURRENCY, 1)
  const { signal } = policy
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid(OWNER, 'signal is not an AbortSignal')
  const extension = policy.extensions === undefined ? '' : extname(file.fileName).toLowerCase()
  const { bucket, key = `${target.prefix ?? ''}${randomBytes(16).toString('hex')}${extension}` } = target
  signal?.throwIfAborted()
  const sender = new Sender(client, file)
  const abort = (): void => void file.destroy(reasonOf(signal))
  signal?.addEventListener('abort', abort)
  try {
    const params = { ...target.params, Bucket: bucket, Key: key, Body: file }
    const { ETag } = await new Upload({ client: sender as never, params: params as never, partSize, queueSize: concurrency }).done()
    return { bucket, key, size: file.received, hash: file.digest(), etag: ETag ?? null }
  } catch (error) {
    await sender.deleteParts()
    throw s3Failure('saving an object', error)
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

/** @throws WEIR_OPTION_INVALID */
function checkTarget(target: S3Target): void {
  const given: unknown = target
  if (typeof given !== 'object' || given === null)
    throw invalid(OWNER, `target is ${shown(given)}, not an object such as { bucket: 'photos' }`)
  checkNames(OWNER, target, TARGET_NAMES)
  checkBucket(OWNER, target.bucket)
  checkText(OWNER, 'key', target.key)
  checkText(OWNER, 'prefix', target.prefix)
  if (target.key === '') throw invalid(OWNER, 'key is empty')
  if (target.key !== undefined && target.prefix !== undefined) throw invalid(OWNER, 'prefix is for generated keys, and key is given')
  checkParams(OWNER, target.params ?? {})
}

/** @throws WEIR_OPTION_INVALID */
function partSizeOf(policy: S3SavePolicy): number {
  if (policy.partSize !== undefined) return wholeNumber(OWNER, 'partSize', policy.partSize, MIN_PART_BYTES)
  const { maxBytes = 0 } = policy
  return Math.max(PART_BYTES, Number.isFinite(maxBytes) ? Math.ceil(maxBytes / MOST_PARTS) : 0)
}

/**
 * The client as `Upload` sees it. When a part has failed, nothing more is read: `Upload` would go on with the others. And the parts are deleted
 * even where `Upload` does not do so: older versions keep them if joining them fails.
 */
class Sender {
  readonly config: object
  readonly #client: AwsS3Client
  readonly #s3: typeof S3
  readonly #file: CheckedContent
  /** The parts that may be in S3. */
  #unfinished: { readonly Bucket: string; readonly Key: string; readonly UploadId: string } | null = null

  constructor(client: AwsS3Client, file: CheckedContent) {
    this.config = client.config
    this.#client = client
    this.#s3 = S3
    this.#file = file
  }

  async send(command: never): Promise<unknown> {
    try {
      const result = await this.#client.send(command)
      const given: unknown = command
      if (given instanceof this.#s3.CreateMultipartUploadCommand) {
        const { Bucket, Key } = given.input
        this.#unfinished = { Bucket: Bucket!, Key: Key!, UploadId: (result as S3.CreateMultipartUploadOutput).UploadId! }
      } else if (given instanceof this.#s3.AbortMultipartUploadCommand) this.#unfinished = null
      return result
    } catch (error) {
      this.#file.stop()
      throw error
    }
  }

  /** Never rejects: if S3 does not accept this either, nothing can be done. */
  async deleteParts(): Promise<void> {
    const parts = this.#unfinished
    if (parts === null) return
    await this.#client.send(new this.#s3.AbortMultipartUploadCommand(parts) as never).catch(() => {})
  }
}

function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason
  return isInstance(reason, Error) ? reason : new Error('the upload was aborted', { cause: reason })
}
