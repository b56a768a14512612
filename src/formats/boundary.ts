// The boundary of a multipart/form-data body (RFC 2046 §5.1.1, RFC 7578 §4.1).

import { parseMediaType } from './media-type.ts'

// 1 to 70 bchars, the last one no space.
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/

/**
 * The boundary that a `Content-Type` gives, or null when the value is not exactly `multipart/form-data` (in any case), does not follow
 * the grammar, has no boundary, has two, or has one that RFC 2046 does not allow.
 */
export function boundaryOf(contentType: string): string | null {
  const mediaType = parseMediaType(contentType)
  if (mediaType === null || mediaType.type !== 'multipart/form-data') return null
  const boundary = mediaType.parameters.get('boundary')
  return boundary !== undefined && isBoundary(boundary) ? boundary : null
}

/** Whether RFC 2046 §5.1.1 allows this boundary: 1 to 70 characters of a small set, without a space at the end. */
export function isBoundary(text: string): boolean {
  return BOUNDARY.test(text)
}
