// The state of an upload in S3: one object with a line of JSON and the bytes that are too few for a part. In one object, the two cannot contradict
// each other after a crash.

import { Buffer } from 'node:buffer'

import type { Part } from './s3-bucket.ts'

export interface S3State {
  /** Identifier of the multipart upload. Null while there is no part. */
  readonly uploadId: string | null
  /** Bytes of each part, except the last. */
  readonly partSize: number
  /** In order. There may be gaps between their numbers. */
  readonly parts: readonly Part[]
  /** Size of the object that has been made of all bytes; null until then. */
  readonly size: number | null
}

/** More than the line of any state. */
export const LINE_BYTES = 1024 * 1024
/** The end of the line of JSON. */
const LINE_END = 0x0a

/** Bytes that are durable. @param tailBytes number of bytes that are too few for a part */
export function offsetOf(state: S3State, tailBytes: number): number {
  return state.size ?? state.parts.length * state.partSize + tailBytes
}

/** @param writing a random text by which its writer recognises what it has written */
export function encodeState(state: S3State, tail: readonly Uint8Array[], writing: string): Buffer {
  const tailBytes = tail.reduce((sum, { length }) => sum + length, 0)
  return Buffer.concat([Buffer.from(`${JSON.stringify({ ...state, tailBytes, writing })}\n`), ...tail])
}

export interface DecodedState {
  readonly state: S3State
  readonly tailBytes: number
  readonly writing: string
  /** The bytes after the line. */
  readonly rest: Buffer
}

/** @returns 'more' if the line is incomplete; null if it is not a state, because others have changed it */
export function decodeState(bytes: Buffer): DecodedState | 'more' | null {
  const end = bytes.indexOf(LINE_END)
  if (end === -1) return 'more'
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8', 0, end))
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const { uploadId, partSize, parts, size, tailBytes, writing } = value as Record<string, unknown>
  if ((typeof uploadId !== 'string' && uploadId !== null) || !isWhole(partSize) || !isWhole(tailBytes)) return null
  if (!Array.isArray(parts) || !parts.every(isPart) || typeof writing !== 'string') return null
  if (size !== null && !isWhole(size)) return null
  return { state: { uploadId, partSize, parts, size }, tailBytes, writing, rest: bytes.subarray(end + 1) }
}

function isPart(value: unknown): value is Part {
  return Array.isArray(value) && isWhole(value[0]) && typeof value[1] === 'string'
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
