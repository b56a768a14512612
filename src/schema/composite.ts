// Arrays and objects of other schemas.

import { WeirError } from '../base/errors.ts'

import { ANY_COUNT, type Bounds, boundKeywords, saysCount, withCounts } from './bounds.ts'
import { asSchema } from './foreign.ts'
import { Mismatch, NOT_SHOWN, shorten, show } from './mismatch.ts'
import { type JsonSchema, type Presence, REQUIRED, type ReadContext, Schema } from './schema.ts'
import type { AnySchema, OutputOf } from './standard.ts'

/** An array. From text it is made of all the values of one name. */
export class ArraySchema<T> extends Schema<T> {
  override readonly reads: 'texts' | 'json'
  readonly #element: Schema<unknown>
  readonly #count: Bounds

  /** @internal */
  constructor(element: Schema<unknown>, count: Bounds = ANY_COUNT, presence: Presence = REQUIRED) {
    super(presence)
    this.#element = element
    this.#count = count
    this.reads = element.reads === 'json' || element instanceof ArraySchema ? 'json' : 'texts'
  }

  /** At least `elements`. */
  min(elements: number): ArraySchema<T> {
    return this.#with(withCounts(this.#count, { min: elements }))
  }

  /** At most `elements`; more are refused before the first is looked at. */
  max(elements: number): ArraySchema<T> {
    return this.#with(withCounts(this.#count, { max: elements }))
  }

  /** Exactly `elements`. */
  length(elements: number): ArraySchema<T> {
    return this.#with(withCounts(this.#count, { min: elements, max: elements }))
  }

  override get holdsSecret(): boolean {
    return super.holdsSecret || this.#element.holdsSecret
  }

  override optional(): ArraySchema<T | undefined> {
    return super.optional() as ArraySchema<T | undefined>
  }

  override nullable(): ArraySchema<T | null> {
    return super.nullable() as ArraySchema<T | null>
  }

  override default(value: Exclude<T, undefined>): ArraySchema<Exclude<T, undefined>> {
    return super.default(value) as ArraySchema<Exclude<T, undefined>>
  }

  override describe(): string {
    return `an array${saysCount(this.#count, 'element')}, each ${this.#element.describe()}`
  }

  override fromTexts(texts: readonly string[], context?: ReadContext): T | Mismatch {
    if (texts.length === 0) return this.absent()
    if (this.reads === 'json' || !this.#counts(texts)) return new Mismatch(this.describe(), valuesOf(texts.length))
    return this.#read(texts, (element, text) => element.fromText(text, context)) as T | Mismatch
  }

  override toJson(value: unknown): unknown {
    return Array.isArray(value) ? value.map((element) => this.#element.toJson(element)) : value
  }

  protected override readText(text: string, context: ReadContext | undefined): unknown {
    return this.fromTexts([text], context)
  }

  protected override readValue(value: unknown, context: ReadContext | undefined): unknown[] | Mismatch {
    if (!Array.isArray(value) || !this.#counts(value)) return this.mismatch(value)
    return this.#read<unknown>(value, (element, item) => element.fromValue(item, context))
  }

  protected override again(presence: Presence): ArraySchema<unknown> {
    return new ArraySchema(this.#element, this.#count, presence)
  }

  protected override keywords(): JsonSchema {
    return { type: 'array', items: this.#element.jsonSchema(), ...boundKeywords(this.#count, 'minItems', 'maxItems') }
  }

  #with(count: Bounds): ArraySchema<T> {
    return new ArraySchema(this.#element, count, this.presence)
  }

  #counts(list: readonly unknown[]): boolean {
    return list.length >= this.#count.min && list.length <= this.#count.max
  }

  #read<Item>(items: readonly Item[], read: (element: Schema<unknown>, item: Item) => unknown): unknown[] | Mismatch {
    const list: unknown[] = []
    let found: Mismatch[] | null = null
    for (let i = 0; i < items.length; i++) {
      const element = read(this.#element, items[i]!)
      if (!(element instanceof Mismatch)) list.push(element)
      else if (element.addTo((found ??= []), i)) break
    }
    return found === null ? list : this.conceal(Mismatch.ofAll(found))
  }
}

/** An object with the declared properties. */
export class ObjectSchema<T> extends Schema<T> {
  override readonly reads = 'json'
  readonly #properties: ReadonlyMap<string, Schema<unknown>>

  constructor(properties: ReadonlyMap<string, Schema<unknown>>, presence: Presence = REQUIRED) {
    super(presence)
    this.#properties = properties
  }

  override describe(): string {
    return this.#properties.size === 0 ? 'an object' : `an object with ${[...this.#properties.keys()].join(', ')}`
  }

  override get holdsSecret(): boolean {
    return super.holdsSecret || [...this.#properties.values()].some((schema) => schema.holdsSecret)
  }

  override toJson(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, this.#properties.get(key)?.toJson(part)]))
  }

  protected override readText(text: string): Mismatch {
    return this.textMismatch(text)
  }

  protected override readValue(value: unknown, context: ReadContext | undefined): object | Mismatch {
    if (!isPlainObject(value)) return this.mismatch(value)
    const object: Record<string, unknown> = {}
    let found: Mismatch[] | null = null
    for (const [key, schema] of this.#properties) {
      // Own properties only: what a prototype carries was not sent.
      const part = schema.fromValue(Object.hasOwn(value, key) ? value[key] : undefined, context)
      if (part instanceof Mismatch) {
        if (part.addTo((found ??= []), key)) break
      } else if (part !== undefined) {
        object[key] = part
      }
    }
    if (context?.unknownProperties === 'error') found = this.#addUnknown(value, found)
    return found === null ? object : this.conceal(Mismatch.ofAll(found))
  }

  protected override again(presence: Presence): ObjectSchema<unknown> {
    return new ObjectSchema(this.#properties, presence)
  }

  protected override keywords(): JsonSchema {
    const properties = [...this.#properties]
    const required = properties.filter(([, schema]) => !schema.isOptional && !schema.hasDefault).map(([key]) => key)
    const keywords = { type: 'object', properties: Object.fromEntries(properties.map(([key, schema]) => [key, schema.jsonSchema()])) }
    return required.length === 0 ? keywords : { ...keywords, required }
  }

  #addUnknown(value: Record<string, unknown>, found: Mismatch[] | null): Mismatch[] | null {
    let all = found
    // A name that is misspelt may be that of a secret.
    const hides = this.holdsSecret
    for (const key of Object.keys(value)) {
      if (this.#properties.has(key)) continue
      if (new Mismatch('no property of this name', hides ? NOT_SHOWN : show(value[key])).addTo((all ??= []), shorten(key))) break
    }
    return all
  }
}

/** The properties of an object and what each is. */
export type Shape = { readonly [name: string]: AnySchema }

/** What `t.object` gives: a property that may be absent is an optional key, and is never `undefined` where it is there. */
export type ObjectOf<S extends Shape> = Flatten<
  { -readonly [K in keyof S as undefined extends OutputOf<S[K]> ? never : K]: OutputOf<S[K]> } & {
    -readonly [K in keyof S as undefined extends OutputOf<S[K]> ? K : never]?: Exclude<OutputOf<S[K]>, undefined>
  }
>

type Flatten<T> = { [K in keyof T]: T[K] }

/** An array of what `element` describes. */
export function arrayOf<S extends AnySchema>(element: S): ArraySchema<OutputOf<S>[]> {
  return new ArraySchema<OutputOf<S>[]>(asSchema(element))
}

/** A plain object: only declared own properties are read, unknown ones are dropped, and the result is a new ordinary object. @throws WEIR_OPTION_INVALID for a property `__proto__` */
export function objectOf<const S extends Shape>(shape: S): ObjectSchema<ObjectOf<S>> {
  const properties = new Map(Object.entries(shape).map(([key, schema]) => [key, asSchema(schema)]))
  if (properties.has('__proto__')) throw new WeirError('WEIR_OPTION_INVALID', 'a property "__proto__" would be a prototype')
  return new ObjectSchema<ObjectOf<S>>(properties)
}

function valuesOf(count: number): string {
  return count === 1 ? '1 value' : `${count} values`
}

/** An object as `{}` and `JSON.parse` make them, or one without prototype. A Date, a Map or a class instance has meaning beyond its properties. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}
