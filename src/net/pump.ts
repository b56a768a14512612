// A streamed body on its way out, no faster than the client reads.

import { WeirError } from '../base/errors.ts'
import type { SourceReader } from '../http/byte-source.ts'

/** Where the pieces go. */
export interface PumpTarget {
  /** The client is gone, so nobody needs the rest. */
  readonly isGone: boolean
  /** Hands on one piece. @returns null, or a promise of the moment at which the client has read enough for the next */
  write(piece: Uint8Array): Promise<void> | null
}

/**
 * Reads `source` to its end. The source is closed whatever happens.
 * @param length what was promised, -1 without a promise
 * @throws what the source throws; WEIR_RESPONSE_LENGTH when it gives more or less than was promised
 */
export async function pump(source: SourceReader, length: number, target: PumpTarget): Promise<void> {
  let rest = length
  try {
    for (;;) {
      const { done, value } = await source.next()
      if (target.isGone) return
      if (done === true) break
      const piece = bytesOf(value)
      if (length !== -1 && (rest -= piece.length) < 0) {
        throw new WeirError('WEIR_RESPONSE_LENGTH', `${length} bytes were promised, more came`)
      }
      if (piece.length === 0) continue
      const drained = target.write(piece)
      if (drained !== null) await drained
      if (target.isGone) return
    }
  } finally {
    source.close()
  }
  if (length !== -1 && rest > 0) throw new WeirError('WEIR_RESPONSE_LENGTH', `${length} bytes were promised, ${rest} are missing`)
}

function bytesOf(item: unknown): Uint8Array {
  if (typeof item === 'string') return Buffer.from(item)
  if (item instanceof Uint8Array) return item
  if (item instanceof ArrayBuffer) return new Uint8Array(item)
  throw new WeirError('WEIR_RESULT_UNSENDABLE', `a stream gave ${item === null ? 'null' : typeof item}, not bytes or text`)
}
