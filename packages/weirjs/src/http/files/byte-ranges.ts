// Selects the parts of a file that a client requests (RFC 9110 §14), and builds the body for several of them (§14.6).

import { Buffer } from 'node:buffer'
import { importPackage } from '../../base/packages.ts'
import type { ByteRange, FilePiece } from './file-source.ts'

/** The most ranges in one request. With more, the whole file is sent instead (RFC 9110 §14.2). */
export const MAX_RANGES = 10

let parseRange: typeof import('range-parser') | undefined

/**
 * The ranges that a Range field requests of a file of `size` bytes, in the order of the request. Ranges that overlap or touch are merged at
 * the place of the first. Null if the field has to be ignored: for another unit, a malformed field, too many ranges, or an empty file,
 * which has no part that could be named.
 */
export async function selectRanges(range: string, size: number): Promise<readonly ByteRange[] | 'unsatisfiable' | null> {
  if (size === 0) return null
  const asked = normalize(range, size)
  if (asked === null) return null
  parseRange ??= await importPackage('range-parser', async () => (await import('range-parser')).default)
  const ranges = parseRange(size, asked, { combine: true })
  if (typeof ranges === 'number') return ranges === -1 ? 'unsatisfiable' : null
  return ranges
}

/**
 * Rewrites the field so that `range-parser` reads it correctly; null if it has to be ignored. That package refuses a suffix longer than the
 * file, which means all of it. It also treats `5-3` as a range that the file does not have, although it is not a valid range (RFC 9110
 * §14.1.2, §14.1.1).
 */
function normalize(range: string, size: number): string | null {
  if (!/^bytes=/i.test(range)) return null
  const specs = range.slice('bytes='.length).split(',')
  if (specs.length > MAX_RANGES) return null
  for (let i = 0; i < specs.length; i++) {
    const spec = /^[ \t]*(\d*)-(\d*)[ \t]*$/.exec(specs[i]!)
    if (spec === null) return null
    const [, first, last] = spec
    if (first === '') {
      if (last === '') return null
      specs[i] = `-${Math.min(Number(last), size)}`
    } else if (last !== '' && Number(last) < Number(first)) return null
  }
  return `bytes=${specs.join(',')}`
}

/** The value of Content-Range for one part (RFC 9110 §14.4). */
export function contentRange(range: ByteRange, size: number): string {
  return `bytes ${range.start}-${range.end}/${size}`
}

/** A `multipart/byteranges` body. */
interface RangesBody {
  readonly contentType: string
  readonly pieces: readonly FilePiece[]
}

/** Builds one body from several ranges. The boundary is random, so that the bytes of a file cannot end a part. */
export function multipartRanges(ranges: readonly ByteRange[], size: number, partType: string): RangesBody {
  const boundary = crypto.randomUUID()
  const pieces: FilePiece[] = []
  let lineEnd = ''
  for (const range of ranges) {
    const head = `${lineEnd}--${boundary}\r\nContent-Type: ${partType}\r\nContent-Range: ${contentRange(range, size)}\r\n\r\n`
    pieces.push(Buffer.from(head, 'latin1'), range)
    lineEnd = '\r\n'
  }
  pieces.push(Buffer.from(`\r\n--${boundary}--\r\n`, 'latin1'))
  return { contentType: `multipart/byteranges; boundary=${boundary}`, pieces }
}
