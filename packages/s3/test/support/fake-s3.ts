// A bucket in memory, behind a real client of the SDK: commands end before anything is sent. For what needs no server; the tests in
// test/uploads/ use one.

import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { S3Client } from '@aws-sdk/client-s3'

interface Kept {
  readonly bytes: Buffer
  readonly metadata: Readonly<Record<string, string>>
}

/** What the commands are called with. */
interface Input {
  readonly Key: string
  readonly Body?: Uint8Array | string
  readonly Metadata?: Readonly<Record<string, string>>
  readonly IfMatch?: string
  readonly IfNoneMatch?: string
  readonly Range?: string
  readonly UploadId?: string
  readonly PartNumber?: number
  readonly MultipartUpload?: { readonly Parts: readonly { readonly PartNumber: number; readonly ETag: string }[] }
  readonly CopySource?: string
  readonly Prefix?: string
}

/** An error as the SDK makes it of a response. */
function refusal(name: string, httpStatusCode: number): Error {
  return Object.assign(new Error(name), { name, $metadata: { httpStatusCode } })
}

function etagOf(bytes: Uint8Array): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`
}

export class FakeS3 {
  readonly client: S3Client
  readonly objects = new Map<string, Kept>()
  /** The multipart uploads that have been neither joined nor aborted, by id. */
  readonly unfinished = new Map<
    string,
    { readonly key: string; readonly metadata: Kept['metadata']; readonly parts: Map<number, Buffer> }
  >()
  /** The commands so far, such as `PutObject`. */
  readonly sent: string[] = []
  /** Makes a command fail: the error, or null. */
  fault: (command: string, input: Input) => Error | null = () => null
  /** Makes a command fail after it was done: the error, or null. */
  lost: FakeS3['fault'] = () => null
  /** Commands that are not done before a promise is settled. */
  readonly held = new Map<string, Promise<void>>()
  #uploads = 0

  constructor() {
    this.client = new S3Client({ region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } })
    this.client.middlewareStack.add(
      (_, { commandName = '' }) =>
        async ({ input }) => {
          const command = commandName.replace('Command', '')
          this.sent.push(command)
          await this.held.get(command)
          const error = this.fault(command, input as never)
          if (error !== null) throw error
          const output = { $metadata: {}, ...this.#answer(command, input as never) } as never
          const lost = this.lost(command, input as never)
          if (lost !== null) throw lost
          return { response: {}, output }
        },
      { step: 'initialize', priority: 'high' },
    )
  }

  #answer(command: string, input: Input): object {
    switch (command) {
      case 'PutObject':
        this.#checkConditions(input)
        return this.#put(input.Key, Buffer.from(input.Body ?? ''), input.Metadata)
      case 'GetObject':
        return this.#get(input)
      case 'HeadObject': {
        const { bytes, metadata } = this.#found(input.Key)
        return { ContentLength: bytes.length, Metadata: metadata }
      }
      case 'DeleteObject':
        this.objects.delete(input.Key)
        return {}
      case 'CopyObject': {
        const { bytes, metadata } = this.#found(decodeURIComponent(input.CopySource!.split('/').slice(1).join('/')))
        this.#checkConditions(input)
        return this.#put(input.Key, bytes, metadata)
      }
      case 'ListObjectsV2': {
        const keys = [...this.objects.keys()].filter((key) => key.startsWith(input.Prefix ?? ''))
        return { Contents: keys.map((Key) => ({ Key, LastModified: new Date() })) }
      }
      case 'CreateMultipartUpload': {
        const UploadId = `upload-${++this.#uploads}`
        this.unfinished.set(UploadId, { key: input.Key, metadata: input.Metadata ?? {}, parts: new Map() })
        return { UploadId }
      }
      case 'UploadPart': {
        const bytes = Buffer.from(input.Body!)
        this.#upload(input).parts.set(input.PartNumber!, bytes)
        return { ETag: etagOf(bytes) }
      }
      case 'CompleteMultipartUpload': {
        const { metadata, parts } = this.#upload(input)
        const named = input.MultipartUpload!.Parts.map(({ PartNumber, ETag }) => {
          const bytes = parts.get(PartNumber)
          if (bytes === undefined || etagOf(bytes) !== ETag) throw refusal('InvalidPart', 400)
          return bytes
        })
        this.unfinished.delete(input.UploadId!)
        return this.#put(input.Key, Buffer.concat(named), metadata)
      }
      case 'AbortMultipartUpload':
        this.#upload(input)
        this.unfinished.delete(input.UploadId!)
        return {}
      case 'ListMultipartUploads':
        return { Uploads: [...this.unfinished].map(([UploadId, { key }]) => ({ UploadId, Key: key, Initiated: new Date() })) }
      default:
        throw refusal('NotImplemented', 501)
    }
  }

  #put(key: string, bytes: Buffer, metadata: Kept['metadata'] = {}): object {
    this.objects.set(key, { bytes, metadata })
    return { ETag: etagOf(bytes) }
  }

  #get({ Key, Range }: Input): object {
    const { bytes } = this.#found(Key)
    const sent = Range === undefined ? bytes : bytes.subarray(0, Number(/-(\d+)$/.exec(Range)![1]) + 1)
    const Body = Object.assign(Readable.from([sent]), { transformToByteArray: () => Promise.resolve(new Uint8Array(sent)) })
    return { Body, ETag: etagOf(bytes) }
  }

  #found(key: string): Kept {
    const found = this.objects.get(key)
    if (found === undefined) throw refusal('NoSuchKey', 404)
    return found
  }

  #upload({ UploadId }: Input) {
    const found = this.unfinished.get(UploadId!)
    if (found === undefined) throw refusal('NoSuchUpload', 404)
    return found
  }

  #checkConditions({ Key, IfMatch, IfNoneMatch }: Input): void {
    const present = this.objects.get(Key)
    if (IfNoneMatch === '*' && present !== undefined) throw refusal('PreconditionFailed', 412)
    if (IfMatch !== undefined && (present === undefined || etagOf(present.bytes) !== IfMatch)) throw refusal('PreconditionFailed', 412)
  }
}
