// The boundary of a multipart/form-data body (RFC 2046 §5.1.1, RFC 7578 §4.1).

import { parseMediaType } from './media-type.ts'

// 1 to 70 bchars, of which the last is not a space, or token characters: `$`, `*`, `#` and others are not bchars, but clients use them, and
// they need no quotes.
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=?!#$%&*^`|~ ]{0,69}[0-9A-Za-z'()+_,\-./:=?!#$%&*^`|~]$/

/**
 * The boundary in a `Content-Type`. Null when the type is not `multipart/form-data` (in any case), the value does not follow the grammar,
 * or it has no boundary, two of them, or an invalid one.
 */
export function boundaryOf(contentType: string): string | null {
  const mediaType = parseMediaType(contentType)
  if (mediaType === null || mediaType.type !== 'multipart/form-data') return null
  const boundary = mediaType.parameters.get('boundary')
  return boundary !== undefined && isBoundary(boundary) ? boundary : null
}

/** Whether this can be a boundary: 1 to 70 characters that RFC 2046 §5.1.1 allows or that a token may have, without a space at the end. */
export function isBoundary(text: string): boolean {
  return BOUNDARY.test(text)
}
