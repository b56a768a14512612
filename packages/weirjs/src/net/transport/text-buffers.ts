// Buffers in which large texts are encoded. Allocating one for each response would take a third of the time that serializing the response takes.

import { Buffer } from 'node:buffer'

const SMALLEST_BYTES = 32 * 1024
const LARGEST_BYTES = 1024 * 1024

/** One buffer for each power of two, allocated on demand; null while a write uses it. All connections share them. */
const kept: (Buffer | null)[] = []

/**
 * A buffer for `byteLength` bytes, at most twice as large. Give it back as soon as nothing reads it.
 *
 * @returns null for texts so large that allocation is the smaller part of the work
 */
export function takeTextBuffer(byteLength: number): Buffer | null {
  if (byteLength > LARGEST_BYTES) return null
  const size = sizeFor(byteLength)
  const buffer = kept[size] ?? Buffer.allocUnsafeSlow(SMALLEST_BYTES << size)
  kept[size] = null
  return buffer
}

/** Returns a buffer. Others may write into it from now on. */
export function giveBackTextBuffer(buffer: Buffer): void {
  kept[sizeFor(buffer.length)] = buffer
}

function sizeFor(byteLength: number): number {
  return byteLength <= SMALLEST_BYTES ? 0 : 32 - Math.clz32((byteLength - 1) / SMALLEST_BYTES)
}
