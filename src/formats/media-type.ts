// Media types: `type/subtype; name=value` (RFC 9110 §8.3.1, §5.6.6).

import { isToken, trimBlanks } from '../base/ascii.ts'

import { parseParameters } from './parameters.ts'

export interface MediaType {
  /** `type/subtype` in lower case. */
  readonly type: string
  /** Name in lower case to value, quotes and their escapes removed. Whether case matters in a value depends on the parameter. */
  readonly parameters: ReadonlyMap<string, string>
}

/** What nothing better is known of (RFC 2046 §4.5.1). */
export const BYTES_TYPE = 'application/octet-stream'

const NO_PARAMETERS: ReadonlyMap<string, string> = new Map()

/**
 * Reads the value of a `Content-Type`, or gives null when it does not follow the grammar: no blanks around `/` and `=`, values are
 * tokens or quoted strings. Empty parameters (`a/b;;` and `a/b;`) are allowed by the grammar. A parameter that is given twice has two
 * readings (`charset=utf-8; charset=utf-7`), so the whole value is refused.
 */
export function parseMediaType(value: string): MediaType | null {
  if (value !== lastValue) {
    lastType = readMediaType(value)
    lastValue = value
  }
  return lastType
}

/** The engine asks for the type of a body, and whoever reads the body again; and most bodies have that of the one before. */
let lastValue = ''
let lastType: MediaType | null = null

function readMediaType(value: string): MediaType | null {
  const semicolon = value.indexOf(';')
  const type = trimBlanks(value, 0, semicolon === -1 ? value.length : semicolon).toLowerCase()
  const slash = type.indexOf('/')
  if (slash === -1 || !isToken(type.slice(0, slash)) || !isToken(type.slice(slash + 1))) return null
  if (semicolon === -1) return { type, parameters: NO_PARAMETERS }
  const parameters = parseParameters(value, semicolon)
  return parameters === null ? null : { type, parameters }
}

/** Whether this media type without parameters is JSON: `application/json`, or anything that ends in `+json` (RFC 6839 §3.1). Case does not matter. */
export function isJson(essence: string): boolean {
  if (essence === 'application/json') return true
  const type = essence.toLowerCase()
  return (
    type === 'application/json' || (type.endsWith('+json') && type.indexOf('/') < type.length - '/+json'.length + 1 && type.includes('/'))
  )
}
