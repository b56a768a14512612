// Memory in which large texts become bytes. To allocate it for each response costs a third of what serializing the response does.

import { Buffer } from 'node:buffer'

const SMALLEST_BYTES = 32 * 1024
const LARGEST_BYTES = 1024 * 1024

/** One buffer of each power of two, made when it is needed; null while a write still holds it. All connections share them. */
const kept: (Buffer | null)[] = []

/**
 * Memory for `byteLength` bytes, at most twice as large, to be given back as soon as nobody reads it.
 * @returns null for texts so large that allocating is the smaller part of the work
 */
export function takeTextBuffer(byteLength: number): Buffer | null {
  if (byteLength > LARGEST_BYTES) return null
  const size = sizeFor(byteLength)
  const buffer = kept[size] ?? Buffer.allocUnsafeSlow(SMALLEST_BYTES << size)
  kept[size] = null
  return buffer
}

/** Somebody else may write into it from now on. */
export function giveBackTextBuffer(buffer: Buffer): void {
  kept[sizeFor(buffer.length)] = buffer
}

function sizeFor(byteLength: number): number {
  return byteLength <= SMALLEST_BYTES ? 0 : 32 - Math.clz32((byteLength - 1) / SMALLEST_BYTES)
}
