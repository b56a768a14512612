// Which parts of a file a client asks for (RFC 9110 §14), and how several of them are sent at once (§14.6).

import { Buffer } from 'node:buffer'
import { importPackage } from '../../base/packages.ts'
import type { ByteRange, FilePiece } from './file-source.ts'

/** Ranges in one request. More than that is no way to read a file, and the whole of it is sent instead (RFC 9110 §14.2). */
export const MAX_RANGES = 10

let parseRange: typeof import('range-parser') | undefined

/**
 * What a Range field asks of a file of `size` bytes, in the order asked; ranges that overlap or touch are made one, at the place of the
 * first. Null when the field is to be ignored: another unit, malformed, too many ranges, or an empty file, of which no part can be named.
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
 * The field as `range-parser` reads it right; null when it is to be ignored. That package refuses a suffix longer than the file, which
 * means all of it, and takes `5-3` for a range that the file does not have, though it is none (RFC 9110 §14.1.2, §14.1.1).
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

/** The value of Content-Range for a part (RFC 9110 §14.4). */
export function contentRange(range: ByteRange, size: number): string {
  return `bytes ${range.start}-${range.end}/${size}`
}

/** A `multipart/byteranges` body. */
export interface RangesBody {
  readonly contentType: string
  readonly pieces: readonly FilePiece[]
}

/** Several ranges as one body. The boundary is random: a file's own bytes must not be able to end a part. */
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
