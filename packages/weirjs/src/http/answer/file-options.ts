// The options with which a handler sends a file, and their checks.

import { shown } from '../../base/kind-of.ts'
import { checkNames, checkText, flag, invalid, namesOf } from '../../base/options.ts'

/** Options of `response.file(path, options)`. Fields that the handler set itself are kept, and conditional requests are judged by them. */
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

const OPTION_NAMES = namesOf<FileOptions>()(['contentType', 'download', 'cacheControl', 'etag', 'lastModified', 'acceptRanges'])
/** Shared by all calls without options. */
const NO_OPTIONS: FileOptions = Object.freeze({})

/** @throws WEIR_OPTION_INVALID */
export function checkedFileOptions(options?: FileOptions): FileOptions {
  if (options === undefined) return NO_OPTIONS
  checkNames('file()', options, OPTION_NAMES)
  const { download, contentType, cacheControl } = options
  checkText('file()', 'contentType', contentType)
  checkText('file()', 'cacheControl', cacheControl)
  for (const name of ['etag', 'lastModified', 'acceptRanges'] as const) flag('file()', name, options[name])
  if (download !== undefined && typeof download !== 'boolean' && typeof download !== 'string')
    throw invalid('file()', `download is ${shown(download)}, not true, false or a name`)
  return options
}
