// Uploads in S3. For each, an object with its record, and one with its state: which parts of the multipart upload count, and the bytes that are
// too few for a part. Any process can continue it: nothing is kept on the machine.

import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { PassThrough, pipeline, type Readable } from 'node:stream'
import { type AppendOptions, isUploadId, type StoredUpload, type UploadRecord, type UploadStorage, uploadRecordOf } from '@weirjs/uploads'
import { type Size, WeirError } from 'weirjs'
import { invalid, option, rules, shown } from 'weirjs/kit'

import { type FoundObject, S3Bucket, WriteConflict } from './s3-bucket.ts'
import { type AwsS3Client, checkClient, MIN_PART_BYTES, PART_BYTES, S3_RULES } from './s3-client.ts'
import { type DecodedState, decodeState, LINE_BYTES, offsetOf, type S3State } from './s3-state.ts'
import { type KnownState, MOST_PARTS, PartsGone, S3Writer, type UploadKeys } from './s3-writer.ts'

const { size, text } = option

/** Options of `s3Storage`. */
export interface S3StorageOptions {
  /** Name of the bucket, which must exist. */
  readonly bucket: string
  /** Beginning of all keys. Default `uploads/`. Nothing else should be there. */
  readonly prefix?: string
  /**
   * Size of each part, at least 5 MiB, and more for an upload that S3 would otherwise refuse because it has more than 10,000 parts. Default 8 MiB,
   * which allows 70 GiB where the client does not state the length. Each upload that is being received takes up to two parts of memory.
   */
  readonly partSize?: Size
  /**
   * Further parameters of S3's PutObject and CreateMultipartUpload for the bytes, such as `ContentType` or `ServerSideEncryption`. Parameters for
   * encryption apply to weir's own objects as well. Default: none.
   */
  readonly params?: Readonly<Record<string, unknown>>
}

const OWNER = 's3Storage()'
/** @internal */
export const S3_STORAGE_RULES = rules<S3StorageOptions>(OWNER)({
  ...S3_RULES,
  prefix: text().or('uploads/'),
  partSize: size({ least: MIN_PART_BYTES }).or(PART_BYTES),
})
/** Each process that takes an upload over skips a few part numbers. */
const PLANNED_PARTS = MOST_PARTS - 1000
const RECORD = '.json'
const STATE = '.state'
/** More than the line of most states. */
const FIRST_BYTES = 16 * 1024
/** In the metadata of the object with the bytes: the upload that it is of. A hash, because the object may become public. */
const MARK = 'weir-upload'

/**
 * Keeps uploads in a bucket of S3, or of a compatible store, from which any process can continue them. Several may, if they share `locks`. The store
 * should support conditional writes (`If-Match`), as S3 does: they keep a process that has lost its lock from changing anything.
 *
 * Have a lifecycle rule of the bucket abort incomplete multipart uploads some days after they expire.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function s3Storage(client: AwsS3Client, options: S3StorageOptions): UploadStorage {
  checkClient(OWNER, client)
  const { bucket, prefix, partSize, params } = S3_STORAGE_RULES.read(options)
  return new S3Storage(new S3Bucket(client, bucket, params), prefix, partSize)
}

interface ReadState extends DecodedState {
  readonly etag: string
}

class S3Storage implements UploadStorage {
  readonly name = 's3'
  readonly #bucket: S3Bucket
  readonly #prefix: string
  readonly #partSize: number

  constructor(bucket: S3Bucket, prefix: string, partSize: number) {
    this.#bucket = bucket
    this.#prefix = prefix
    this.#partSize = partSize
  }

  async create(record: UploadRecord): Promise<void> {
    await this.save(record)
  }

  async save(record: UploadRecord): Promise<void> {
    await this.#bucket.write(this.#key(record.id, RECORD), Buffer.from(JSON.stringify(record)))
  }

  async load(id: string): Promise<StoredUpload | null> {
    if (!isUploadId(id)) return null
    const [saved, known] = await Promise.all([this.#readRecord(this.#key(id, RECORD)), this.#readState(id)])
    if (saved === null || known === 'unreadable') return null
    const record = saved.stage === 'received' ? await this.#placed(saved) : saved
    const offset = known === null ? 0 : offsetOf(known.state, known.tailBytes)
    // The bytes of a complete upload may be elsewhere.
    if (record.stage !== 'open' && offset !== record.length) return record.keptAt === null ? null : { record, offset: record.length! }
    return { record, offset }
  }

  async append(
    record: UploadRecord,
    offset: number,
    bytes: AsyncIterable<Uint8Array>,
    { isAtomic, hasTakenOver }: AppendOptions,
  ): Promise<number> {
    const writer = await this.#writer(record, offset)
    try {
      if (hasTakenOver) await writer.takeOver()
      let hasRead = false
      const read = (async function* () {
        yield* bytes
        hasRead = true
      })()
      try {
        await writer.take(read, !isAtomic)
      } catch (error) {
        // The client has left, or S3 has failed. The client sends the missing bytes again.
        if (!isAtomic && !hasRead) await writer.writeDown().catch(() => {})
        throw error
      }
      const reached = writer.offset
      if (reached === record.length) await writer.finish()
      else await writer.writeDown()
      return reached // a writer that has finished has no bytes any more
    } catch (error) {
      if (!(error instanceof PartsGone)) {
        await writer.leave()
        throw error
      }
      await this.#recover(record, writer, record.length)
      return record.length!
    }
  }

  async complete(record: UploadRecord, size: number): Promise<void> {
    if (record.keptAt !== null) return
    const known = await this.#readState(record.id)
    if (known !== null && known !== 'unreadable' && known.state.size === size) return
    const writer = await this.#writer(record, size)
    try {
      await writer.finish()
    } catch (error) {
      if (!(error instanceof PartsGone)) throw error
      await this.#recover(record, writer, size)
    }
  }

  read(record: UploadRecord): Readable {
    const bytes = new PassThrough()
    const { keptAt } = record
    this.#bucket.open(keptAt === null ? this.#key(record.id) : this.#keyAt(keptAt)).then(
      (found) => pipeline(found, bytes, () => {}),
      (error: Error) => bytes.destroy(error),
    )
    return bytes
  }

  locate(record: UploadRecord): string {
    return `s3://${this.#bucket.name}/${this.#key(record.id)}`
  }

  async moveTo(record: UploadRecord, target: string): Promise<void> {
    const own = this.#key(record.id)
    const place = this.#keyAt(target)
    if (place === '') throw invalid('moveTo()', 'the key is empty: name the object')
    if (place.startsWith('s3://')) throw invalid('moveTo()', `${shown(target)} is in another bucket`)
    const { keptAt, moving } = await this.#placed(record)
    const from = keptAt === null ? own : this.#keyAt(keptAt)
    if (from === place) return
    const [found, taken] = [await this.#bucket.find(from), await this.#bucket.find(place)]
    if (found === null) {
      if (isOf(record, taken)) return
      throw new WeirError('WEIR_STORE_UNAVAILABLE', 'S3: the object with the bytes of the upload is not there')
    }
    // A process that dies after the copy leaves both objects.
    if (taken === null) await this.#bucket.copy(from, place, found).catch(asTaken)
    else if (!isOf(record, taken)) asTaken(new WriteConflict())
    const earlier = moving === undefined ? place : this.#keyAt(moving)
    if (earlier !== place && earlier !== from && isOf(record, await this.#bucket.find(earlier))) await this.#bucket.delete(earlier)
    await this.#bucket.delete(from)
  }

  /** The record, with the place where the bytes are if a move of them was interrupted. Its own object counts before any other while it exists. */
  async #placed(record: UploadRecord): Promise<UploadRecord> {
    const { keptAt, moving } = record
    if (keptAt === null && moving === undefined) return record
    const [own, kept] = [this.#key(record.id), keptAt === null ? null : this.#keyAt(keptAt)]
    if (isOf(record, await this.#bucket.find(own))) return kept === null || kept === own ? record : { ...record, keptAt: null }
    if (moving === undefined || (kept !== null && isOf(record, await this.#bucket.find(kept)))) return record
    return isOf(record, await this.#bucket.find(this.#keyAt(moving))) ? { ...record, keptAt: moving } : record
  }

  async delete(record: UploadRecord): Promise<void> {
    const known = await this.#readState(record.id)
    const own = this.#key(record.id)
    if (known !== null && known !== 'unreadable' && known.state.uploadId !== null) await this.#bucket.abort(own, known.state.uploadId)
    if (record.keptAt === null || this.#keyAt(record.keptAt) !== own) await this.#bucket.delete(own)
    await this.#bucket.delete(this.#key(record.id, STATE))
    await this.#bucket.delete(this.#key(record.id, RECORD))
  }

  async *list(): AsyncIterable<UploadRecord> {
    for await (const { key } of this.#bucket.keys(this.#prefix)) {
      if (this.#idOf(key, RECORD) === null) continue
      const record = await this.#readRecord(key)
      if (record !== null) yield record
    }
  }

  /** Removes the remains of processes that died between two writes: parts that no state has, and states without a record. */
  async sweep(before: number): Promise<void> {
    for await (const { key, uploadId, begunAt } of this.#bucket.unfinished(this.#prefix)) {
      const id = this.#idOf(key, '')
      if (id === null || begunAt >= before) continue
      const known = await this.#readState(id)
      if (known === 'unreadable' || known?.state.uploadId === uploadId) continue
      await this.#bucket.abort(key, uploadId)
    }
    for await (const { key, writtenAt } of this.#bucket.keys(this.#prefix)) {
      const id = this.#idOf(key, STATE)
      if (id === null || writtenAt >= before || (await this.#bucket.find(this.#key(id, RECORD))) !== null) continue
      const known = await this.#readState(id)
      if (known !== null && known !== 'unreadable' && known.state.uploadId !== null)
        await this.#bucket.abort(this.#key(id), known.state.uploadId)
      await this.#bucket.delete(key)
    }
  }

  /** @param offset where its caller believes the upload to be */
  async #writer(record: UploadRecord, offset: number): Promise<S3Writer> {
    const known = await this.#readState(record.id)
    const found = known === null ? 0 : known === 'unreadable' ? null : offsetOf(known.state, known.tailBytes)
    if (found !== offset)
      throw new WeirError('WEIR_STORE_UNAVAILABLE', `S3: the upload is at ${found ?? 'no known offset'}, and not at ${offset}`)
    const state: KnownState =
      known === null || known === 'unreadable'
        ? { state: this.#newState(record), tailBytes: 0, etag: null }
        : { state: known.state, tailBytes: known.tailBytes, etag: known.etag }
    return new S3Writer(this.#bucket, this.#keys(record.id), { [MARK]: markOf(record) }, record.owner ?? '', state)
  }

  #newState({ length }: UploadRecord): S3State {
    const partSize = Math.max(this.#partSize, Math.ceil((length ?? 0) / PLANNED_PARTS))
    return { uploadId: null, partSize, parts: [], size: null }
  }

  /**
   * The multipart upload no longer exists. Either a process died after it had joined the parts, or the parts were deleted. In that case, the upload
   * is lost, and its client has to begin again.
   */
  async #recover(record: UploadRecord, writer: S3Writer, size: number | null): Promise<void> {
    const whole = await this.#bucket.find(this.#key(record.id))
    if (whole !== null && whole.size === size && whole.metadata[MARK] === markOf(record)) return writer.writeSize(size)
    await this.delete(record)
    throw new WeirError('WEIR_STORE_UNAVAILABLE', 'S3: the parts of the upload have been deleted')
  }

  async #readRecord(key: string): Promise<UploadRecord | null> {
    const found = await this.#bucket.readBytes(key)
    if (found === null) return null
    try {
      const record = uploadRecordOf(JSON.parse(found.bytes.toString()))
      return record !== null && key === this.#key(record.id, RECORD) ? record : null
    } catch {
      return null
    }
  }

  /** @param most how many bytes to read: more than the line of most states */
  async #readState(id: string, most: number = FIRST_BYTES): Promise<ReadState | null | 'unreadable'> {
    const key = this.#key(id, STATE)
    const found = await this.#bucket.readBytes(key, most)
    if (found === null) return null
    const state = decodeState(found.bytes)
    if (state === 'more') return most === FIRST_BYTES ? this.#readState(id, LINE_BYTES) : 'unreadable'
    if (state === null) return 'unreadable'
    return { ...state, etag: found.etag }
  }

  #keys(id: string): UploadKeys {
    return { whole: this.#key(id), state: this.#key(id, STATE) }
  }

  /** @param id that `isUploadId` accepts: nothing else becomes part of a key */
  #key(id: string, ending = ''): string {
    if (!isUploadId(id)) throw invalid(OWNER, `the id of an upload is ${shown(id)}`)
    return this.#prefix + id + ending
  }

  /** The id in a key with this ending, or null. */
  #idOf(key: string, ending: string): string | null {
    if (!key.startsWith(this.#prefix) || !key.endsWith(ending)) return null
    const id = key.slice(this.#prefix.length, key.length - ending.length)
    return isUploadId(id) ? id : null
  }

  /** The key of a place: a key, or a URL as `locate` returns it. */
  #keyAt(place: string): string {
    const start = `s3://${this.#bucket.name}/`
    return place.startsWith(start) ? place.slice(start.length) : place
  }
}

function markOf({ id }: UploadRecord): string {
  return createHash('sha256').update(id).digest('base64url')
}

/** Whether an object has the bytes of this upload. */
function isOf(record: UploadRecord, found: FoundObject | null): found is FoundObject {
  return found !== null && found.metadata[MARK] === markOf(record) && found.size === record.length
}

function asTaken(error: Error): never {
  if (error instanceof WriteConflict) throw invalid('moveTo()', 'there is an object with this key: choose another one')
  throw error
}
