// Populates a model from a body: JSON or a form, by content type.

import { emptyRecord } from '../../base/empty-record.ts'
import { isInstance, ModelBindingError, WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { anything, count, func, oneOf, readBy, texts } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import { charsetOf } from '../../formats/charset.ts'
import { type FormRecord, foldForm } from '../../formats/form.ts'
import { parseMediaType } from '../../formats/media-type.ts'
import type { KeyPath } from '../../model/key-paths.ts'
import { DEFAULT_MAX_DEPTH, type PopulateOptions, populate } from '../../model/populate.ts'
import { isSchema } from '../../schema/standard.ts'
import { checkedEngine, checkSettled, type JsonEngine, type JsonSettings } from '../json-engine.ts'
import type { RequestBody } from './body.ts'
import { isAtMost, isJsonInUtf8 } from './json-text.ts'

/** What `bodyMap` populates: any object except a schema. The text appears at the end of the compiler's error for a schema. */
export type BodyModel = object & {
  readonly '~standard'?: 'a schema cannot be populated: pass an object, such as new User(), whose properties have schemas by fields() or @Field'
}

/**
 * Options of `bodyMapAnonymous`.
 * @example
 * const options: BodyMapAnonymousOptions = { settings: { maxDepth: 8 } }
 * request.bodyMapAnonymous({ name: '' }, options)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/body-map.md
 */
export interface BodyMapAnonymousOptions {
  /** Parses the JSON in place of the server's engine. Null or absent: the server's engine. */
  readonly jsonEngine?: JsonEngine | null
  /** How JSON is read. Null or absent: the defaults. */
  readonly settings?: JsonSettings | null
}

/**
 * Options of `bodyMap`.
 * @example
 * const options: BodyMapOptions<{ name: string }> = { includeProperties: ['name'] }
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/body-map.md
 */
export interface BodyMapOptions<T> extends BodyMapAnonymousOptions {
  /**
   * Properties to write, by name or by key path (`address.city`; `lines.price` applies to each element of an array). Null or absent: all.
   */
  readonly includeProperties?: Iterable<KeyPath<T>> | null
  /** Properties that are not written. They take precedence over `includeProperties`. Null or absent: none. */
  readonly excludeProperties?: Iterable<KeyPath<T>> | null
}

type AnyOptions = BodyMapAnonymousOptions & {
  readonly includeProperties?: Iterable<string> | null
  readonly excludeProperties?: Iterable<string> | null
}

/** @internal */
export const JSON_SETTINGS_RULES = rules<JsonSettings>('settings')({
  reviver: func().optional(),
  maxDepth: count({ least: 1 }).also(Number.POSITIVE_INFINITY).or(DEFAULT_MAX_DEPTH),
  zoneless: oneOf('utc', 'local').or('utc'),
  unknownProperties: oneOf('ignore', 'error').or('ignore'),
  nullValues: oneOf('set', 'ignore').or('set'),
  secret: texts('a name or a key path').or([]),
})
const HOW = {
  jsonEngine: readBy(checkedEngine).nullable().optional("the server's"),
  settings: readBy(checkedSettings).nullable().optional(),
}

function checkedSettings(settings: JsonSettings, owner: string, option: string): JsonSettings {
  JSON_SETTINGS_RULES.check(settings, owner, option)
  return settings
}

const KEYS = anything().nullable()
/** @internal */
export const BODY_MAP_ANONYMOUS_RULES = rules<BodyMapAnonymousOptions>('bodyMapAnonymous()')(HOW)
/** @internal `populate` checks the key paths, which it has to read anyway. */
export const BODY_MAP_RULES = rules<BodyMapOptions<object>>('bodyMap()')({
  ...HOW,
  includeProperties: KEYS.optional('all'),
  excludeProperties: KEYS.optional(),
})

const FORM = 'application/x-www-form-urlencoded'

/** Like a record without a prototype, but half a microsecond cheaper: bodies with the same names share a hidden class. */
const Folded = emptyRecord<FormRecord>()

/** Shared by all calls without options. */
export const NO_MAP_OPTIONS = Object.freeze({})

/** @returns whether there was anything to map @throws ModelBindingError; WEIR_OPTION_INVALID for a value that cannot be a model */
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
  if (isJsonInUtf8(type)) return mapJson(member, body, model, options, options.jsonEngine ?? engine)
  if (type.type !== FORM) return false
  const charset = charsetOf(type.parameters.get('charset'))
  if (charset === null || !body.hasText(member)) return false
  const { pairs, isFlat } = body.form(member, charset, Object.keys(model))
  populate(model, { kind: 'form', value: isFlat ? pairs : foldForm(pairs, new Folded()) }, populateOptions(options))
  return true
}

function mapJson(member: string, body: RequestBody, model: object, options: AnyOptions, engine: JsonEngine | null): boolean {
  const text = body.strictText(member, 'utf-8')
  if (text === null || text === '') return false
  if (engine !== null) return mapByEngine(member, engine, text, model, options)
  const maxDepth = options.settings?.maxDepth ?? DEFAULT_MAX_DEPTH
  // Checked before parsing: parsing many brackets takes long, and the recursion of a reviver would overflow the stack.
  if (!isAtMost(maxDepth, text))
    throw new ModelBindingError([{ name: '', in: 'body', pointer: '', expected: `at most ${maxDepth} levels`, actual: 'more' }])
  let value: unknown
  try {
    value = JSON.parse(text, options.settings?.reviver)
  } catch (error) {
    if (isInstance(error, SyntaxError)) return false
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
    if (isInstance(error, SyntaxError)) return false
    throw error
  }
  checkSettled(member, 'populate', result)
  return true
}

/** Classes, arrays and schemas are objects too, but writing into them is a mistake. */
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

/** The parameter of the functions below: an `HttpRequest`. */
interface Mappable {
  bodyMap<T extends BodyModel>(model: T, options?: BodyMapOptions<T>): boolean
  bodyMapAnonymous<T extends BodyModel>(model: T, options?: BodyMapAnonymousOptions): boolean
}

/**
 * The same as `request.bodyMap(model, options)`, as a function.
 * @example
 * const user = { name: '', age: 0 }
 * if (!bodyMap(request, user)) return response.status(400)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/body-map.md
 */
export function bodyMap<T extends BodyModel>(request: Mappable, model: T, options: BodyMapOptions<T> = NO_MAP_OPTIONS): boolean {
  return request.bodyMap(model, options)
}

/**
 * The same as `request.bodyMapAnonymous(model, options)`, as a function.
 * @example
 * const user = { name: '', age: 0 }
 * if (!bodyMapAnonymous(request, user)) return response.status(400)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/body-map.md
 */
export function bodyMapAnonymous<T extends BodyModel>(
  request: Mappable,
  model: T,
  options: BodyMapAnonymousOptions = NO_MAP_OPTIONS,
): boolean {
  return request.bodyMapAnonymous(model, options)
}
