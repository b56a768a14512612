// Where uploads are kept until they are complete: on disk, in S3, or elsewhere.

import type { Readable } from 'node:stream'

import type { UploadRecord } from './upload-record.ts'

/** An upload as a storage knows it. */
export interface StoredUpload {
  readonly record: UploadRecord
  /** How many bytes are durable: they are still there after a crash of the process. It never decreases. */
  readonly offset: number
}

/** What is special about one call of `append`. */
export interface AppendOptions {
  /** Whether all bytes count or none, because `bytes` verifies them before it ends. Until then, `load` must not count them, even after a crash. */
  readonly isAtomic: boolean
  /**
   * Whether another process has appended before and never released its lock, so that it may still be writing. Its further writes must neither
   * become part of the upload nor change it.
   */
  readonly hasTakenOver: boolean
}

/**
 * Keeps the bytes and the record of each upload. Made by `diskStorage` or `s3Storage`, or by your program.
 *
 * `save`, `append`, `complete`, `moveTo` and `delete` are called by one holder of the lock of an upload at a time (`UploadLocks`), `load` at any
 * time: only the holder relies on the offset. All functions may reject: then the client gets 503, and may continue later.
 */
export interface UploadStorage {
  /** The kind of storage, for the list of modules: `disk`. */
  readonly name: string
  /** Keeps the record of a new upload without bytes. It is durable when the promise resolves. */
  create(record: UploadRecord): Promise<void>
  /**
   * Null for an id that is unknown, and for an upload of which anything is lost. If the record has `moving`, a process may have died while it moved
   * the bytes: `keptAt` of the result is then where they are. What is at `moving` counts only if it is known to be of this upload.
   */
  load(id: string): Promise<StoredUpload | null>
  /** Replaces the record. All or nothing: after a crash, the old record is there or the new one. */
  save(record: UploadRecord): Promise<void>
  /**
   * Appends at `offset`, which `load` returned, and reads `bytes` no faster than it can write. Resolves when all of them are durable, with the new
   * offset. If `bytes` throws, the client has left, or the bytes are refused: the bytes that have arrived until then are made durable, unless
   * `isAtomic`, and the promise rejects with that error. The storage may keep the memory of each chunk.
   */
  append(record: UploadRecord, offset: number, bytes: AsyncIterable<Uint8Array>, options: AppendOptions): Promise<number>
  /** All bytes have arrived: joins them to the object that `read`, `locate` and `moveTo` work on. It may be called again after a crash. */
  complete(record: UploadRecord, size: number): Promise<void>
  /** The bytes of a complete upload, in order. */
  read(record: UploadRecord): Readable
  /** Where the storage itself keeps the bytes of a complete upload: the path of a file, or a URL such as `s3://bucket/key`. */
  locate(record: UploadRecord): string
  /**
   * Moves the bytes of a complete upload to a place of the program's choice, a path or a key, from `record.keptAt`, or from its own place if that is
   * null. It never overwrites anything, and bytes are at the target only if all of them are. The record that is saved has the target in `moving`, so
   * that a crash loses nothing; the argument has what was there before: the target of an earlier move that did not end.
   */
  moveTo(record: UploadRecord, target: string): Promise<void>
  /** Deletes everything about an upload, except bytes that are where `keptAt` says. Resolves if nothing is there. */
  delete(record: UploadRecord): Promise<void>
  /** The records of all uploads, to find those that have expired. Several processes may do this at the same time. */
  list(): AsyncIterable<UploadRecord>
  /** Removes remains that belong to no record and are older than `before` (milliseconds since 1970), if crashes can leave any. */
  sweep?(before: number): Promise<void>
}
