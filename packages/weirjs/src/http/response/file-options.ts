// The options with which a handler sends a file, and their checks.

import { flag, matching, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'

/**
 * Options of `response.file(path, options)`. Fields that the handler set itself are kept, and conditional requests are judged by them.
 * @example
 * const options: FileOptions = { download: true, cacheControl: 'private' }
 * server.mapGet('/report', (_, { response }) => response.file('report.pdf', options))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/files-and-streams.md
 */
export interface FileOptions {
  /** Content-Type. Default: the type already set on the response, otherwise by file extension, otherwise `application/octet-stream`. */
  readonly contentType?: string
  /**
   * Tells the client to save the file instead of showing it (RFC 6266): under this name, or with `true` under the file's own name. Control
   * characters are removed from the name, and slashes become `_`. Default `false`.
   */
  readonly download?: boolean | string
  /** Cache-Control, such as `public, max-age=3600` (RFC 9111 §5.2; ages in seconds). Default: none. Also sent with 304. */
  readonly cacheControl?: string
  /**
   * Whether to send an ETag. It is made of the file's size and modification time, and of Content-Encoding if that is set. It is weak during
   * the first 2 seconds after a change. Default `true`.
   */
  readonly etag?: boolean
  /** Whether to send Last-Modified. Default `true`. */
  readonly lastModified?: boolean
  /** Whether to answer range requests (RFC 9110 §14). With `false`, Range is ignored. Default `true`. */
  readonly acceptRanges?: boolean
}

/** @internal */
export const FILE_RULES = rules<FileOptions>('file()')({
  contentType: text().optional('by extension'),
  download: matching<boolean | string>('true, false or a name', (given) => typeof given === 'boolean' || typeof given === 'string').or(
    false,
  ),
  cacheControl: text().optional(),
  etag: flag(true),
  lastModified: flag(true),
  acceptRanges: flag(true),
})
/** Shared by all calls without options. */
const NO_OPTIONS: FileOptions = Object.freeze({})

/** @throws WEIR_OPTION_INVALID */
export function checkedFileOptions(options?: FileOptions): FileOptions {
  if (options === undefined) return NO_OPTIONS
  FILE_RULES.check(options)
  return options
}
