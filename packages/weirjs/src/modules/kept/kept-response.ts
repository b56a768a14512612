// A response that is kept to be sent again: its status, the fields that the handler has set, and its body.

import { Buffer, isUtf8 } from 'node:buffer'

import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'

/** Kept for other requests. Nothing in it changes. */
export interface KeptResponse {
  readonly status: number
  /** The reason phrase that the handler has set; empty for the registered one. */
  readonly reason: string
  /** Content-Type; null for none. */
  readonly type: string | null
  /** Name, value, name, value, without Content-Type. */
  readonly fields: readonly string[]
  /** Null: it has none. */
  readonly body: Uint8Array | null
}

const NO_FIELDS: readonly string[] = Object.freeze([])

/**
 * The fields that have been set since there were only those in `before`. Fields that others set for each request, such as those of CORS, are
 * not kept. A name that has other values than before is kept with all of them.
 */
function fieldsSince(before: readonly string[] | null, after: readonly string[] | null): readonly string[] {
  if (after === null) return NO_FIELDS
  if (before === null) return [...after]
  const kept: string[] = []
  const unchanged = new Map<string, boolean>()
  for (let i = 0; i < after.length; i += 2) {
    const name = after[i]!.toLowerCase()
    let isSame = unchanged.get(name)
    if (isSame === undefined) {
      isSame = valuesOf(before, name) === valuesOf(after, name)
      unchanged.set(name, isSame)
    }
    if (!isSame) kept.push(after[i]!, after[i + 1]!)
  }
  return kept
}

/** All values of a name, in one text. A value has no line ends. */
function valuesOf(fields: readonly string[], name: string): string {
  let values = ''
  for (let i = 0; i < fields.length; i += 2) if (fields[i]!.toLowerCase() === name) values += `${fields[i + 1]}\n`
  return values
}

/**
 * A copy of the body, which may be a view of memory that is used again; null for a response without one.
 *
 * @returns undefined for a body that is not in memory, or has more than `mostBytes`
 */
export function copyBody({ content }: OutgoingResponse, mostBytes: number): Uint8Array | null | undefined {
  if (content.kind === 'none') return null
  if (content.kind !== 'text' && content.kind !== 'bytes') return undefined
  if (content.kind === 'bytes') return content.bytes.length <= mostBytes ? Uint8Array.prototype.slice.call(content.bytes) : undefined
  if (content.text.length > mostBytes) return undefined // at least one byte each
  const bytes = new TextEncoder().encode(content.text)
  return bytes.length <= mostBytes ? bytes : undefined
}

/** @param before the fields that were set before the handler ran */
export function keptResponse(response: OutgoingResponse, before: readonly string[] | null, body: Uint8Array | null): KeptResponse {
  const { statusCode, reasonPhrase, type } = response
  return { status: statusCode, reason: reasonPhrase, type, fields: fieldsSince(before, response.fields), body }
}

/** Sends it. Fields of `response` stay, unless the kept response has others of the same name. */
export function sendKept(response: OutgoingResponse, { status, reason, type, fields, body }: KeptResponse): void {
  response.status(status, reason)
  response.begin(response.fields === null ? fields : merged(response.fields, fields))
  if (body === null) response.removeHeader('Content-Type')
  else if (type === null) response.body(body).removeHeader('Content-Type')
  else response.body(body, type)
}

function merged(set: readonly string[], kept: readonly string[]): string[] {
  const names = new Set<string>()
  for (let i = 0; i < kept.length; i += 2) names.add(kept[i]!.toLowerCase())
  const fields: string[] = []
  for (let i = 0; i < set.length; i += 2) if (!names.has(set[i]!.toLowerCase())) fields.push(set[i]!, set[i + 1]!)
  fields.push(...kept)
  return fields
}

/** Its form in a store of text: the clients of Redis pass everything on as UTF-8. */
interface PackedResponse {
  readonly s: number
  readonly r?: string
  readonly t: string | null
  readonly f: readonly string[]
  /** The body as text, or in base64. */
  readonly b?: string
  readonly x?: string
}

export function packResponse({ status, reason, type, fields, body }: KeptResponse): PackedResponse {
  return {
    s: status,
    ...(reason === '' ? {} : { r: reason }),
    t: type,
    f: fields,
    ...(body === null ? {} : isUtf8(body) ? { b: Buffer.from(body).toString('utf8') } : { x: Buffer.from(body).toString('base64') }),
  }
}

/** @returns null for what `packResponse` has not made */
export function unpackResponse(packed: unknown): KeptResponse | null {
  if (typeof packed !== 'object' || packed === null) return null
  const { s, r = '', t, f, b, x } = packed as Partial<PackedResponse>
  if (!Number.isInteger(s) || typeof r !== 'string' || (t !== null && typeof t !== 'string')) return null
  if (!Array.isArray(f) || f.length % 2 !== 0 || !f.every((one) => typeof one === 'string')) return null
  const body = typeof b === 'string' ? Buffer.from(b) : typeof x === 'string' ? Buffer.from(x, 'base64') : null
  return { status: s!, reason: r, type: t, fields: f, body }
}
