// The operations of S3 that keep uploads, on one bucket. Failures become WEIR_STORE_UNAVAILABLE; a missing object becomes null.

import { Buffer } from 'node:buffer'
import type { Readable } from 'node:stream'
import * as S3 from '@aws-sdk/client-s3'

import { type AwsS3Client, isOneOf, s3Failure } from './s3-client.ts'

/** A part of a multipart upload, by its number and the entity tag that S3 gave it. */
export type Part = readonly [number: number, etag: string]

/** A write has found another entity tag than it expected: another process has written. */
export class WriteConflict extends Error {}

export interface FoundObject {
  readonly size: number
  readonly metadata: Readonly<Record<string, string>>
}

/** The most bytes that S3 copies in one step. */
const MOST_COPIED_BYTES = 5 * 1024 ** 3

export class S3Bucket {
  readonly name: string
  readonly #client: AwsS3Client
  readonly #s3: typeof S3
  /** Passed to each operation that creates an object. */
  readonly #params: Readonly<Record<string, unknown>>

  constructor(client: AwsS3Client, name: string, params: Readonly<Record<string, unknown>>) {
    this.name = name
    this.#client = client
    this.#params = params
    this.#s3 = S3
  }

  /**
   * Writes an object that only weir reads.
   * @param expected entity tag of the object that it replaces; null: there is none; undefined: whatever is there
   * @returns its entity tag
   * @throws (rejects) WriteConflict
   */
  async write(key: string, body: Uint8Array, expected?: string | null): Promise<string> {
    const condition = expected === undefined ? {} : expected === null ? { IfNoneMatch: '*' } : { IfMatch: expected }
    try {
      const { ETag } = await this.#send<S3.PutObjectOutput>(
        new this.#s3.PutObjectCommand({ ...this.#encryption(), Bucket: this.name, Key: key, Body: body, ...condition }),
      )
      return ETag ?? ''
    } catch (error) {
      if (isOneOf(error, 'PreconditionFailed', 'ConditionalRequestConflict', ...(expected == null ? [] : ['NoSuchKey', 'NotFound'])))
        throw new WriteConflict('another process has written', { cause: error })
      throw s3Failure('writing', error)
    }
  }

  /** @param most how many bytes are enough @returns null if there is no such object */
  async readBytes(key: string, most?: number): Promise<{ bytes: Buffer; etag: string } | null> {
    try {
      const range = most === undefined ? {} : { Range: `bytes=0-${most - 1}` }
      const { Body, ETag } = await this.#send<S3.GetObjectCommandOutput>(
        new this.#s3.GetObjectCommand({ Bucket: this.name, Key: key, ...range }),
      )
      const { buffer, byteOffset, length } = await Body!.transformToByteArray()
      return { bytes: Buffer.from(buffer, byteOffset, length), etag: ETag ?? '' }
    } catch (error) {
      if (isOneOf(error, 'NoSuchKey', 'NotFound')) return null
      throw s3Failure('reading', error)
    }
  }

  async open(key: string): Promise<Readable> {
    try {
      const { Body } = await this.#send<S3.GetObjectCommandOutput>(new this.#s3.GetObjectCommand({ Bucket: this.name, Key: key }))
      return Body as Readable
    } catch (error) {
      throw s3Failure('reading', error)
    }
  }

  async find(key: string): Promise<FoundObject | null> {
    try {
      const { ContentLength, Metadata } = await this.#send<S3.HeadObjectOutput>(
        new this.#s3.HeadObjectCommand({ Bucket: this.name, Key: key }),
      )
      return { size: ContentLength ?? 0, metadata: Metadata ?? {} }
    } catch (error) {
      if (isOneOf(error, 'NoSuchKey', 'NotFound')) return null
      throw s3Failure('looking up', error)
    }
  }

  /** Writes the bytes of an upload that is too small for parts. */
  async put(key: string, body: Uint8Array, metadata: Record<string, string>): Promise<void> {
    await this.#do('writing', new this.#s3.PutObjectCommand({ ...this.#ofObject(metadata), Bucket: this.name, Key: key, Body: body }))
  }

  /** @returns the identifier of a multipart upload */
  async begin(key: string, metadata: Record<string, string>): Promise<string> {
    const { UploadId } = await this.#do<S3.CreateMultipartUploadOutput>(
      'beginning an upload',
      new this.#s3.CreateMultipartUploadCommand({ ...this.#ofObject(metadata), Bucket: this.name, Key: key }),
    )
    return UploadId!
  }

  /** @returns null if there is no such multipart upload any more */
  async putPart(key: string, uploadId: string, number: number, body: Uint8Array): Promise<Part | null> {
    try {
      const { ETag } = await this.#send<S3.UploadPartOutput>(
        new this.#s3.UploadPartCommand({ Bucket: this.name, Key: key, UploadId: uploadId, PartNumber: number, Body: body }),
      )
      return [number, ETag!]
    } catch (error) {
      if (isOneOf(error, 'NoSuchUpload')) return null
      throw s3Failure('writing a part', error)
    }
  }

  /** Makes one object of the parts. S3 refuses a part that another process has replaced. @returns false if there is no such upload any more */
  async join(key: string, uploadId: string, parts: readonly Part[]): Promise<boolean> {
    const Parts = parts.map(([PartNumber, ETag]) => ({ PartNumber, ETag }))
    try {
      await this.#send(
        new this.#s3.CompleteMultipartUploadCommand({ Bucket: this.name, Key: key, UploadId: uploadId, MultipartUpload: { Parts } }),
      )
      return true
    } catch (error) {
      if (isOneOf(error, 'NoSuchUpload')) return false
      throw s3Failure('joining the parts', error)
    }
  }

  /** Deletes the parts of a multipart upload, if there are any. */
  async abort(key: string, uploadId: string): Promise<void> {
    try {
      await this.#send(new this.#s3.AbortMultipartUploadCommand({ Bucket: this.name, Key: key, UploadId: uploadId }))
    } catch (error) {
      if (!isOneOf(error, 'NoSuchUpload')) throw s3Failure('aborting an upload', error)
    }
  }

  async delete(key: string): Promise<void> {
    await this.#do('deleting', new this.#s3.DeleteObjectCommand({ Bucket: this.name, Key: key }))
  }

  /**
   * Copies an object with its metadata.
   * @param mostAtOnce what S3 copies in one step; a larger object is copied in parts of this size
   * @throws (rejects) WriteConflict if there is an object with the new key
   */
  async copy(from: string, to: string, { size, metadata }: FoundObject, mostAtOnce = MOST_COPIED_BYTES): Promise<void> {
    const CopySource = [this.name, ...from.split('/')].map(encodeURIComponent).join('/')
    const whole = { ...this.#encryption(), Bucket: this.name, Key: to }
    try {
      if (size <= mostAtOnce) {
        await this.#send(new this.#s3.CopyObjectCommand({ ...whole, CopySource, IfNoneMatch: '*' }))
        return
      }
      const uploadId = await this.begin(to, metadata)
      const Parts: S3.CompletedPart[] = []
      const copied = { Bucket: this.name, Key: to, UploadId: uploadId, CopySource }
      try {
        for (let at = 0; at < size; at += mostAtOnce) {
          const range = { PartNumber: Parts.length + 1, CopySourceRange: `bytes=${at}-${Math.min(at + mostAtOnce, size) - 1}` }
          const { CopyPartResult } = await this.#send<S3.UploadPartCopyOutput>(new this.#s3.UploadPartCopyCommand({ ...copied, ...range }))
          Parts.push({ PartNumber: range.PartNumber, ETag: CopyPartResult!.ETag! })
        }
        const end = { Bucket: this.name, Key: to, UploadId: uploadId, MultipartUpload: { Parts }, IfNoneMatch: '*' }
        await this.#send(new this.#s3.CompleteMultipartUploadCommand(end))
      } catch (error) {
        await this.abort(to, uploadId)
        throw error
      }
    } catch (error) {
      if (isOneOf(error, 'PreconditionFailed', 'ConditionalRequestConflict')) throw new WriteConflict('the key is taken', { cause: error })
      throw s3Failure('copying', error)
    }
  }

  /** The keys that begin with `prefix`, and when each object was written. */
  async *keys(prefix: string): AsyncGenerator<{ readonly key: string; readonly writtenAt: number }> {
    for (let token: string | undefined; ; ) {
      const page: S3.ListObjectsV2Output = await this.#do(
        'listing',
        new this.#s3.ListObjectsV2Command({
          Bucket: this.name,
          Prefix: prefix,
          ...(token === undefined ? {} : { ContinuationToken: token }),
        }),
      )
      for (const { Key, LastModified } of page.Contents ?? []) yield { key: Key!, writtenAt: LastModified?.getTime() ?? Date.now() }
      token = page.NextContinuationToken
      if (page.IsTruncated !== true || token === undefined) return
    }
  }

  /** The multipart uploads that have been neither joined nor aborted, whose keys begin with `prefix`. */
  async *unfinished(prefix: string): AsyncGenerator<{ readonly key: string; readonly uploadId: string; readonly begunAt: number }> {
    for (let after: object = {}; ; ) {
      const page: S3.ListMultipartUploadsOutput = await this.#do(
        'listing unfinished uploads',
        new this.#s3.ListMultipartUploadsCommand({ Bucket: this.name, Prefix: prefix, ...after }),
      )
      for (const { Key, UploadId, Initiated } of page.Uploads ?? [])
        yield { key: Key!, uploadId: UploadId!, begunAt: Initiated?.getTime() ?? Date.now() }
      if (page.IsTruncated !== true) return
      after = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
    }
  }

  #ofObject(metadata: Readonly<Record<string, string>>): Record<string, unknown> {
    return { ...this.#params, Metadata: { ...(this.#params['Metadata'] as object | undefined), ...metadata } }
  }

  /** The parameters that apply to weir's own objects as well. */
  #encryption(): Record<string, unknown> {
    const names = ['ServerSideEncryption', 'SSEKMSKeyId', 'SSEKMSEncryptionContext', 'BucketKeyEnabled', 'ExpectedBucketOwner']
    return Object.fromEntries(names.flatMap((name) => (name in this.#params ? [[name, this.#params[name]]] : [])))
  }

  async #do<T>(operation: string, command: object): Promise<T> {
    try {
      return await this.#send<T>(command)
    } catch (error) {
      throw s3Failure(operation, error)
    }
  }

  #send<T>(command: object): Promise<T> {
    return this.#client.send(command as never) as Promise<T>
  }
}
