// Fields that both protocols read, and fields in which both describe an upload.

import { bagKey, type HttpResponse, type HttpSession, UnsupportedError } from 'weirjs'
import { exchange } from 'weirjs/kit'

const FIELDS = bagKey<Map<string, string>>('uploads')

/** Sets a field of the response, even if `onComplete` returns another response, or an error becomes the response. */
export function stateField({ bag }: HttpSession, name: string, value: string | number): void {
  let fields = bag.get(FIELDS)
  if (fields === undefined) {
    fields = new Map()
    bag.set(FIELDS, fields)
  }
  fields.set(name, String(value))
}

/** A hook that sends what `stateField` has set. */
export function sendFields({ bag }: HttpSession, response: HttpResponse): void {
  for (const [name, value] of bag.get(FIELDS) ?? []) response.header(name, value)
}

/** The number in a field: at most 15 digits, as in structured fields (RFC 9651 §3.3.1). Null if it is none. */
export function wholeNumberIn(field: string | null): number | null {
  return field !== null && /^\d{1,15}$/.test(field) ? Number(field) : null
}

/** The boolean in a structured field. Parameters have no meaning, and are not accepted. */
export function booleanIn(field: string | null): boolean | null {
  return field === '?1' ? true : field === '?0' ? false : null
}

/** Whether the request may have a body that is not empty. */
export function hasBody(session: HttpSession): boolean {
  return exchange(session).contentLength !== 0
}

/**
 * Refuses a content coding: appended bytes are only a part of the representation, so they could not be decoded alone, and offsets count bytes as
 * they are sent.
 * @throws UnsupportedError
 */
export function checkCoding(session: HttpSession): void {
  const coding = session.request.header('content-encoding')
  if (exchange(session).isDecoded || (coding !== null && coding.toLowerCase() !== 'identity')) throw new CodedUploadError(coding)
}

class CodedUploadError extends UnsupportedError {
  constructor(coding: string | null) {
    super('WEIR_CONTENT_CODING_UNSUPPORTED', coding === null ? 'uploads are not decoded' : JSON.stringify(coding.slice(0, 40)), [
      'identity',
    ])
  }
}

/** Null if it is known only at its end. */
export function bodyLengthOf(session: HttpSession): number | null {
  return exchange(session).contentLength
}

/** The path of an upload that the request creates. Without the origin, so that it is right behind any proxy that keeps paths. */
export function locationOf({ request }: HttpSession, id: string): string {
  const path = request.url.slice(0, request.url.length - (request.queryString === '' ? 0 : request.queryString.length + 1))
  // A loop: an expression would begin again at each of the characters before the last.
  let end = path.length
  while (end > 0 && (path[end - 1] === '/' || path[end - 1] === '?')) end--
  return `${path.slice(0, end)}/${id}`
}

/** The last segment of a reference to an upload. */
export function idIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}
