// Saves a file of a form as an object in S3 while it arrives: the whole file, or nothing.

import type { Buffer } from 'node:buffer'
import type { Hash } from 'node:crypto'
import { extname } from 'node:path'
import { Readable } from 'node:stream'
import * as S3 from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { BodyAlreadyReadError, type ContentPolicy, type UploadInfo } from 'weirjs'
import {
  allowedName,
  type BodySink,
  type ByteInspector,
  type CheckedPolicy,
  CONTENT_RULES,
  contentPolicy,
  invalid,
  isInstance,
  isReadable,
  option,
  otherReader,
  PartStream,
  PieceQueue,
  piecesOf,
  randomHex,
  refuseIf,
  reserve,
  rules,
  type Size,
  shown,
} from 'weirjs/kit'

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
   * `ContentType`, S3 stores `application/octet-stream`: what the client sent is not passed on.
   */
  readonly params?: Readonly<Record<string, unknown>>
}

/** Options of `saveToS3`: what may be saved, and how. */
export interface S3SavePolicy extends ContentPolicy {
  /**
   * Size of each part that is sent to S3, at least 5 MiB. S3 accepts 10,000 parts: the default of 8 MiB allows 78 GiB, and grows with
   * `maxBytes`.
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
  /** The entity tag that S3 gave it, with its quotes. */
  readonly etag: string | null
}

const OWNER = 'saveToS3()'
/** @internal */
export const S3_TARGET_RULES = rules<S3Target>(OWNER)({
  ...S3_RULES,
  key: text('a string that is not empty', (key) => key !== '').optional(),
  prefix: text().optional(),
})
/** @internal */
export const S3_SAVE_RULES = rules<S3SavePolicy>(OWNER)({
  ...CONTENT_RULES,
  partSize: size({ least: MIN_PART_BYTES }).optional('8 MiB'),
  concurrency: count({ least: 1 }).or(2),
  signal: matching<AbortSignal>('an AbortSignal', (signal) => signal instanceof AbortSignal).optional(),
})
const MOST_PARTS = 10_000
/** Largest piece of a file in memory that is passed on at once. */
const PIECE_BYTES = 256 * 1024
const HIGH_WATER_MARK = 256 * 1024

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
  const saving = save(client, target, info, content, policy)
  // A client that disconnects must not end a program whose `onFile` awaits the promise later, or throws before it does.
  if (content instanceof PartStream) saving.catch(() => {})
  return saving
}

async function save(
  client: AwsS3Client,
  target: S3Target,
  info: UploadInfo,
  content: Readable | Uint8Array,
  policy: S3SavePolicy,
): Promise<SavedObject> {
  try {
    checkClient(OWNER, client)
    const place = checkedTarget(target)
    const { partSize: given, concurrency, signal, ...settings } = S3_SAVE_RULES.read(policy)
    const checked = contentPolicy(settings)
    const partSize = given ?? partSizeFor(settings.maxBytes)
    reserve(OWNER, content)
    const name = allowedName(OWNER, info, checked.extensions)
    const key = place.key ?? `${place.prefix ?? ''}${randomHex(16)}${checked.extensions === null ? '' : extname(name).toLowerCase()}`
    signal?.throwIfAborted()
    const body = new ObjectBody(checked)
    const sender = new Sender(client, body)
    const abort = (): void => void body.destroy(asError(signal?.reason))
    signal?.addEventListener('abort', abort)
    try {
      feed(body, content)
      const params = { ...place.params, Bucket: place.bucket, Key: key, Body: body }
      const { ETag } = await new Upload({ client: sender as never, params: params as never, partSize, queueSize: concurrency }).done()
      return { bucket: place.bucket, key, size: body.received, hash: checked.hash?.digest('hex') ?? null, etag: ETag ?? null }
    } catch (error) {
      await sender.deleteParts()
      throw body.failure ?? s3Failure('saving an object', error)
    } finally {
      signal?.removeEventListener('abort', abort)
      body.destroy()
    }
  } catch (error) {
    if (isReadable(content)) content.destroy()
    throw error
  }
}

/** @throws WEIR_OPTION_INVALID */
function checkedTarget(target: S3Target): typeof S3_TARGET_RULES.settings {
  const given: unknown = target
  if (typeof given !== 'object' || given === null)
    throw invalid(OWNER, `target is ${shown(given)}, not an object such as { bucket: 'photos' }`)
  const place = S3_TARGET_RULES.read(target)
  if (place.key !== undefined && place.prefix !== undefined) throw invalid(OWNER, 'prefix is for generated keys, and key is given')
  return place
}

function partSizeFor(maxBytes: number): number {
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
  readonly #body: ObjectBody
  /** The parts that may be in S3. */
  #unfinished: { readonly Bucket: string; readonly Key: string; readonly UploadId: string } | null = null

  constructor(client: AwsS3Client, body: ObjectBody) {
    this.config = client.config
    this.#client = client
    this.#s3 = S3
    this.#body = body
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
      this.#body.stop()
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

/** The bytes of an object on their way to S3, checked against the policy. */
class ObjectBody extends Readable implements BodySink {
  readonly #pieces = new PieceQueue(this)
  readonly #inspector: ByteInspector
  readonly #hash: Hash | null
  #received = 0
  #hasStopped = false
  /** Why there will be no object, unless S3 is the reason. */
  failure: Error | null = null
  /** More bytes can be taken. */
  onRoom = (): void => {}

  constructor({ inspector, hash }: CheckedPolicy) {
    super({ highWaterMark: HIGH_WATER_MARK })
    this.#inspector = inspector
    this.#hash = hash
    this.on('error', () => {}) // Upload reports it
  }

  /** Bytes so far. Upload would take a member `size` or `length` for the final size. */
  get received(): number {
    return this.#received
  }

  data(buffer: Buffer, start: number, end: number, isBorrowed: boolean): boolean {
    if (this.destroyed) return true
    const bytes = buffer.subarray(start, end)
    this.#received += bytes.length
    try {
      this.#inspector.look(bytes)
    } catch (error) {
      this.fail(error as Error)
      return true
    }
    this.#hash?.update(bytes)
    return this.#pieces.push(buffer, start, end, isBorrowed)
  }

  end(): void {
    if (this.destroyed) return
    try {
      this.#inspector.end()
    } catch (error) {
      this.fail(error as Error)
      return
    }
    this.#pieces.end()
  }

  fail(error: Error): void {
    this.destroy(error)
  }

  /** S3 has failed. */
  stop(): void {
    if (this.destroyed) return
    this.#hasStopped = true
    this.destroy(new Error('S3 has failed'))
  }

  override _read(): void {
    this.onRoom()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#hasStopped) this.failure = error
    callback(error)
    this.onRoom()
  }
}

/** Passes all bytes of `content` to `body`. */
function feed(body: ObjectBody, content: Readable | Uint8Array): void {
  if (!(content instanceof PartStream)) {
    pump(body, content).catch((error: unknown) => body.fail(asError(error)))
    return
  }
  // In the meantime, the upload may have been aborted, or something else may have started to read it.
  if (content.destroyed && !content.readableDidRead) {
    body.fail(content.errored ?? new Error('the upload was aborted'))
    return
  }
  body.onRoom = () => content.demand()
  const reason = content.divert(body)
  if (reason !== null) body.fail(new BodyAlreadyReadError(OWNER, reason))
  content.demand()
}

async function pump(body: ObjectBody, content: Readable | Uint8Array): Promise<void> {
  if (!(content instanceof Uint8Array)) refuseIf(OWNER, otherReader(content))
  for await (const piece of piecesOf(content, PIECE_BYTES)) {
    if (!body.data(piece, 0, piece.length, false) && !body.destroyed) await new Promise<void>((resolve) => (body.onRoom = resolve))
    if (body.destroyed) return
  }
  body.end()
}

function asError(thrown: unknown): Error {
  return isInstance(thrown, Error) ? thrown : new Error('the upload was aborted', { cause: thrown })
}
