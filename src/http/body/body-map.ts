// A body becomes the properties of a model: JSON or a form, by its content type.

import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, DQUOTE, OPEN_BRACE, OPEN_BRACKET } from '../../base/ascii.ts'
import { emptyRecord } from '../../base/empty-record.ts'
import { ModelBindingError, WeirError } from '../../base/errors.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { checkFunction, checkNames, checkWord, invalid, listOf, namesOf, wholeNumber } from '../../base/options.ts'
import { charsetOf } from '../../formats/charset.ts'
import { type FormRecord, foldForm } from '../../formats/form.ts'
import { isJson, parseMediaType } from '../../formats/media-type.ts'
import type { KeyPath } from '../../model/key-paths.ts'
import { DEFAULT_MAX_DEPTH, type PopulateOptions, populate } from '../../model/populate.ts'
import { isSchema } from '../../schema/standard.ts'
import { checkEngine, checkSettled, type JsonEngine, type JsonSettings } from '../json-engine.ts'
import type { RequestBody } from './body.ts'

/** What `bodyMap` populates: any object but a schema. The text ends what the compiler says about a schema. */
export type BodyModel = object & {
  readonly '~standard'?: 'a schema cannot be populated: pass an object, such as new User(), whose properties have schemas by fields() or @Field'
}

/** How a model without a class of its own is mapped. */
export interface BodyMapAnonymousOptions {
  /** Reads the JSON in place of the server's engine (revision A of the interface). */
  readonly jsonEngine?: JsonEngine | null
  /** How JSON is read (revision B of the interface). */
  readonly settings?: JsonSettings | null
}

/** How a model is mapped. */
export interface BodyMapOptions<T> extends BodyMapAnonymousOptions {
  /** Properties to write, by name or by key path (`address.city`; `lines.price` applies to each element of an array). Null or absent: all. */
  readonly includeProperties?: Iterable<KeyPath<T>> | null
  /** Properties to leave alone. Null or absent: none. */
  readonly excludeProperties?: Iterable<KeyPath<T>> | null
}

type AnyOptions = BodyMapAnonymousOptions & {
  readonly includeProperties?: Iterable<string> | null
  readonly excludeProperties?: Iterable<string> | null
}

export const ANONYMOUS_OPTION_NAMES = namesOf<BodyMapAnonymousOptions>()(['jsonEngine', 'settings'])
export const MAP_OPTION_NAMES = namesOf<BodyMapOptions<object>>()([...ANONYMOUS_OPTION_NAMES, 'includeProperties', 'excludeProperties'])
const SETTING_NAMES = namesOf<JsonSettings>()(['reviver', 'maxDepth', 'zoneless', 'unknownProperties', 'nullValues', 'secret'])

const FORM = 'application/x-www-form-urlencoded'

/** Like a record without prototype, but half a microsecond cheaper: its forms are shared by all bodies with the same names. */
const Folded = emptyRecord<FormRecord>()

/** Nothing said: the same object each time. */
export const NO_MAP_OPTIONS = Object.freeze({})

/** @throws WEIR_OPTION_INVALID */
export function checkBodyMapOptions(member: string, options: BodyMapAnonymousOptions, names: readonly string[]): void {
  checkNames(member, options, names)
  const { jsonEngine = null, settings = null } = options
  checkEngine(member, jsonEngine)
  if (settings !== null) checkSettings(`${member}: settings`, settings)
}

function checkSettings(owner: string, settings: JsonSettings): void {
  checkNames(owner, settings, SETTING_NAMES)
  const { reviver, maxDepth = DEFAULT_MAX_DEPTH, zoneless, unknownProperties, nullValues, secret = [] } = settings
  checkFunction(owner, 'reviver', reviver)
  if (maxDepth !== Number.POSITIVE_INFINITY) wholeNumber(owner, 'maxDepth', maxDepth, 1)
  checkWord(owner, 'zoneless', zoneless, 'utc', 'local')
  checkWord(owner, 'unknownProperties', unknownProperties, 'ignore', 'error')
  checkWord(owner, 'nullValues', nullValues, 'set', 'ignore')
  for (const name of listOf<unknown>(owner, 'secret', secret))
    if (typeof name !== 'string' || name === '') throw invalid(owner, `secret: ${shown(name)} is not a name or a key path`)
}

/** @returns whether there was something to map @throws ModelBindingError, WEIR_OPTION_INVALID for a model that is none */
export function mapBody(
  member: string,
  contentType: string | null,
  body: RequestBody,
  model: object,
  options: AnyOptions,
  engine: JsonEngine | null,
): boolean {
  body.checkAlive(member)
  if (typeof model !== 'object' || model === null || Array.isArray(model) || isSchema(model)) throw noModel(member, model)
  const type = contentType === null ? null : parseMediaType(contentType)
  if (type === null) return false
  if (isJson(type.type)) return isUtf8Only(type.parameters) && mapJson(member, body, model, options, options.jsonEngine ?? engine)
  if (type.type !== FORM) return false
  const charset = charsetOf(type.parameters.get('charset'))
  if (charset === null || !body.hasText(member)) return false
  const { pairs, isFlat } = body.form(member, charset, Object.keys(model))
  populate(model, { kind: 'form', value: isFlat ? pairs : foldForm(pairs, new Folded()) }, populateOptions(options))
  return true
}

function mapJson(member: string, body: RequestBody, model: object, options: AnyOptions, engine: JsonEngine | null): boolean {
  const hasOwnWay = engine !== null || (options.settings ?? null) !== null
  const pairs = hasOwnWay ? null : body.flatJson(member, model)
  if (pairs !== null) {
    populate(model, { kind: 'json', value: pairs }, populateOptions(options))
    return true
  }
  const text = body.text(member)
  // Bytes that are no UTF-8 have left U+FFFD in the text; where there is none, the bytes need no second look.
  if (text === '' || (text.includes('\uFFFD') && !body.isUtf8)) return false
  if (engine !== null) return mapByEngine(member, engine, text, model, options)
  const maxDepth = options.settings?.maxDepth ?? DEFAULT_MAX_DEPTH
  // Before it is parsed: that takes long where brackets are many, and a reviver, which is called from within itself, would break the stack.
  if (!isAtMost(maxDepth, text))
    throw new ModelBindingError([{ name: '', in: 'body', expected: `at most ${maxDepth} levels`, actual: 'more' }])
  let value: unknown
  try {
    value = JSON.parse(text, options.settings?.reviver)
  } catch (error) {
    if (error instanceof SyntaxError) return false
    throw error
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  populate(model, { kind: 'json', value }, populateOptions(options))
  return true
}

function mapByEngine(member: string, engine: JsonEngine, text: string, model: object, options: AnyOptions): boolean {
  let result: unknown
  try {
    result = engine.populate(text, model, options)
  } catch (error) {
    if (error instanceof SyntaxError) return false
    throw error
  }
  checkSettled(member, 'populate', result)
  return true
}

/** Whether objects and arrays in a JSON text lie at most `depth` deep in one another. */
function isAtMost(depth: number, text: string): boolean {
  if (text.length <= 2 * depth) return true // each level takes two brackets
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

/** Whether so few brackets open in the whole text, those in strings included: quickly told, and true of most bodies. */
function opensAtMost(count: number, text: string): boolean {
  let rest = count
  for (let at = text.indexOf('{'); at !== -1; at = text.indexOf('{', at + 1)) if (--rest < 0) return false
  for (let at = text.indexOf('['); at !== -1; at = text.indexOf('[', at + 1)) if (--rest < 0) return false
  return true
}

/** Where the string ends that begins at `at`. */
function stringEnd(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text.charCodeAt(before - 1) === BACKSLASH) before--
    if ((end - before) % 2 === 0) return end
  }
  return text.length
}

/** Classes, lists and schemas are objects too, but what is written into them helps nobody. */
function noModel(member: string, given: unknown): WeirError {
  if (isSchema(given))
    return invalid(
      member,
      'a schema cannot be populated: pass an object, such as new User(), whose properties have schemas by fields() or @Field',
    )
  const hint = typeof given === 'function' ? `: give it an instance, new ${given.name || 'Model'}()` : ''
  return new WeirError('WEIR_OPTION_INVALID', `${member} populates an object, not ${kindOf(given)}${hint}`)
}

const NO_OPTIONS: PopulateOptions = {}

function populateOptions(options: AnyOptions): PopulateOptions {
  if (options === NO_MAP_OPTIONS) return NO_OPTIONS
  const { includeProperties = null, excludeProperties = null, settings } = options
  if (settings === undefined || settings === null) return { includeProperties, excludeProperties }
  return { ...settings, includeProperties, excludeProperties }
}

/** JSON between systems is UTF-8 (RFC 8259 §8.1); another charset is refused rather than guessed at. */
function isUtf8Only(parameters: ReadonlyMap<string, string>): boolean {
  return charsetOf(parameters.get('charset')) === 'utf-8'
}

/** What the functions below take: an `HttpRequest`. */
export interface Mappable {
  bodyMap<T extends BodyModel>(model: T, options?: BodyMapOptions<T>): boolean
  bodyMapAnonymous<T extends BodyModel>(model: T, options?: BodyMapAnonymousOptions): boolean
}

/** `request.bodyMap(model, options)`, in the form in which the request comes first. */
export function bodyMap<T extends BodyModel>(request: Mappable, model: T, options: BodyMapOptions<T> = NO_MAP_OPTIONS): boolean {
  return request.bodyMap(model, options)
}

/** `request.bodyMapAnonymous(model, options)`, in the form in which the request comes first. */
export function bodyMapAnonymous<T extends BodyModel>(
  request: Mappable,
  model: T,
  options: BodyMapAnonymousOptions = NO_MAP_OPTIONS,
): boolean {
  return request.bodyMapAnonymous(model, options)
}
