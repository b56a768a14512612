// Writes forms as a browser sends them. The encoder shares no code with the parser.

/** One part, in the order of the form. */
export interface FormPart {
  readonly name: string
  readonly content: string | Uint8Array
  /** Makes the part a file. */
  readonly fileName?: string
  readonly contentType?: string
}

export const BOUNDARY = '----formOfTheTests7MA4YWx'

/** The header line for the result of `encodeForm`. */
export const FORM_FIELD = `Content-Type: multipart/form-data; boundary=${BOUNDARY}\r\n`

/** The whole form (RFC 7578, with names escaped as in HTML). */
export function encodeForm(parts: readonly FormPart[], boundary = BOUNDARY): Buffer {
  const pieces: Buffer[] = []
  for (const part of parts) pieces.push(encodeHead(part, boundary), Buffer.from(part.content as string), Buffer.from('\r\n'))
  pieces.push(Buffer.from(`--${boundary}--\r\n`))
  return Buffer.concat(pieces)
}

/** What precedes the content of a part. */
export function encodeHead({ name, fileName, contentType }: Omit<FormPart, 'content'>, boundary = BOUNDARY): Buffer {
  const file = fileName === undefined ? '' : `; filename="${escapeName(fileName)}"`
  const type = contentType === undefined ? '' : `\r\nContent-Type: ${contentType}`
  return Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"${file}${type}\r\n\r\n`)
}

function escapeName(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

/** A body in chunked transfer coding, one chunk for each piece. */
export function encodeChunks(pieces: Iterable<Uint8Array>): Buffer {
  const coded: Buffer[] = []
  for (const piece of pieces) {
    if (piece.length > 0) coded.push(Buffer.from(`${piece.length.toString(16)}\r\n`), Buffer.from(piece), Buffer.from('\r\n'))
  }
  return Buffer.concat([...coded, Buffer.from('0\r\n\r\n')])
}

/** Bytes that depend on their position, so that a lost, repeated or moved piece is noticed. */
export function patternBytes(size: number): Buffer {
  const bytes = Buffer.alloc(size)
  for (let at = 0; at < size; at++) bytes[at] = (at * 31 + (at >>> 8) * 17 + (at >>> 16)) & 0xff
  return bytes
}
