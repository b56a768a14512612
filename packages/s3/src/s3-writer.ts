// Appends to one upload in S3: gathers parts, sends one while it gathers the next, and records its progress.

import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { WeirError } from 'weirjs'
import { FairQueue, PieceList } from 'weirjs/kit'
import { type Part, type S3Bucket, WriteConflict } from './s3-bucket.ts'
import { decodeState, encodeState, LINE_BYTES, offsetOf, type S3State } from './s3-state.ts'

/** S3 accepts no more. */
export const MOST_PARTS = 10_000
/** The most parts between two writes of the state. Parts that are not in the state are lost when the process dies. */
const MOST_UNWRITTEN = 16
/** Parts that a writer may have on their way beyond those that it has written down. */
const PARTS_UNDER_WAY = 2

/** The keys of one upload. */
export interface UploadKeys {
  /** Of all its bytes, once they are there. */
  readonly whole: string
  readonly state: string
}

/** A state that has been read, or the state of a new upload. */
export interface KnownState {
  readonly state: S3State
  /** Bytes of the upload that are in the state, because they are too few for a part. */
  readonly tailBytes: number
  /** Entity tag of the object that it was read from; null if there is none. */
  readonly etag: string | null
}

/** The multipart upload is no longer there. */
export class PartsGone extends Error {}

/**
 * Bounds how many tails are in memory at once, read from S3 to be sent or written again. A client can have a hundred uploads that each lack a
 * byte of a part, and continue all of them with one byte each. What runs there waits for no client.
 */
const readingTail = FairQueue.semaphore(4)

export class S3Writer {
  readonly #bucket: S3Bucket
  readonly #keys: UploadKeys
  readonly #owner: string
  readonly #metadata: Record<string, string>
  #uploadId: string | null
  /** The id of the multipart upload in the state. */
  #writtenUploadId: string | null
  readonly #partSize: number
  readonly #parts: Part[]
  #nextNumber: number
  /** Bytes in the state that are not in a part yet. Kept there until they are needed: a client may take any time to send the next one. */
  #tailBytes: number
  /** The bytes after them. */
  readonly #gathered = new PieceList()
  #etag: string | null
  /** How many parts the state in S3 has. */
  #written: number
  /** The part that is being sent. Never rejects. */
  #sending: Promise<void> = Promise.resolve()
  #failure: { readonly error: unknown } | null = null

  /** @param owner who shares with others what all writers may read at once */
  constructor(bucket: S3Bucket, keys: UploadKeys, metadata: Record<string, string>, owner: string, { state, tailBytes, etag }: KnownState) {
    this.#bucket = bucket
    this.#keys = keys
    this.#owner = owner
    this.#metadata = metadata
    this.#uploadId = state.uploadId
    this.#writtenUploadId = state.uploadId
    this.#partSize = state.partSize
    this.#parts = [...state.parts]
    this.#nextNumber = (state.parts.at(-1)?.[0] ?? 0) + 1
    this.#tailBytes = tailBytes
    this.#etag = etag
    this.#written = state.parts.length
  }

  /** Bytes so far, durable or not. */
  get offset(): number {
    return offsetOf(this.#state(null), this.#tailBytes + this.#gathered.size)
  }

  /**
   * Takes an upload over from a process that may still be writing: the next state of that process is refused, and its parts until then get numbers
   * that this writer does not use.
   */
  async takeOver(): Promise<void> {
    await this.#writeAll()
    this.#nextNumber += unwrittenAt(this.#parts.length) + PARTS_UNDER_WAY
  }

  /**
   * Reads `bytes` no faster than they can be sent.
   * @param writesDown whether the state is written now and then
   * @throws (rejects) what `bytes` throws, PartsGone, WEIR_STORE_UNAVAILABLE
   */
  async take(bytes: AsyncIterable<Uint8Array>, writesDown: boolean): Promise<void> {
    for await (const chunk of bytes) {
      this.#gathered.add(chunk, false)
      while (this.#tailBytes + this.#gathered.size >= this.#partSize) await this.#sendPart(writesDown)
    }
    await this.#settle()
  }

  /** Makes all bytes that have been taken durable. */
  async writeDown(): Promise<void> {
    await this.#settle()
    await this.#writeAll()
  }

  /** Makes one object of all bytes. */
  async finish(): Promise<void> {
    await this.#settle()
    const size = this.offset
    await this.#withTail(this.#tailBytes, (tail) => this.#putRest(joined(tail, this.#gathered.takeWhole())))
    await this.writeSize(size)
  }

  async #putRest(rest: Buffer): Promise<void> {
    if (this.#uploadId === null) return this.#bucket.put(this.#keys.whole, rest, this.#metadata)
    const parts = [...this.#parts]
    if (rest.length > 0) parts.push(await this.#put(this.#uploadId, this.#number(), rest))
    if (!(await this.#bucket.join(this.#keys.whole, this.#uploadId, parts))) throw new PartsGone()
  }

  /** Gives up: deletes parts that no state lists. Never rejects. */
  async leave(): Promise<void> {
    await this.#sending
    const uploadId = this.#uploadId
    if (uploadId === null || uploadId === this.#writtenUploadId) return
    try {
      if (!(await this.#isWritten(uploadId))) await this.#bucket.abort(this.#keys.whole, uploadId)
    } catch {
      // `sweep` removes them later
    }
  }

  /** Whether the state names this multipart upload: a write that has failed may have arrived anyway. */
  async #isWritten(uploadId: string): Promise<boolean> {
    const found = await this.#bucket.readBytes(this.#keys.state, LINE_BYTES)
    if (found === null) return false
    const known = decodeState(found.bytes)
    return known === 'more' || known === null || known.state.uploadId === uploadId
  }

  /** Writes down that there is one object with all bytes. */
  async writeSize(size: number): Promise<void> {
    await this.#write(encodeState.bind(null, { ...this.#state(size), uploadId: null, parts: [] }, []))
  }

  /** Cuts a part off, and sends it once the part before it has been sent. */
  async #sendPart(writesDown: boolean): Promise<void> {
    await this.#settle()
    const all = this.#gathered.takeWhole()
    const tailBytes = this.#tailBytes
    const end = this.#partSize - tailBytes
    this.#tailBytes = 0
    // A copy, because otherwise a few bytes would keep the memory of the part.
    this.#gathered.add(all.subarray(end), true)
    this.#sending = this.#send(tailBytes, all.subarray(0, end), writesDown).catch((error: unknown) => {
      this.#failure = { error }
    })
  }

  async #send(tailBytes: number, bytes: Buffer, writesDown: boolean): Promise<void> {
    const uploadId = (this.#uploadId ??= await this.#bucket.begin(this.#keys.whole, this.#metadata))
    const part = await this.#withTail(tailBytes, (tail) => this.#put(uploadId, this.#number(), joined(tail, bytes)))
    this.#parts.push(part)
    if (writesDown && this.#parts.length - this.#written >= unwrittenAt(this.#written)) await this.#writeState([])
  }

  /** @param work with the bytes in the state, of which there are `tailBytes` */
  #withTail<T>(tailBytes: number, work: (tail: readonly Buffer[]) => Promise<T>): Promise<T> {
    return tailBytes === 0 ? work([]) : readingTail(this.#owner, null, async () => work([await this.#readTail(tailBytes)]))
  }

  async #readTail(tailBytes: number): Promise<Buffer> {
    const found = await this.#bucket.readBytes(this.#keys.state)
    const known = found === null ? null : decodeState(found.bytes)
    if (found?.etag !== this.#etag || known === null || known === 'more' || known.rest.length !== tailBytes)
      throw new WeirError('WEIR_STORE_UNAVAILABLE', 'S3: another process writes the same upload')
    return known.rest
  }

  #writeAll(): Promise<void> {
    return this.#withTail(this.#tailBytes, (tail) => this.#writeState([...tail, ...this.#gathered.blocks]))
  }

  async #put(uploadId: string, number: number, body: Buffer): Promise<Part> {
    const part = await this.#bucket.putPart(this.#keys.whole, uploadId, number, body)
    if (part === null) throw new PartsGone()
    return part
  }

  #number(): number {
    if (this.#nextNumber > MOST_PARTS)
      throw new WeirError('WEIR_STORE_UNAVAILABLE', `the upload needs more than ${MOST_PARTS} parts of ${this.#partSize} bytes`)
    return this.#nextNumber++
  }

  /** Waits for the part that is being sent. */
  async #settle(): Promise<void> {
    await this.#sending
    if (this.#failure !== null) throw this.#failure.error
  }

  async #writeState(tail: readonly Uint8Array[]): Promise<void> {
    const parts = this.#parts.length
    const uploadId = this.#uploadId
    await this.#write(encodeState.bind(null, this.#state(null), tail))
    this.#written = parts
    this.#writtenUploadId = uploadId
  }

  /** Replaces the state that this writer has read or written last, and no other. */
  async #write(encode: (writing: string) => Buffer): Promise<void> {
    const writing = randomBytes(16).toString('hex')
    const bytes = encode(writing)
    try {
      this.#etag = await this.#bucket.write(this.#keys.state, bytes, this.#etag)
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error
      // The client may have repeated a write whose response was lost.
      const found = await this.#bucket.readBytes(this.#keys.state)
      if (found === null || !found.bytes.equals(bytes))
        throw new WeirError('WEIR_STORE_UNAVAILABLE', 'S3: another process writes the same upload', { cause: error })
      this.#etag = found.etag
    }
  }

  #state(size: number | null): S3State {
    return { uploadId: this.#uploadId, partSize: this.#partSize, parts: this.#parts, size }
  }
}

function joined(tail: readonly Buffer[], bytes: Buffer): Buffer {
  return tail.length === 0 ? bytes : Buffer.concat([...tail, bytes])
}

/** After how many more parts the state is written again: its size grows with their number, and all writes together must not. */
function unwrittenAt(written: number): number {
  return Math.min(MOST_UNWRITTEN, 1 + Math.floor(written / 32))
}
