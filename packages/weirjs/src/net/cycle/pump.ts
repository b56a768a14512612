// Sends a streamed body, no faster than the client reads.

import { bytesOf, HEAD_ONLY, lengthError, type SourceReader, type SourceResult } from '../../http/response/byte-source.ts'
import { SourceTurns } from '../../http/response/source-turns.ts'

/** Where the pieces go. */
export interface PumpTarget {
  /** The client is gone, so the rest is not needed. */
  readonly isGone: boolean
  readonly clientAddress: string
  /** How large the next piece should be at most, if the memory of those before it is not read any more. */
  readonly mostPieceBytes?: number | undefined
  /** Sends the head, if it has not been sent. */
  sendHead(): void
  /**
   * Passes on one piece.
   * @param isLast whether it completes the promised length; always false if no length was promised
   * @returns null, or a promise that resolves when the client has read enough for the next piece
   */
  write(piece: Uint8Array, isLast: boolean): Promise<void> | null
}

/**
 * Reads `source` to its end. The source is closed in every case.
 * @param length that was promised, or -1
 * @throws what the source throws; WEIR_RESPONSE_LENGTH if it yields more or fewer bytes than were promised
 */
export async function pump(source: SourceReader, length: number, target: PumpTarget): Promise<void> {
  let rest = length
  const turns = new SourceTurns(target)
  const pass = ({ value }: SourceResult): Promise<void> | null => {
    if (value === HEAD_ONLY) {
      target.sendHead()
      return null
    }
    const piece = bytesOf(value)
    if (length !== -1 && (rest -= piece.length) < 0) throw lengthError(length, rest)
    turns.got(piece.length)
    return piece.length === 0 ? null : target.write(piece, rest === 0)
  }
  try {
    for (;;) {
      if (turns.isOver) {
        await turns.next()
        if (target.isGone) return
      }
      turns.ask()
      let result: SourceResult | null = await source.next(target.mostPieceBytes)
      if (target.isGone) return
      if (result.done === true) break
      const drained = pass(result)
      // Releases the piece: while it waits for the client, an async function keeps all its variables in memory.
      result = null
      if (drained !== null) await drained
      if (target.isGone) return
    }
  } finally {
    source.close()
  }
  if (length !== -1 && rest > 0) throw lengthError(length, rest)
}
