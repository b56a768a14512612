// Media types: `type/subtype; name=value` (RFC 9110 §8.3.1, §5.6.6).

import { isToken, trimBlanks } from '../base/ascii.ts'

import { parseParameters } from './parameters.ts'

export interface MediaType {
  /** `type/subtype` in lower case. */
  readonly type: string
  /** Lower-case name to value, with quotes and escapes removed. Whether case matters in a value depends on the parameter. */
  readonly parameters: ReadonlyMap<string, string>
}

/** The type to use if nothing better is known (RFC 2046 §4.5.1). */
export const BYTES_TYPE = 'application/octet-stream'

/** The range of all types. */
const ANY_TYPE = '*/*'

const NO_PARAMETERS: ReadonlyMap<string, string> = new Map()

/**
 * Parses the value of a `Content-Type`; null if it does not follow the grammar: no blanks around `/` and `=`, and values that are tokens or
 * quoted strings. The grammar allows empty parameters (`a/b;;` and `a/b;`). A repeated parameter can be read in two ways (`charset=utf-8;
 * charset=utf-7`), so the whole value is refused.
 */
export function parseMediaType(value: string): MediaType | null {
  if (value !== lastValue) {
    lastType = readMediaType(value)
    lastValue = value
  }
  return lastType
}

/** The last value is cached: the engine and the reader of the body both parse it, and most bodies have the same type as the one before. */
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

/**
 * Whether a media type without parameters is JSON: `application/json`, or anything that ends in `+json` (RFC 6839 §3.1). Case does not
 * matter.
 */
export function isJson(essence: string): boolean {
  if (essence === 'application/json') return true
  const type = essence.toLowerCase()
  return (
    type === 'application/json' || (type.endsWith('+json') && type.indexOf('/') < type.length - '/+json'.length + 1 && type.includes('/'))
  )
}

/** Whether a media type without parameters, in lower case, is in a range: the type itself, all subtypes as in `image/*`, or any type. */
export function isInRange(essence: string, range: string): boolean {
  if (range === essence || range === ANY_TYPE) return true
  return range.endsWith('/*') && essence.startsWith(range.slice(0, -1))
}

/** A media range without parameters in lower case; null if the text is not one. */
export function mediaRange(text: string): string | null {
  const media = parseMediaType(text)
  if (media === null || media.parameters.size > 0) return null
  return media.type.startsWith('*') && media.type !== ANY_TYPE ? null : media.type
}
