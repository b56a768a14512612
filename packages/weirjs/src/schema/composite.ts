// Arrays and objects of other schemas.

import { WeirError } from '../base/errors.ts'
import { kindOf } from '../base/kind-of.ts'

import { ANY_COUNT, type Bounds, boundKeywords, saysCount, withCounts } from './bounds.ts'
import { asSchema, ForeignSchema } from './foreign.ts'
import type { JsonSchema } from './json-keywords.ts'
import type { JsonSchemaWriter } from './json-schema.ts'
import { Mismatch, NOT_SHOWN, shorten, show } from './mismatch.ts'
import { countOf, type FormTexts, type Presence, REQUIRED, type ReadContext, type Reads, Schema, type SchemaPlace } from './schema.ts'
import { SchemaError } from './schema-error.ts'
import type { AnySchema, InputOf, OutputOf } from './standard.ts'

/** Texts by name, such as `process.env`. A name without a text is absent. */
type NamedTexts = { readonly [name: string]: string | undefined }

export interface ArraySchema<T, Input> {
  optional(): ArraySchema<T | undefined, Input | undefined>
  nullable(): ArraySchema<T | null, Input | null>
  default(value: Exclude<T, undefined>): ArraySchema<Exclude<T, undefined>, Input | undefined>
}

/** An array. From text, it is made of all the values of one name. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the base has these methods
export class ArraySchema<T, Input = unknown> extends Schema<T, Input> {
  /** @internal */
  readonly element: Schema<unknown>
  readonly #count: Bounds

  /** @internal */
  constructor(element: Schema<unknown>, count: Bounds = ANY_COUNT, presence: Presence = REQUIRED) {
    super(presence)
    this.element = element
    this.#count = count
  }

  /** At least `elements`. */
  min(elements: number): ArraySchema<T, Input> {
    return this.#with(withCounts(this.#count, { min: elements }))
  }

  /** At most `elements`; more are refused before the first is read. */
  max(elements: number): ArraySchema<T, Input> {
    return this.#with(withCounts(this.#count, { max: elements }))
  }

  /** Exactly `elements`. */
  length(elements: number): ArraySchema<T, Input> {
    return this.#with(withCounts(this.#count, { min: elements, max: elements }))
  }

  override get reads(): Reads {
    return this.element.reads === 'json' || this.element instanceof ArraySchema ? 'json' : 'texts'
  }

  override get holdsSecret(): boolean {
    return super.holdsSecret || this.element.holdsSecret
  }

  override describe(): string {
    return `an array${saysCount(this.#count, 'element')}, each ${this.element.describe()}`
  }

  override toJson(value: unknown): unknown {
    return Array.isArray(value) ? value.map((element) => this.element.toJson(element)) : value
  }

  override unreadable(place: SchemaPlace): string | null {
    const reason = super.unreadable(place)
    return reason === null && place === 'text' && this.#count.min > 1 ? `one text is not ${this.describe()}` : reason
  }

  /** The mismatch if `list` has too few or too many elements, otherwise null. @internal */
  miscounted(list: readonly unknown[]): Mismatch | null {
    return list.length >= this.#count.min && list.length <= this.#count.max ? null : this.mismatch(list)
  }

  protected override readTexts(texts: readonly string[], context: ReadContext | undefined): unknown {
    if (this.reads === 'json' || this.miscounted(texts) !== null) return new Mismatch(this.expects(), countOf(texts))
    return this.#read(texts, (element, text) => element.fromText(text, context))
  }

  protected override readText(text: string, context: ReadContext | undefined): unknown {
    return this.readTexts([text], context)
  }

  protected override readValue(value: unknown, context: ReadContext | undefined): unknown[] | Mismatch {
    if (!Array.isArray(value)) return this.mismatch(value)
    return this.miscounted(value) ?? this.#read<unknown>(value, (element, item) => element.fromValue(item, context))
  }

  protected override again(presence: Presence): ArraySchema<unknown> {
    return new ArraySchema(this.element, this.#count, presence)
  }

  protected override keywords(writer: JsonSchemaWriter): JsonSchema {
    return { type: 'array', items: this.element.writeTo(writer), ...boundKeywords(this.#count, 'minItems', 'maxItems') }
  }

  #with(count: Bounds): ArraySchema<T, Input> {
    return new ArraySchema(this.element, count, this.presence)
  }

  #read<Item>(items: readonly Item[], read: (element: Schema<unknown>, item: Item) => unknown): unknown[] | Mismatch {
    const list: unknown[] = []
    let found: Mismatch[] | null = null
    for (let i = 0; i < items.length; i++) {
      const element = read(this.element, items[i]!)
      if (!(element instanceof Mismatch)) list.push(element)
      else if (element.addTo((found ??= []), i)) break
    }
    return found === null ? list : this.conceal(Mismatch.ofAll(found))
  }
}

export interface ObjectSchema<T, Input> {
  optional(): ObjectSchema<T | undefined, Input | undefined>
  nullable(): ObjectSchema<T | null, Input | null>
  default(value: Exclude<T, undefined>): ObjectSchema<Exclude<T, undefined>, Input | undefined>
}

/** An object with the declared properties. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the base has these methods
export class ObjectSchema<T, Input = unknown> extends Schema<T, Input> {
  /** @internal */
  readonly properties: ReadonlyMap<string, Schema<unknown>>
  /** @internal */
  readonly isStrict: boolean
  #required: readonly string[] | undefined

  constructor(properties: ReadonlyMap<string, Schema<unknown>>, isStrict: boolean = false, presence: Presence = REQUIRED) {
    super(presence)
    this.properties = properties
    this.isStrict = isStrict
  }

  /** Refuses undeclared properties, which are otherwise dropped. Does not apply to objects inside this one. */
  strict(): ObjectSchema<T, Input> {
    return new ObjectSchema(this.properties, true, this.presence)
  }

  /**
   * The same object with all properties optional, for a body that states only what changes. Defaults are removed: a property that is not sent stays
   * absent. Does not apply to objects inside this one. A name that `t.named` gave is removed as well, because the shape is another one.
   */
  partial(): ObjectSchema<Partial<T>, Partial<Input>> {
    const properties = new Map([...this.properties].map(([key, schema]) => [key, schema.optional()]))
    return new ObjectSchema<Partial<T>, Partial<Input>>(properties, this.isStrict, { ...this.presence, name: null })
  }

  /**
   * Reads settings from texts by name: `t.object({ PORT: t.int.default(8080) }).fromText(process.env)`. Each property is read from the text of
   * its name; other names are ignored, even if the object is `.strict()`. An empty text is a text, and not absent.
   *
   * With one text, such as a value of a query, it returns a mismatch, because a text is not an object.
   * @throws SchemaError that names everything that does not fit; WEIR_OPTION_INVALID for a property that cannot be read from one text
   */
  override fromText(texts: NamedTexts): T
  override fromText(text: string, context?: ReadContext): T | Mismatch
  override fromText(given: string | NamedTexts, context?: ReadContext): T | Mismatch {
    if (typeof given === 'string') return super.fromText(given, context)
    if (typeof given !== 'object' || given === null)
      throw new WeirError(
        'WEIR_OPTION_INVALID',
        `fromText() needs an object with texts by name, such as the environment, not ${kindOf(given)}`,
      )
    for (const [key, schema] of this.properties) {
      const reason = schema.reads === 'texts' && !(schema instanceof ForeignSchema) ? 'one text is not a list' : schema.unreadable('text')
      if (reason !== null) throw new WeirError('WEIR_OPTION_INVALID', `fromText() cannot read property "${key}": ${reason}`)
    }
    const { object, found } = this.#readTexts(given, context)
    if (found === null) return object as T
    throw new SchemaError(this.conceal(Mismatch.ofAll(found)), 'name')
  }

  override get reads(): Reads {
    return 'json'
  }

  override get holdsSecret(): boolean {
    return super.holdsSecret || [...this.properties.values()].some((schema) => schema.holdsSecret)
  }

  override describe(): string {
    return this.properties.size === 0 ? 'an object' : `an object with ${[...this.properties.keys()].join(', ')}`
  }

  override toJson(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, this.properties.get(key)?.toJson(part)]))
  }

  /** A form can be read if all required properties can be read from the values of one name. */
  override unreadable(place: SchemaPlace): string | null {
    if (place !== 'form') return super.unreadable(place)
    for (const [key, schema] of this.properties) {
      const reason = schema.isRequired('input') ? schema.unreadable('texts') : null
      if (reason !== null) return `property "${key}": ${reason}`
    }
    return null
  }

  /** Whether a required property has no value. @internal */
  lacksProperty(value: object): boolean {
    this.#required ??= [...this.properties].flatMap(([key, schema]) =>
      !(schema instanceof ForeignSchema) && schema.absent() instanceof Mismatch ? key : [],
    )
    return this.#required.some((key) => !Object.hasOwn(value, key))
  }

  /** Adds a mismatch for every undeclared property of `value`. @param hides whether not to show their values @internal */
  addUnknown(value: object, found: Mismatch[] | null, hides: boolean = this.holdsSecret): Mismatch[] | null {
    let all = found
    for (const key of Object.keys(value)) {
      if (this.properties.has(key)) continue
      // A misspelt name may be the name of a secret.
      const unknown = new Mismatch('no property of this name', hides ? NOT_SHOWN : show((value as Record<string, unknown>)[key]))
      if (unknown.addTo((all ??= []), shorten(key), true)) break
    }
    return all
  }

  protected override readText(text: string): Mismatch {
    return this.textMismatch(text)
  }

  protected override readForm(form: FormTexts, context: ReadContext | undefined): object | Mismatch {
    const { object, found } = this.#readTexts(form, context)
    return this.#finish(object, form, found, context)
  }

  protected override readValue(value: unknown, context: ReadContext | undefined): object | Mismatch {
    if (!isPlainObject(value)) return this.mismatch(value)
    const object: Record<string, unknown> = {}
    let found: Mismatch[] | null = null
    // Most senders have the order of the schema: comparing with the next name is faster than looking each one up, by 10 ns for each property.
    const names = Object.keys(value)
    let next = 0
    for (const [key, schema] of this.properties) {
      const isNext = names[next] === key
      if (isNext) next++
      // Own properties only: the client did not send the properties of a prototype.
      const part = schema.fromValue(isNext || Object.hasOwn(value, key) ? value[key] : undefined, context)
      if (part instanceof Mismatch) {
        if (part.addTo((found ??= []), key)) break
      } else if (part !== undefined) {
        object[key] = part
      }
    }
    return this.#finish(object, value, found, context)
  }

  protected override again(presence: Presence): ObjectSchema<unknown> {
    return new ObjectSchema(this.properties, this.isStrict, presence)
  }

  protected override keywords(writer: JsonSchemaWriter): JsonSchema {
    const properties = [...this.properties]
    const required = properties.filter(([, schema]) => schema.isRequired(writer.side)).map(([key]) => key)
    return {
      type: 'object',
      properties: Object.fromEntries(properties.map(([key, schema]) => [key, schema.writeTo(writer)])),
      ...(required.length > 0 && { required }),
      ...(this.isStrict && { additionalProperties: false }),
    }
  }

  #readTexts(
    texts: FormTexts | NamedTexts,
    context: ReadContext | undefined,
  ): { readonly object: object; readonly found: Mismatch[] | null } {
    const object: Record<string, unknown> = {}
    let found: Mismatch[] | null = null
    for (const [key, schema] of this.properties) {
      const part = readEntry(schema, Object.hasOwn(texts, key) ? texts[key] : undefined, context)
      if (part instanceof Mismatch) {
        if (part.addTo((found ??= []), key)) break
      } else if (part !== undefined) {
        object[key] = part
      }
    }
    return { object, found }
  }

  #finish(object: object, source: object, found: Mismatch[] | null, context: ReadContext | undefined): object | Mismatch {
    const all = this.isStrict || context?.unknownProperties === 'error' ? this.addUnknown(source, found) : found
    return all === null ? object : this.conceal(Mismatch.ofAll(all))
  }
}

/** The properties of an object, and the schema of each. */
export type Shape = { readonly [name: string]: AnySchema }

/** What `t.object` returns: a property that may be absent is an optional key, and is never `undefined` if it is present. */
export type ObjectOf<S extends Shape> = Flatten<
  { -readonly [K in keyof S as undefined extends OutputOf<S[K]> ? never : K]: OutputOf<S[K]> } & {
    -readonly [K in keyof S as undefined extends OutputOf<S[K]> ? K : never]?: Exclude<OutputOf<S[K]>, undefined>
  }
>

/** What `t.object` reads, in its JSON form: a property with a default is an optional key too. */
export type ObjectInputOf<S extends Shape> = Flatten<
  { -readonly [K in keyof S as undefined extends InputOf<S[K]> ? never : K]: InputOf<S[K]> } & {
    -readonly [K in keyof S as undefined extends InputOf<S[K]> ? K : never]?: Exclude<InputOf<S[K]>, undefined>
  }
>

type Flatten<T> = { [K in keyof T]: T[K] }

/** An array of values that `element` describes. */
export function arrayOf<S extends AnySchema>(element: S): ArraySchema<OutputOf<S>[], InputOf<S>[]> {
  return new ArraySchema<OutputOf<S>[], InputOf<S>[]>(asSchema(element))
}

/**
 * A plain object: only declared own properties are read, unknown ones are dropped unless it is `.strict()`, and the result is a new ordinary
 * object. @throws WEIR_OPTION_INVALID for a property `__proto__`
 */
export function objectOf<const S extends Shape>(shape: S): ObjectSchema<ObjectOf<S>, ObjectInputOf<S>> {
  if ((shape as { properties?: unknown }).properties instanceof Map)
    throw new WeirError('WEIR_OPTION_INVALID', 't.object(): a spread schema: spread the object that made it')
  const properties = new Map(Object.entries(shape).map(([key, schema]) => [key, asSchema(schema, `"${key}": `)]))
  if (properties.has('__proto__'))
    throw new WeirError('WEIR_OPTION_INVALID', 'a property "__proto__" would be a prototype: give it another name')
  return new ObjectSchema<ObjectOf<S>, ObjectInputOf<S>>(properties)
}

/** Reads one entry of a form, which is undefined if the form does not have it. @internal */
export function readEntry(
  schema: Schema<unknown>,
  entry: string | readonly string[] | undefined,
  context: ReadContext | undefined,
): unknown {
  if (entry === undefined) return schema.absent()
  return typeof entry === 'string' ? schema.fromText(entry, context) : schema.fromTexts(entry, context, true)
}

/**
 * Whether it is an object as `{}` and `JSON.parse` create it, or one without a prototype. A Date, a Map or a class instance is more than
 * its properties. @internal
 */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}
