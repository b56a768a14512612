// Header fields as an answer keeps them: name, value, name, value, in the order in which they are sent. Names count whatever their case.

/** Fields that describe a body, and so go when the body is replaced by that of an error. Content-Security-Policy protects whatever is sent. */
const REPRESENTATION = /^(?:content-(?!security-policy).*|etag|last-modified|accept-ranges|cache-control|expires)$/i
/** Fields that say something of a body's very bytes, and so not of the same body in another coding. */
export const OF_THE_BYTES = ['Accept-Ranges', 'Content-Length', 'Content-MD5', 'Content-Digest', 'Repr-Digest', 'Digest']
/** Fields by which the engine frames messages and connections; a handler that set them could split an answer in two. */
export const FRAMING = /^(?:transfer-encoding|connection|keep-alive|upgrade|trailer|te|proxy-connection)$/i

/** The value of the first line of that name; null without one. */
export function firstValue(fields: readonly string[] | null, name: string): string | null {
  const wanted = name.toLowerCase()
  if (fields !== null) for (let i = 0; i < fields.length; i += 2) if (fields[i]!.toLowerCase() === wanted) return fields[i + 1]!
  return null
}

/** All lines of that name as one, which means the same for a field whose value is a list (RFC 9110 §5.3); null without one. */
export function joinedValue(fields: readonly string[] | null, name: string): string | null {
  const wanted = name.toLowerCase()
  let joined: string | null = null
  if (fields === null) return null
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i]!.toLowerCase() === wanted) joined = joined === null ? fields[i + 1]! : `${joined}, ${fields[i + 1]}`
  }
  return joined
}

/** Takes all lines of that name out. */
export function dropField(fields: string[] | null, name: string): void {
  if (fields === null) return
  const wanted = name.toLowerCase()
  for (let i = fields.length - 2; i >= 0; i -= 2) if (fields[i]!.toLowerCase() === wanted) fields.splice(i, 2)
}

/** Takes out all that describes a body. */
export function dropRepresentation(fields: string[] | null): void {
  if (fields === null) return
  for (let i = fields.length - 2; i >= 0; i -= 2) if (REPRESENTATION.test(fields[i]!)) fields.splice(i, 2)
}
