// Metadata: fields whose values are texts, or bytes in base64 where the name ends with -bin.

/** The value of a field whose name ends with `-bin`. */
export function encodeBinaryHeader(value: Uint8Array | string): string {
  return Buffer.from(value as string)
    .toString('base64')
    .replace(/={1,2}$/, '')
}

/** The bytes of a field whose name ends with `-bin`, with or without padding. */
export function decodeBinaryHeader(value: string): Uint8Array {
  return new Uint8Array(Buffer.from(value, 'base64'))
}

/** The value of `grpc-message`: UTF-8, percent-encoded where it is not printable ASCII. */
export function percentEncoded(text: string): string {
  return /^[ -$&-~]*$/.test(text)
    ? text
    : Buffer.from(text)
        .toString('latin1')
        .replace(/[^ -$&-~]/g, (unit) => `%${unit.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
}

/** Names that metadata may not have, because they belong to the protocol or to HTTP. */
const RESERVED =
  /^(?:connection|content-(?:encoding|length|type)|date|host|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade|grpc-(?:encoding|message|status|status-details-bin|accept-encoding)|connect-.*)$/

/** Name, value, name, value. Each cookie is a field of its own. */
export function fieldsOf(metadata: Headers | null, prefix = ''): string[] {
  const fields: string[] = []
  if (metadata !== null)
    for (const [name, value] of metadata) {
      if (!RESERVED.test(name)) fields.push(prefix + name, value)
    }
  return fields
}
