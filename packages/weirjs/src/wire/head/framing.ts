// Decides how long the body of a request is (RFC 9112 §6.3). Nothing else in weir decides it.
//
// The result depends on two fields. It is a length, CHUNKED, or an error (fault: peer). Content-Length together with Transfer-Encoding is refused.
// §6.1 lets a server refuse or repair such a request, but repairing it lets a request be smuggled past a proxy that repairs it differently. The
// bytes are counted elsewhere: see http1/chunked.ts and http1/connection.ts.

import { isBlank, isToken, trimBlanks, ZERO } from '../../base/ascii.ts'
import { LimitError, ProtocolError } from '../../base/errors.ts'

/** The body is sent in chunks, so its length is known only at its end. */
export const CHUNKED = -1
/** Of a response: it has no body and no Content-Length: 204, 304 (RFC 9110 §8.6). */
export const NO_LENGTH = -2

/**
 * @param contentLength value of the only Content-Length field, without surrounding blanks; null when there is none
 * @param transferEncoding values of all Transfer-Encoding fields, joined with `, `; null when there are none
 * @returns number of bytes, 0 when there is no body, or `CHUNKED`
 */
export function bodyLength(contentLength: string | null, transferEncoding: string | null, minorVersion: number): number {
  if (transferEncoding === null) return contentLength === null ? 0 : readLength(contentLength)
  if (minorVersion === 0) throw new ProtocolError('WEIR_TRANSFER_CODING_HTTP10')
  if (contentLength !== null) throw new ProtocolError('WEIR_LENGTH_AND_CODING')
  if (transferEncoding === 'chunked' || transferEncoding.toLowerCase() === 'chunked') return CHUNKED
  throw refuseCoding(transferEncoding)
}

function readLength(text: string): number {
  let length = 0
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - ZERO
    if (digit < 0 || digit > 9) throw new ProtocolError('WEIR_CONTENT_LENGTH_SYNTAX')
    length = length * 10 + digit
  }
  if (text.length === 0) throw new ProtocolError('WEIR_CONTENT_LENGTH_SYNTAX')
  if (length > Number.MAX_SAFE_INTEGER) throw new LimitError('WEIR_BODY_TOO_LARGE', 'maxRequestBodySize', Number.MAX_SAFE_INTEGER, length)
  return length
}

/** 400 when chunked is not the single last coding, so that the end of the body is unknown (RFC 9112 §6.3); 501 for codings before it. */
function refuseCoding(transferEncoding: string): ProtocolError {
  const codings = transferEncoding.split(',').map((coding) => trimBlanks(coding))
  for (const coding of codings) {
    const name = nameOf(coding)
    if (!isToken(name)) return new ProtocolError('WEIR_TRANSFER_CODING_SYNTAX')
  }
  const chunked = codings.map((coding) => nameOf(coding).toLowerCase() === 'chunked')
  const misplaced = chunked.slice(0, -1).includes(true) || chunked.at(-1) !== true || codings.at(-1)!.length !== 'chunked'.length
  return new ProtocolError(misplaced ? 'WEIR_TRANSFER_CODING_SYNTAX' : 'WEIR_TRANSFER_CODING_UNKNOWN')
}

/** The coding without its parameters. */
function nameOf(coding: string): string {
  let end = coding.indexOf(';')
  if (end === -1) return coding
  while (end > 0 && isBlank(coding.charCodeAt(end - 1))) end--
  return coding.slice(0, end)
}
