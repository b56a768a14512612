// A body becomes the properties of a model: JSON or a form, by its content type.

import { foldForm, parseForm } from '../formats/form.ts'
import { isJson, parseMediaType } from '../formats/media-type.ts'
import type { KeyPath } from '../model/key-paths.ts'
import { populate } from '../model/populate.ts'

import type { RequestBody } from './body.ts'
import type { JsonEngine, JsonSettings } from './json-engine.ts'
import type { HttpRequest } from './request.ts'

/** How a model without a class of its own is mapped. */
export interface BodyMapAnonymousOptions {
  /** Reads the JSON in place of the server's engine (revision A of the interface). */
  readonly jsonEngine?: JsonEngine | null
  /** How JSON is read (revision B of the interface). */
  readonly settings?: JsonSettings | null
}

/** How a model is mapped. */
export interface BodyMapOptions<T> extends BodyMapAnonymousOptions {
  /** Properties to write, by name or by key path (`address.city`). Null or absent: all. */
  readonly includeProperties?: Iterable<KeyPath<T>> | null
  /** Properties to leave alone. Null or absent: none. */
  readonly excludeProperties?: Iterable<KeyPath<T>> | null
}

type AnyOptions = BodyMapAnonymousOptions & {
  readonly includeProperties?: Iterable<string> | null
  readonly excludeProperties?: Iterable<string> | null
}

/** @returns whether there was something to map @throws ModelBindingError */
export function mapBody(
  contentType: string | null,
  body: RequestBody,
  model: object,
  options: AnyOptions,
  engine: JsonEngine | null,
): boolean {
  const type = contentType === null ? null : parseMediaType(contentType)
  if (type === null) return false
  if (isJson(type.type)) return isUtf8Only(type.parameters) && mapJson(body, model, options, options.jsonEngine ?? engine)
  if (type.type !== 'application/x-www-form-urlencoded') return false
  const text = body.text('bodyMap()')
  if (text === '') return false
  populate(model, { kind: 'form', value: foldForm(parseForm(text)) }, populateOptions(options))
  return true
}

function mapJson(body: RequestBody, model: object, options: AnyOptions, engine: JsonEngine | null): boolean {
  const text = body.text('bodyMap()')
  if (text === '' || !body.isUtf8) return false
  try {
    if (engine !== null) {
      engine.populate(text, model, options)
      return true
    }
    const value: unknown = JSON.parse(text, options.settings?.reviver)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    populate(model, { kind: 'json', value }, populateOptions(options))
    return true
  } catch (error) {
    if (error instanceof SyntaxError) return false
    throw error
  }
}

function populateOptions(options: AnyOptions) {
  const { includeProperties = null, excludeProperties = null, settings } = options
  return { ...settings, includeProperties, excludeProperties }
}

/** JSON between systems is UTF-8 (RFC 8259 §8.1); another charset is refused rather than guessed at. */
function isUtf8Only(parameters: ReadonlyMap<string, string>): boolean {
  const charset = parameters.get('charset')
  return charset === undefined || /^utf-?8$/i.test(charset)
}

/** `request.bodyMap(model, options)`, in the form in which the request comes first. */
export function bodyMap<T extends object>(request: HttpRequest, model: T, options: BodyMapOptions<T> = {}): boolean {
  return request.bodyMap(model, options)
}

/** `request.bodyMapAnonymous(model, options)`, in the form in which the request comes first. */
export function bodyMapAnonymous<T extends object>(request: HttpRequest, model: T, options: BodyMapAnonymousOptions = {}): boolean {
  return request.bodyMapAnonymous(model, options)
}
