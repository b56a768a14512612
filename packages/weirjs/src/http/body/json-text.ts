// Parses the JSON text of a body: strict UTF-8, limited depth, and no property that could become a prototype.

import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, DQUOTE, OPEN_BRACE, OPEN_BRACKET } from '../../base/ascii.ts'
import { CharsetError, ContentTypeError, InvalidBodyError, isInstance, WeirError } from '../../base/errors.ts'
import { charsetOf } from '../../formats/charset.ts'
import { isJson, type MediaType, parseMediaType } from '../../formats/media-type.ts'
import { DEFAULT_MAX_DEPTH } from '../../model/populate.ts'
import { checkSettled } from '../json-engine.ts'
import type { RequestBody } from './body.ts'
import type { BodySettings } from './body-reader.ts'

export const JSON_TYPE = 'application/json'

/** JSON between systems is UTF-8 (RFC 8259 §8.1): another charset is refused rather than guessed at. */
export function isJsonInUtf8({ type, parameters }: MediaType): boolean {
  return isJson(type) && charsetOf(parameters.get('charset')) === 'utf-8'
}

/** The same for a body that has to be JSON, or another type that the caller knows. @throws CharsetError */
export function requireJsonInUtf8(type: MediaType): boolean {
  if (!isJson(type.type)) return false
  const charset = type.parameters.get('charset')
  if (charsetOf(charset) !== 'utf-8') throw new CharsetError(charset!, ['utf-8'])
  return true
}

/** The value, after a check of the content type. @throws ContentTypeError, CharsetError, and what `parseJsonBody` throws */
export function readJson(member: string, contentType: string | null, body: RequestBody, settings: BodySettings): unknown {
  if (body.length(member) > 0) {
    const type = contentType === null ? null : parseMediaType(contentType)
    if (type === null || !requireJsonInUtf8(type)) throw new ContentTypeError(contentType, [JSON_TYPE])
  }
  return parseJsonBody(member, body, settings)
}

/** The value of a JSON text that is not a body, checked like one. @throws SyntaxError, also for more than 64 levels */
export function readJsonText(text: string): unknown {
  if (!isAtMost(DEFAULT_MAX_DEPTH, text)) throw new SyntaxError(`more than ${DEFAULT_MAX_DEPTH} levels`)
  const value: unknown = JSON.parse(text)
  if (mayHaveProto(text)) dropProto(value)
  return value
}

/**
 * The value of a JSON body, without properties called `__proto__`: copying them onto another object would replace its prototype.
 * @throws WEIR_BODY_MISSING, WEIR_BODY_MALFORMED; InvalidBodyError for more than 64 levels
 */
export function parseJsonBody(member: string, body: RequestBody, settings: BodySettings): unknown {
  const { jsonEngine } = settings
  const text = body.strictText(member, 'utf-8')
  if (text === null) throw new WeirError('WEIR_BODY_MALFORMED', 'it is not valid UTF-8')
  if (text === '') throw new WeirError('WEIR_BODY_MISSING', 'it is empty, and an empty text is not JSON')
  if (!isAtMost(DEFAULT_MAX_DEPTH, text)) throw tooDeep(settings)
  let value: unknown
  try {
    value = jsonEngine === null ? JSON.parse(text) : jsonEngine.deserialize(text)
  } catch (error) {
    // The message of a SyntaxError may repeat a part of the text, which may be secret.
    if (isInstance(error, SyntaxError)) throw new WeirError('WEIR_BODY_MALFORMED', 'it is not valid JSON')
    throw error
  }
  if (jsonEngine !== null) checkSettled(member, 'deserialize', value)
  if (mayHaveProto(text)) dropProto(value)
  return value
}

function tooDeep({ invalidBodyStatus }: BodySettings): InvalidBodyError {
  return new InvalidBodyError(
    [{ name: '', in: 'body', pointer: '', expected: `at most ${DEFAULT_MAX_DEPTH} levels`, actual: 'more' }],
    invalidBodyStatus,
  )
}

/** An escape of one of the characters of `__proto__`. */
const ESCAPED = /\\u00(?:5f|6f|7[024])/i

function mayHaveProto(text: string): boolean {
  return text.includes('__proto__') || (text.includes('\\u00') && ESCAPED.test(text))
}

/** Without recursion: an engine may have read more levels than were counted. */
function dropProto(value: unknown): void {
  const rest: unknown[] = [value]
  while (rest.length > 0) {
    const one = rest.pop()
    if (typeof one !== 'object' || one === null) continue
    if (Object.hasOwn(one, '__proto__')) Reflect.deleteProperty(one, '__proto__')
    for (const part of Object.values(one)) if (typeof part === 'object') rest.push(part)
  }
}

/** Whether objects and arrays in a JSON text are nested at most `depth` deep. */
export function isAtMost(depth: number, text: string): boolean {
  if (text.length <= 2 * depth) return true // each level needs two brackets
  if (opensAtMost(depth, text)) return true
  let rest = depth
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === DQUOTE) at = stringEnd(text, at)
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (--rest < 0) return false
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) rest++
  }
  return true
}

/** Whether the whole text, strings included, has at most `count` opening brackets: a fast check that most bodies pass. */
function opensAtMost(count: number, text: string): boolean {
  let rest = count
  for (let at = text.indexOf('{'); at !== -1; at = text.indexOf('{', at + 1)) if (--rest < 0) return false
  for (let at = text.indexOf('['); at !== -1; at = text.indexOf('[', at + 1)) if (--rest < 0) return false
  return true
}

/** Index of the quote that ends the string at `at`. */
function stringEnd(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text.charCodeAt(before - 1) === BACKSLASH) before--
    if ((end - before) % 2 === 0) return end
  }
  return text.length
}
