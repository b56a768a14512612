// What a handler may say about a file that it sends.

import { shown } from '../../base/kind-of.ts'
import { checkNames, checkText, flag, invalid, namesOf } from '../../base/options.ts'

/** How `response.file(path, options)` sends a file. Fields that the handler has set itself are kept and count in conditions. */
export interface FileOptions {
  /** Content-Type. Default: the one that the response has, else by the file's extension, else `application/octet-stream`. */
  readonly contentType?: string
  /**
   * Asks the client to save the file instead of showing it (RFC 6266): under this name, or with `true` under the file's own. Control
   * characters are removed from the name, and slashes become `_`. Default `false`.
   */
  readonly download?: boolean | string
  /** Cache-Control, such as `public, max-age=3600` (RFC 9111 §5.2; its ages are seconds). Default: none. A 304 carries it too. */
  readonly cacheControl?: string
  /** Whether to send an ETag, made of size and time of change, and of Content-Encoding where it is set. It is weak for the first 2 seconds after a change. Default `true`. */
  readonly etag?: boolean
  /** Whether to send Last-Modified. Default `true`. */
  readonly lastModified?: boolean
  /** Whether parts of the file may be asked for (RFC 9110 §14). Otherwise Range is ignored. Default `true`. */
  readonly acceptRanges?: boolean
}

const OPTION_NAMES = namesOf<FileOptions>()(['contentType', 'download', 'cacheControl', 'etag', 'lastModified', 'acceptRanges'])
/** Nothing said: the same object each time. */
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
