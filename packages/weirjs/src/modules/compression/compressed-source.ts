// A stream that passes through a compressor. It is flushed when its source pauses, read no faster than the client reads, and closed on both
// sides.

import type { ByteSource } from '../../http/response/byte-source.ts'

import type { ContentReader } from '../kit/content-reader.ts'

import type { Coding, Compressor } from './codings.ts'

/**
 * Compresses a source. It is read from now on, up to what the compressor buffers, and closed with the result: at the end, when it fails,
 * and when the client leaves. `onClose` is called once, when the compressor's memory is free.
 *
 * @param reader of the response. One that delivers more or less than was declared fails, as it would without compression
 */
export function compressSource(reader: ContentReader, coding: Coding, onClose: () => void): ByteSource {
  const compressor = coding.createStream()
  compressor.once('close', () => {
    reader.close()
    onClose()
  })
  feed(reader, compressor, coding.flushKind).catch((error: Error) => compressor.destroy(error))
  return compressor
}

async function feed(reader: ContentReader, compressor: Compressor, flushKind: number): Promise<void> {
  let holdsBytes = false
  const flush = (): void => {
    holdsBytes = false
    if (!compressor.destroyed) compressor.flush(flushKind)
  }
  for (;;) {
    const next = reader.next()
    // If the source has more at hand, read it first: each flush costs some of what compression saves.
    const flushing = holdsBytes ? setImmediate(flush) : undefined
    const piece = await next.finally(() => clearImmediate(flushing))
    if (compressor.destroyed) return
    if (piece === null) {
      compressor.end()
      return
    }
    if (piece.length > 0) holdsBytes = true
    if (!compressor.write(piece)) await roomIn(compressor)
  }
}

/** Resolves when there is room for more, or when the body is no longer read. */
function roomIn(compressor: Compressor): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      compressor.off('drain', go).off('close', go)
      resolve()
    }
    compressor.once('drain', go).once('close', go)
  })
}
