// The fields of a response as a flat list: name, value, name, value, in the order in which they are sent. Names are case-insensitive.

import { unsendableField } from '../../base/errors.ts'

/**
 * Fields that describe a body, and are removed when an error's body replaces it. Content-Security-Policy stays, because it protects any
 * response.
 */
const REPRESENTATION = /^(?:content-(?!security-policy).*|etag|last-modified|accept-ranges|cache-control|expires|trailer)$/i
/** Fields that apply to the exact bytes of a body, and are wrong once the body has another content coding. */
export const OF_THE_BYTES = ['Accept-Ranges', 'Content-Length', 'Content-MD5', 'Content-Digest', 'Repr-Digest', 'Digest']
/** Fields with which the engine frames messages and manages connections. A handler that sets them could split a response in two. */
export const FRAMING = /^(?:transfer-encoding|connection|keep-alive|upgrade|trailer|te|proxy-connection)$/i

/** The value of the first field of that name; null when there is none. */
export function firstValue(fields: readonly string[] | null, name: string): string | null {
  const wanted = name.toLowerCase()
  if (fields !== null) for (let i = 0; i < fields.length; i += 2) if (fields[i]!.toLowerCase() === wanted) return fields[i + 1]!
  return null
}

/**
 * The values of all fields of that name, joined, which has the same meaning when the value is a list (RFC 9110 §5.3). Null when there are
 * none.
 */
export function joinedValue(fields: readonly string[] | null, name: string): string | null {
  const wanted = name.toLowerCase()
  let joined: string | null = null
  if (fields === null) return null
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i]!.toLowerCase() === wanted) joined = joined === null ? fields[i + 1]! : `${joined}, ${fields[i + 1]}`
  }
  return joined
}

/** Removes all fields of that name. */
export function dropField(fields: string[] | null, name: string): void {
  if (fields === null) return
  const wanted = name.toLowerCase()
  for (let i = fields.length - 2; i >= 0; i -= 2) if (fields[i]!.toLowerCase() === wanted) fields.splice(i, 2)
}

/** Removes all fields that describe a body. */
export function dropRepresentation(fields: string[] | null): void {
  if (fields === null) return
  for (let i = fields.length - 2; i >= 0; i -= 2) if (REPRESENTATION.test(fields[i]!)) fields.splice(i, 2)
}

/** The value of a field. @throws WEIR_RESPONSE_HEADER_SYNTAX for what is neither a text nor a number */
export function textOf(name: string, value: string | number): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  throw unsendableField(name, value, 'a string or a number')
}
