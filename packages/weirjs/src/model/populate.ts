// Writes received values into an existing model: only to properties that it has, converted to their types, all or nothing.
//
// First all values are read and converted, then all are written. A value that cannot be converted is recorded and the others are still
// checked, so that the client learns of all its mistakes at the same time.

import { type BindingFailure, ModelBindingError } from '../base/errors.ts'
import { hide, MAX_MISMATCHES, Mismatch, type PathPart, pointerOf, shorten, show } from '../schema/mismatch.ts'
import type { ReadContext, Schema } from '../schema/schema.ts'
import { t } from '../schema/t.ts'

import { fieldsOf } from './fields.ts'
import { type Choice, Selection } from './key-paths.ts'

export interface PopulateOptions extends ReadContext {
  /** Names or key paths of the properties that may be written. Null or absent: all. */
  readonly includeProperties?: Iterable<string> | null
  /** Names or key paths of properties that may not be written. Null or absent: none. */
  readonly excludeProperties?: Iterable<string> | null
  /** How deep objects and arrays may be nested. */
  readonly maxDepth?: number
  /** Names or key paths of properties whose values no failure may contain. */
  readonly secret?: readonly string[]
}

type Properties = Readonly<Record<string, unknown>>

/** The received values: parsed JSON, or the strings of a form. The list of a form is name, value, name, value; each name occurs once. */
type Source =
  | { readonly kind: 'json'; readonly value: object }
  | { readonly kind: 'form'; readonly value: Readonly<Record<string, string | string[]>> | readonly string[] }

/** Deep enough for any document designed by people. System.Text.Json has the same default. */
export const DEFAULT_MAX_DEPTH = 64

/** Result of a conversion: nothing is written. */
const SKIP = Symbol('skip')

/** The schema of a property without `@Field`, by the type of its value. */
const BY_TYPE: Readonly<Record<string, Schema<unknown>>> = { string: t.string, number: t.number, bigint: t.bigint, boolean: t.bool }
const TEXTS = t.array(t.string)

/** @throws ModelBindingError with every property whose value cannot be converted; the model is then unchanged */
export function populate(model: object, source: Source, options: PopulateOptions): void {
  const run = new Population(source.kind === 'json', options)
  run.readObject(model, source.value as Properties | readonly unknown[], '', false, 1)
  if (run.failures.length > 0) throw new ModelBindingError(run.failures)
  run.write()
}

class Population {
  readonly failures: BindingFailure[] = []
  readonly #isJson: boolean
  readonly #options: PopulateOptions
  readonly #selection: Selection | null
  readonly #maxDepth: number
  /** Created at the first failure. */
  #secrets: SecretPaths | null = null
  /** The way from the body to the value that is being read. */
  readonly #trail: PathPart[] = []
  /** Target, key, new value and old value, repeated. */
  readonly #writes: unknown[] = []

  constructor(isJson: boolean, options: PopulateOptions) {
    this.#isJson = isJson
    this.#options = options
    const { includeProperties: include, excludeProperties: exclude } = options
    this.#selection = (include ?? exclude ?? null) === null ? null : new Selection(include, exclude)
    this.#maxDepth = options.maxDepth ?? DEFAULT_MAX_DEPTH
  }

  readObject(model: object, source: Properties | readonly unknown[], prefix: string, isIncluded: boolean, depth: number): void {
    const fields = fieldsOf(model)
    // Most sources list their properties in the model's order. Comparing with the next one avoids looking the name up.
    const own = Object.keys(model)
    let next = 0
    const keys = isPairs(source) ? source : Object.keys(source)
    const step = isPairs(source) ? 2 : 1
    const level = this.#trail.push('') - 1
    for (let i = 0; i < keys.length; i += step) {
      if (this.failures.length >= MAX_MISMATCHES) return
      const key = keys[i] as string // in a list, each step starts at a name
      this.#trail[level] = key
      const given = isPairs(source) ? source[i + 1] : source[key]
      const path = prefix === '' ? key : `${prefix}.${key}`
      const schema = fields?.get(key)
      // Only own and declared properties are read or written, so that nothing reaches a prototype.
      const isNext = key === own[next]
      if (isNext) next++
      const isKnown = key !== '__proto__' && (isNext || schema !== undefined || Object.hasOwn(model, key))
      const present = isKnown ? (model as Record<string, unknown>)[key] : undefined
      if (!isKnown || (schema === undefined && typeof present === 'function')) {
        // The name may be a misspelt secret.
        if (this.#options.unknownProperties === 'error') this.#fail(path, 'no such property', show(given), this.#hasSecrets(model))
        continue
      }
      const choice = this.#selection === null ? 'all' : this.#selection.of(path, isIncluded)
      if (choice === 'none') continue
      // As if it were absent: a declared property keeps its value as well, whether or not it has a default.
      if (given === null && this.#options.nullValues === 'ignore') continue
      let value = given
      // Most values already have the type of their property and need no conversion: half a microsecond less for eight properties.
      if (schema !== undefined) value = this.#select(this.#convert(schema, given, path), present, path, choice)
      else if (choice !== 'all' || !isSameScalar(given, present)) value = this.#infer(present, given, path, choice, depth)
      if (value !== SKIP) this.#plan(model, key, value, present)
    }
    this.#trail.length = level
  }

  #plan(target: object, key: string, value: unknown, present: unknown): void {
    this.#writes.push(target, key, value, present !== undefined || key in target ? present : SKIP)
  }

  /** Writes everything. If a setter throws, everything that was written before is restored. */
  write(): void {
    const writes = this.#writes
    let at = 0
    try {
      for (; at < writes.length; at += 4) (writes[at] as Record<string, unknown>)[writes[at + 1] as string] = writes[at + 2]
    } catch (error) {
      // The setter that threw may have written something, so it is restored as well.
      for (; at >= 0; at -= 4) restore(writes[at] as Record<string, unknown>, writes[at + 1] as string, writes[at + 3])
      throw error
    }
  }

  #convert(schema: Schema<unknown>, value: unknown, path: string): unknown {
    const converted = this.#isJson ? schema.fromValue(value, this.#options) : this.#convertTexts(schema, value as string | string[])
    if (!(converted instanceof Mismatch)) return converted === undefined ? SKIP : converted
    for (const { name, pointer, expected, actual } of converted.failures(path, 'body', ''))
      this.#fail(name, expected, actual, false, pointer)
    return SKIP
  }

  #convertTexts(schema: Schema<unknown>, value: string | readonly string[]): unknown {
    return typeof value === 'string' ? schema.fromText(value, this.#options) : schema.fromTexts(value, this.#options, true)
  }

  /** Converts to the type of the property's current value. */
  #infer(present: unknown, value: unknown, path: string, choice: Choice, depth: number): unknown {
    const schema = BY_TYPE[typeof present]
    if (value === null && this.#isJson) return this.#select(this.#inferNull(present, schema, path), present, path, choice)
    const scalar = schema ?? (present instanceof Date ? t.dateTime : undefined)
    // A key path into a value without parts names nothing that could be written.
    if (scalar !== undefined) return choice === 'some' ? SKIP : this.#convert(scalar, value, path)
    if (Array.isArray(present)) return this.#select(this.#inferArray(present, value, path, depth), present, path, choice)
    if (present === null || present === undefined) {
      return this.#isJson ? this.#select(this.#copy(value, path, depth), present, path, choice) : value
    }
    if (!isModel(present)) return this.#fail(path, 'nothing: this property cannot be mapped', show(value))
    if (!this.#isJson || !isObject(value)) return this.#fail(path, 'an object', show(value), this.#hasSecrets(present))
    if (depth >= this.#maxDepth) return this.#fail(path, `at most ${this.#maxDepth} levels`, 'more')
    this.readObject(present, value, path, choice !== 'some', depth + 1)
    return SKIP
  }

  /** Null replaces a string or a reference. A number, boolean or date cannot be null. */
  #inferNull(present: unknown, schema: Schema<unknown> | undefined, path: string): unknown {
    if (typeof present !== 'string' && (schema !== undefined || present instanceof Date)) {
      return this.#convert(schema ?? t.dateTime, null, path)
    }
    return null
  }

  /** The elements have the type of the first element. Without one, the elements of a form remain strings. */
  #inferArray(present: readonly unknown[], value: unknown, path: string, depth: number): unknown {
    const first = present[0]
    const element = first instanceof Date ? t.dateTime : BY_TYPE[typeof first]
    if (element !== undefined) return this.#convert(t.array(element), value, path)
    if (!this.#isJson) {
      return first === undefined || first === null
        ? this.#convert(TEXTS, value, path)
        : this.#fail(path, 'an array of objects', show(value), this.#hasSecrets(first))
    }
    return Array.isArray(value) ? this.#copy(value, path, depth) : this.#fail(path, 'an array', show(value), this.#hasSecrets(first))
  }

  /**
   * Selects from a value that would replace the whole property only the parts that may be written. A value without parts, such as null, is
   * then not written, because it would erase parts that may not be written.
   */
  #select(value: unknown, present: unknown, path: string, choice: Choice): unknown {
    if (choice === 'all' || value === SKIP) return value
    const isThere = isModel(present)
    if (Array.isArray(value)) return isThere ? SKIP : this.#selectElements(value, path, choice)
    if (!isModel(value)) return SKIP
    const parts: Record<string, unknown> = {}
    for (const [key, part] of Object.entries(value)) {
      if (key === '__proto__') continue // a schema of another library may have kept it
      const partPath = `${path}.${key}`
      const partChoice = this.#selection!.of(partPath, choice !== 'some')
      if (partChoice === 'none') continue
      const before = isThere ? (present as Record<string, unknown>)[key] : undefined
      const selected = this.#select(part, before, partPath, partChoice)
      if (selected === SKIP) continue
      if (isThere) this.#plan(present, key, selected, before)
      else parts[key] = selected
    }
    return isThere ? SKIP : parts
  }

  /**
   * A key path applies to each element. An array is replaced as a whole: an element does not inherit parts that may not be written from the
   * old element at its index, because the client chooses the order. Elements without parts are kept, unless only parts are included.
   */
  #selectElements(list: readonly unknown[], path: string, choice: Choice): unknown {
    const kept: unknown[] = []
    for (const element of list) {
      const selected = Array.isArray(element) || isModel(element) ? this.#select(element, undefined, path, choice) : element
      if (selected !== SKIP && (selected !== element || choice === 'most')) kept.push(selected)
    }
    return kept.length === 0 && list.length > 0 ? SKIP : kept
  }

  /** Copies any JSON value. `__proto__` is left out, because code that reads the model later might copy it onto a prototype. */
  #copy(value: unknown, path: string, depth: number): unknown {
    if (typeof value !== 'object' || value === null || !isParsed(value)) return value
    if (depth >= this.#maxDepth) return this.#fail(path, `at most ${this.#maxDepth} levels`, 'more')
    const level = this.#trail.push('') - 1
    const copyPart = (part: unknown, key: PathPart, partPath: string): unknown => {
      this.#trail[level] = key
      return this.#copy(part, partPath, depth + 1)
    }
    let copy: unknown
    if (Array.isArray(value)) copy = value.map((item, i) => copyPart(item, i, `${path}[${i}]`))
    else {
      const parts: Record<string, unknown> = {}
      for (const [key, part] of Object.entries(value)) if (key !== '__proto__') parts[key] = copyPart(part, key, `${path}.${key}`)
      copy = parts
    }
    this.#trail.length = level
    return copy
  }

  /** Whether `model` has a secret property, or the options name any. */
  #hasSecrets(model: unknown): boolean {
    if (this.#options.secret !== undefined && this.#options.secret.length > 0) return true
    return isModel(model) && [...(fieldsOf(model)?.values() ?? [])].some((schema) => schema.holdsSecret)
  }

  /**
   * @param mayBeSecret whether the value may belong to another property, or contain one, that is secret
   * @param part pointer from the value that is being read to the part of it that is wrong
   */
  #fail(path: string, expected: string, actual: string | undefined, mayBeSecret = false, part = ''): typeof SKIP {
    if (this.failures.length >= MAX_MISMATCHES) return SKIP
    this.#secrets ??= new SecretPaths(this.#options.secret ?? [])
    const [wanted, came] = mayBeSecret || this.#secrets.covers(path) ? hide(expected, actual) : [expected, actual]
    // Clients may have chosen the names.
    const pointer = pointerOf(this.#trail.map((key) => (typeof key === 'string' ? shorten(key) : key))) + part
    const failure = { name: shorten(path), in: 'body', pointer, expected: wanted } as const
    this.failures.push(came === undefined ? failure : { ...failure, actual: came })
    return SKIP
  }
}

function restore(target: Record<string, unknown>, key: string, value: unknown): void {
  try {
    if (value === SKIP) delete target[key]
    else target[key] = value
  } catch {
    // A property that cannot be written was not written. The others are still restored.
  }
}

/** Whether both are strings, booleans or finite numbers, which the schemas of `BY_TYPE` would accept unchanged. */
function isSameScalar(value: unknown, present: unknown): boolean {
  const type = typeof value
  return type === typeof present && (type === 'string' || type === 'boolean' || (type === 'number' && Number.isFinite(value)))
}

function isPairs(source: Properties | readonly unknown[]): source is readonly unknown[] {
  return Array.isArray(source)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether `JSON.parse` created it. Anything else, such as a Date, comes from a reviver and is not copied. */
function isParsed(value: object): boolean {
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype
}

/** Whether it is an object whose properties can be mapped: a plain object or an instance of a class, not a built-in container. */
function isModel(value: unknown): value is object {
  if (!isObject(value)) return false
  return !(
    value instanceof Date ||
    value instanceof Map ||
    value instanceof Set ||
    ArrayBuffer.isView(value) ||
    value instanceof ArrayBuffer ||
    value instanceof Promise
  )
}

/**
 * The properties of a model whose values no error contains. Names and key paths, case-insensitive: unknown names are checked too, and a client may send a secret under a misspelt
 * one.
 */
class SecretPaths {
  readonly #names: ReadonlySet<string>
  readonly #paths: readonly string[]

  /** @param secrets a name (`password`) applies at any depth; a key path (`card.number`) starts at the model */
  constructor(secrets: readonly string[]) {
    const lower = secrets.map((secret) => secret.toLowerCase())
    this.#names = new Set(lower.filter((secret) => !secret.includes('.')))
    this.#paths = lower.filter((secret) => secret.includes('.'))
  }

  /** Whether the value at `path` is a secret, is part of one, or contains one. Indexes (`cards[2].number`) are ignored. */
  covers(path: string): boolean {
    const plain = path.replace(/\[\d+\]/g, '').toLowerCase()
    if (plain.split('.').some((name) => this.#names.has(name))) return true
    return this.#paths.some((secret) => secret === plain || plain.startsWith(`${secret}.`) || secret.startsWith(`${plain}.`))
  }
}
