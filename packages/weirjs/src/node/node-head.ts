// The head of a response of Node as a response of weir.

import { type ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'

import { isFieldValue, isToken } from '../base/ascii.ts'
import { WeirError } from '../base/errors.ts'
import { mayBeTrailer } from '../base/trailer-names.ts'
import { FRAMING } from '../http/response/field-list.ts'
import type { OutgoingResponse } from '../http/response/outgoing-response.ts'

/** What `writeHead` and `setHeader` accept as a value. */
type FieldValue = string | number | readonly string[]

/** The value of a trailer, once the body has ended; null if it has not been set. */
type TrailerOf = (name: string) => string | null

/** Calls `take` with each field of a head. */
type Take = (name: string, value: FieldValue) => void

/**
 * Copies status and fields to `own`. Fields about the connection are left out: the engine sets them, in each protocol.
 * @param headers what Node passes to `_storeHeader`: the fields of `setHeader`, or else of `writeHead`, which are checked here
 * @returns the length of the body that was declared; -1 for none
 * @throws Node's errors for fields that cannot be sent; WEIR_RESPONSE_STATUS
 */
export function storeHead(own: OutgoingResponse, res: ServerResponse, headers: unknown, trailerOf: TrailerOf): number {
  const { statusCode, statusMessage } = res
  own.status(statusCode, statusMessage === STATUS_CODES[statusCode] ? '' : statusMessage, 999)
  let length = -1
  // Only a list may have a name twice.
  const names = Array.isArray(headers) ? new Set<string>() : null
  eachField(res, headers, (name, value) => {
    if (FRAMING.test(name)) {
      storeFraming(own, name, String(value), trailerOf)
      return
    }
    const isRepeated = names?.has(name.toLowerCase()) === true
    names?.add(name.toLowerCase())
    if (typeof value === 'object') {
      if (!isRepeated) own.removeHeader(name)
      for (const one of value) own.appendHeader(name, one)
    } else if (isRepeated) own.appendHeader(name, value)
    else {
      own.header(name, value)
      if (name.length === 14 && /^content-length$/i.test(name)) length = Number(value)
    }
  })
  return length
}

function storeFraming(own: OutgoingResponse, name: string, value: string, trailerOf: TrailerOf): void {
  if (/^connection$/i.test(name)) {
    if (/(?:^|\W)close(?:$|\W)/i.test(value)) own.header('Connection', 'close')
  } else if (/^trailer$/i.test(name)) {
    for (const one of value.split(',')) {
      const trailer = one.trim()
      if (isToken(trailer) && mayBeTrailer(trailer)) own.trailer(trailer, () => trailerOf(trailer))
    }
  }
}

function eachField(res: ServerResponse, headers: unknown, take: Take): void {
  if (typeof headers !== 'object' || headers === null) return
  if (Array.isArray(headers)) {
    eachPair(headers, take)
    return
  }
  for (const key in headers) {
    const value = (headers as Record<string, unknown>)[key]
    // The list of `setHeader` has the names as they were written. If it is empty, these are the fields of `writeHead`.
    if (res.hasHeader(key) && Array.isArray(value)) take(value[0], ready(value[1]))
    else if (Object.hasOwn(headers, key)) takeChecked(key, value, take)
  }
}

/** A list of pairs, or a list in which names and values alternate. */
function eachPair(list: readonly unknown[], take: Take): void {
  if (Array.isArray(list[0])) for (const [name, value] of list as readonly [string, unknown][]) takeChecked(name, value, take)
  else for (let i = 0; i + 1 < list.length; i += 2) takeChecked(list[i] as string, list[i + 1], take)
}

function takeChecked(name: string, value: unknown, take: Take): void {
  validateHeaderName(name)
  for (const one of [value].flat()) validateHeaderValue(name, one as string)
  take(name, ready(value))
}

/** Node accepts any value that has a text. */
function ready(value: unknown): FieldValue {
  if (typeof value === 'string' || typeof value === 'number') return value
  return Array.isArray(value) ? value.map(String) : String(value)
}

/** The fields of a head that is text, such as one that Node has made for early hints. @throws WEIR_RESPONSE_HEADER_SYNTAX */
export function fieldsOfText(head: string): string[] {
  return head.split('\r\n').flatMap((line) => {
    const colon = line.indexOf(':')
    if (colon < 1) return []
    const value = line.slice(colon + 1).trim()
    if (!isFieldValue(value)) throw new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', JSON.stringify(line.slice(0, colon)))
    return [line.slice(0, colon), value]
  })
}
