// What is kept about an upload in addition to its bytes.

import { randomBytes } from 'node:crypto'

/**
 * - `open`: bytes may be appended.
 * - `received`: all bytes are there, and `onComplete` has not succeeded yet.
 * - `complete`: `onComplete` has succeeded, or there is nothing to call: a partial upload.
 */
export type UploadStage = 'open' | 'received' | 'complete'

/** What is kept about an upload. Plain JSON; `uploadRecordOf` reads it. */
export interface UploadRecord {
  /** 192 random bits in base64url: 32 characters. */
  readonly id: string
  /** Milliseconds since 1970, by the clock of the process that created it. */
  readonly createdAt: number
  /** When it may be deleted, likewise. It never changes. */
  readonly expiresAt: number
  /** Of the whole upload, in bytes; null while the client has not stated it. */
  readonly length: number | null
  /** A hash of the principal that may continue it. Null for an upload that was created without a principal. */
  readonly owner: string | null
  /** Where it was created, and alone continues: the path, and the host and endpoint of its route. Null in a record of an earlier version. */
  readonly place: string | null
  /** As in the field Upload-Metadata of tus, whichever protocol was used; empty without any. */
  readonly metadata: string
  /** The field Upload-Concat of tus; null for an upload that is neither partial nor final. */
  readonly concat: string | null
  readonly stage: UploadStage
  /**
   * Where the program keeps the bytes: with `upload.keep()`, the place where the storage has them; with `upload.moveTo()`, another. They are no
   * longer deleted with the record. Null while they belong to the storage.
   */
  readonly keptAt: string | null
  /** Where `upload.moveTo()` was last to move them, if it is not known to have ended. They may be there, and others' bytes may be there instead. */
  readonly moving?: string
  /** What its first bytes show, once they were checked; missing before, and if they are not checked. */
  readonly detectedType?: string | null
}

const ID = /^[A-Za-z0-9_-]{32}$/

/** A new id, which no one can guess. */
export function newUploadId(): string {
  return randomBytes(24).toString('base64url')
}

/** Whether it may be an id. Nothing else reaches a storage. */
export function isUploadId(text: string): boolean {
  return ID.test(text)
}

/** Checks what a storage has kept, parsed from JSON. Null if it is not a record, because it is incomplete or others have changed it. */
export function uploadRecordOf(value: unknown): UploadRecord | null {
  if (typeof value !== 'object' || value === null) return null
  const record = value as { readonly [K in keyof UploadRecord]: unknown }
  const { id, createdAt, expiresAt, length, owner, place = null, metadata, concat, stage, keptAt, moving, detectedType } = record
  if (typeof id !== 'string' || !isUploadId(id)) return null
  if (!isWhole(createdAt) || !isWhole(expiresAt) || (length !== null && !isWhole(length))) return null
  if (!isTextOrNull(owner) || !isTextOrNull(place) || typeof metadata !== 'string' || !isTextOrNull(concat)) return null
  if (stage !== 'open' && stage !== 'received' && stage !== 'complete') return null
  if (!isTextOrNull(keptAt) || !isTextOrNull(moving ?? null) || !isTextOrNull(detectedType ?? null)) return null
  const more = { ...(typeof moving === 'string' && { moving }), ...(typeof detectedType === 'string' && { detectedType }) }
  return { id, createdAt, expiresAt, length, owner, place, metadata, concat, stage, keptAt, ...more }
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

export function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}
