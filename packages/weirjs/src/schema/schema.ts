// The base of every `t`: a description of a value, which reads it from text (route, query, url-encoded form) and from JSON.
//
// Reading returns the converted value itself or a `Mismatch`; nothing is thrown or wrapped. A schema never changes: each modifier returns a
// new one, so a schema may be kept in a constant and refined in many places.
//
// `optional`, `nullable` and `default` are written once, here. A class whose own methods must follow them narrows their types in an interface of its
// name, which costs no code.

import { WeirError } from '../base/errors.ts'
import { kindOf, shown } from '../base/kind-of.ts'
import { invalid } from '../base/options.ts'

import { makerOf } from './default-value.ts'
import { type JsonSchema, orNull } from './json-keywords.ts'
import { JsonSchemaWriter, type Side } from './json-schema.ts'
import { Mismatch, NOT_SHOWN, show } from './mismatch.ts'
import { SchemaError } from './schema-error.ts'
import type { StandardJsonProps, StandardSchema } from './standard.ts'

/** How ambiguous values are read. `JsonSettings` has the same names, and may be passed directly. */
export interface ReadContext {
  /** A date and time without a zone: as UTC (default), or in the machine's zone as ECMAScript reads it. */
  readonly zoneless?: 'utc' | 'local'
  /** A property that an object schema does not declare: dropped (default), or a mismatch. */
  readonly unknownProperties?: 'ignore' | 'error'
  /** A null where the schema is not nullable: a mismatch (default, `set`), or treated as absent. */
  readonly nullValues?: 'set' | 'ignore'
}

/** A url-encoded form: the text of each name, or a list if the name repeats or ends in `[]`. */
export type FormTexts = { readonly [name: string]: string | readonly string[] }

/** What a schema reads: one text, any number of values of one name (one included), or only JSON. */
export type Reads = 'text' | 'texts' | 'json'

/**
 * Where a value is read from: one text (a path, a header field, a cookie), the values of one name (a query), a url-encoded form, or JSON.
 */
export type SchemaPlace = 'text' | 'texts' | 'form' | 'json'

/** The properties that all schemas have, whatever they describe. */
export interface Presence {
  readonly optional: boolean
  readonly nullable: boolean
  /** Creates the default value; null if there is none. */
  readonly fallback: (() => unknown) | null
  /** Whether messages never repeat the value. */
  readonly secret: boolean
  /** The expectation in failures, in place of what `describe` returns; null if there is none. */
  readonly message: string | null
  /** Its name in documents; null if it has none. */
  readonly name: string | null
}

export const REQUIRED: Presence = Object.freeze({
  optional: false,
  nullable: false,
  fallback: null,
  secret: false,
  message: null,
  name: null,
})

/** OpenAPI allows these names for its components. */
const NAME = /^[A-Za-z0-9._-]+$/

/**
 * A description of a value of type `T`, which is an `Input` in JSON.
 * @example
 * const shown = (schema: Schema<unknown>) => JSON.stringify(schema.jsonSchema())
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/schemas.md
 */
export abstract class Schema<T, Input = unknown> implements StandardSchema<Input, T> {
  protected readonly presence: Presence
  #standard: StandardJsonProps<Input, T> | undefined
  // Remembered, because a union asks its members for it for each element of a list. It never changes.
  #described: string | undefined
  #hides: boolean | undefined
  #missing: Mismatch | undefined

  constructor(presence: Presence = REQUIRED) {
    this.presence = presence
  }

  /** What it describes, in plain words: `a whole number of at least 1`. */
  abstract describe(): string

  /** What it reads: one text, any number of values of one name (one included), or only JSON. */
  get reads(): Reads {
    return 'text'
  }

  /** Whether it reads what it returns. A schema of another library may convert. @internal */
  get readsItself(): boolean {
    return true
  }

  /** Its name in documents, set by `t.named`; null if it has none. */
  get name(): string | null {
    return this.presence.name
  }

  /** Whether an absent value becomes `undefined`. */
  get isOptional(): boolean {
    return this.presence.optional
  }

  /** Whether an absent value becomes `defaultValue()`. */
  get hasDefault(): boolean {
    return this.presence.fallback !== null
  }

  /** The default value, or undefined if there is none. A Date, an array or an object is a copy that the caller may keep and change. */
  defaultValue(): T | undefined {
    return this.presence.fallback === null ? undefined : (this.presence.fallback() as T)
  }

  /** What an absent value becomes: the default, undefined if it is optional, otherwise a mismatch. */
  absent(): T | Mismatch {
    if (this.presence.fallback !== null) return this.presence.fallback() as T
    return this.presence.optional ? (undefined as T) : (this.#missing ??= new Mismatch(this.expects()))
  }

  /** Reads a route, query or url-encoded value, already decoded. */
  fromText(text: string, context?: ReadContext): T | Mismatch {
    return this.readText(text, context) as T | Mismatch
  }

  /**
   * Reads all the values of one name. If the schema describes a single value, several are a mismatch: using the first or the last of them
   * lets clients bypass filters.
   * @param isList whether even a single value was marked as a list: `n[]=5` of a form
   */
  fromTexts(texts: readonly string[], context?: ReadContext, isList: boolean = false): T | Mismatch {
    return texts.length === 0 ? this.absent() : (this.readTexts(texts, context, isList) as T | Mismatch)
  }

  /** Reads a whole url-encoded form as an object. */
  fromForm(form: FormTexts, context?: ReadContext): T | Mismatch {
    return this.readForm(form, context) as T | Mismatch
  }

  /** Reads a value from JSON; `undefined` means absent. */
  fromValue(value: unknown, context?: ReadContext): T | Mismatch {
    if (value === undefined) return this.absent()
    return (value === null ? this.readNull(context) : this.readValue(value, context)) as T | Mismatch
  }

  /**
   * The value that `fromValue` returns, for settings, messages and whatever else is not part of a request. Declare bodies and parameters in the
   * declaration of a route instead.
   * @throws SchemaError with everything that does not fit
   */
  parse(value: unknown, context?: ReadContext): T {
    const result = this.fromValue(value, context)
    if (result instanceof Mismatch) throw new SchemaError(result)
    return result
  }

  /** Allows the value to be missing: it is then `undefined`, or has no key in an object. Removes a default. */
  optional(): Schema<T | undefined, Input | undefined> {
    return this.again({ ...this.presence, optional: true, fallback: null }) as Schema<T | undefined, Input | undefined>
  }

  /** Allows null in JSON. */
  nullable(): Schema<T | null, Input | null> {
    return this.again({ ...this.presence, nullable: true }) as Schema<T | null, Input | null>
  }

  /**
   * Sets the value that replaces a missing one, as handlers get it. A function is not called. A Date, an array or an object is copied for every
   * use, so that one request cannot change the default of the next.
   *
   * @throws WEIR_OPTION_INVALID for a value that `structuredClone` cannot copy, and for a text, number, bigint, boolean or date that does not fit
   */
  default(value: Exclude<T, undefined>): Schema<Exclude<T, undefined>, Input | undefined> {
    const schema = this.again({ ...this.presence, optional: false, fallback: makerOf(value) }).fitting()
    return schema as Schema<Exclude<T, undefined>, Input | undefined>
  }

  /**
   * Marks a password, a token and the like: the received value is never repeated. Errors, problem documents and logs contain `(not shown)`
   * in its place, and in place of its parts. A default is left out of generated documents.
   */
  secret(): this {
    return this.again({ ...this.presence, secret: true }) as Schema<unknown> as this
  }

  /** Whether the whole value is secret. @internal */
  get isSecret(): boolean {
    return this.presence.secret
  }

  /** Whether the value, or a part of it, is secret. @internal */
  get holdsSecret(): boolean {
    return this.presence.secret
  }

  /**
   * Sets the expectation in failures of this value, in place of `describe()`. Failures of its parts keep their own.
   *
   * @throws WEIR_OPTION_INVALID for anything but a string
   */
  message(expected: string): this {
    if (typeof expected !== 'string' || expected === '')
      throw new WeirError('WEIR_OPTION_INVALID', `a message is ${shown(expected)}, not a string`)
    return this.again({ ...this.presence, message: expected }) as Schema<unknown> as this
  }

  /** The JSON Schema (2020-12) of what it reads, or of what is sent. */
  jsonSchema(side: Side = 'input'): JsonSchema {
    const writer = new JsonSchemaWriter({ root: this })
    return writer.document(writer.write(this, side))
  }

  get '~standard'(): StandardJsonProps<Input, T> {
    this.#standard ??= {
      version: 1,
      vendor: 'weir',
      validate: (value) => this.#validate(value),
      jsonSchema: {
        input: ({ target }) => this.#convert('input', target),
        output: ({ target }) => this.#convert('output', target),
      },
    }
    return this.#standard
  }

  /** The same schema under a name. @throws WEIR_OPTION_INVALID for a name that documents cannot have @internal */
  withName(name: string): this {
    if (typeof name !== 'string' || !NAME.test(name))
      throw new WeirError('WEIR_OPTION_INVALID', `the name of a schema is ${shown(name)}, not letters, digits, ".", "_" and "-"`)
    return this.again({ ...this.presence, name }) as Schema<unknown> as this
  }

  /** The JSON form of a converted value. @internal */
  toJson(value: unknown): unknown {
    return value
  }

  /** Whether null is one of its values. @internal */
  get isNullable(): boolean {
    return this.presence.nullable
  }

  /** Whether the value is always present: in what is accepted, or in what is sent, where a default has replaced an absent value. @internal */
  isRequired(side: Side): boolean {
    return this.presence.fallback === null ? !this.presence.optional && this.requires(side) : side === 'output'
  }

  /** Why it can never be read at `place`; null if it can. @internal */
  unreadable(place: SchemaPlace): string | null {
    if (place === 'form') return `a form is not ${this.describe()}`
    return place === 'json' || this.reads !== 'json' ? null : `${this.describe()} can only be read from JSON`
  }

  /** Writes it as a part of the document of `writer`. @internal */
  writeTo(writer: JsonSchemaWriter): JsonSchema {
    const { name, nullable, fallback } = this.presence
    const own = name === null ? this.keywords(writer) : writer.define(name, this, () => this.keywords(writer))
    const schema = nullable ? orNull(own) : own
    return fallback === null || this.holdsSecret ? schema : writer.withDefault(schema, this.toJson(fallback()))
  }

  /** Itself. @throws WEIR_OPTION_INVALID if its default does not fit @internal */
  fitting(): this {
    const { fallback } = this.presence
    if (fallback === null || !this.readsItself) return this
    const value = fallback()
    if (typeof value === 'object' && value !== null && !(value instanceof Date)) return this // parts of it may be converted
    const read = value === null ? this.readNull(undefined) : this.readValue(value, undefined)
    if (read === value) return this
    throw invalid(
      '.default()',
      `the value is ${this.mismatch(value).actual}, not ${read instanceof Mismatch ? this.#description : kindOf(read)}`,
    )
  }

  /** The same schema with another presence. */
  protected abstract again(presence: Presence): Schema<unknown>

  /** Returns the converted value or a mismatch. */
  protected abstract readText(text: string, context: ReadContext | undefined): unknown

  /** The same for a JSON value, which is neither undefined nor null. */
  protected abstract readValue(value: unknown, context: ReadContext | undefined): unknown

  /** JSON Schema of the value itself. */
  protected abstract keywords(writer: JsonSchemaWriter): JsonSchema

  /** The same for the values of one name, of which there is at least one. */
  protected readTexts(texts: readonly string[], context: ReadContext | undefined, isList: boolean): unknown {
    if (texts.length === 1) return isList ? this.mismatch(texts) : this.readText(texts[0]!, context)
    return new Mismatch(this.expects(`${this.#description}, once`), countOf(texts))
  }

  /** The same for a form. */
  protected readForm(_form: FormTexts, _context: ReadContext | undefined): unknown {
    return new Mismatch(this.expects(), 'a form')
  }

  /** The same for null. */
  protected readNull(context: ReadContext | undefined): unknown {
    if (this.presence.nullable) return null
    return context?.nullValues === 'ignore' ? this.absent() : this.mismatch(null)
  }

  /** Whether the value is always present, if this schema is neither optional nor has a default itself. */
  protected requires(_side: Side): boolean {
    return true
  }

  /** The expectation in failures: the message if there is one, else `described`. */
  protected expects(described: string = this.#description): string {
    return this.presence.message ?? described
  }

  /** The mismatch for `value`, which is from JSON. */
  protected mismatch(value: unknown): Mismatch {
    const actual = this.#hidesValue ? NOT_SHOWN : show(value)
    return new Mismatch(this.expects(this.presence.nullable ? `${this.#description} or null` : this.#description), actual)
  }

  /** The mismatch for a text that is not from JSON. */
  protected textMismatch(text: string): Mismatch {
    return new Mismatch(this.expects(), this.#hidesValue ? NOT_SHOWN : text)
  }

  /** A mismatch that another schema found for the same value, with the message and the secrecy of this one. @internal */
  restate(mismatch: Mismatch): Mismatch {
    const { message } = this.presence
    const all = mismatch.all()
    const own = message === null ? undefined : all.find(({ path }) => path.length === 0)
    if (message === null || own === undefined) return this.conceal(mismatch)
    return this.conceal(Mismatch.ofAll([new Mismatch(message, own.actual), ...all.filter(({ path }) => path.length > 0)]))
  }

  /** A mismatch of parts of the value, without their values if this one is secret. @internal */
  conceal(mismatch: Mismatch): Mismatch {
    return this.presence.secret ? mismatch.hidden() : mismatch
  }

  get #description(): string {
    return (this.#described ??= this.describe())
  }

  get #hidesValue(): boolean {
    return (this.#hides ??= this.holdsSecret)
  }

  #validate(value: unknown) {
    const result = this.fromValue(value)
    if (!(result instanceof Mismatch)) return { value: result }
    return { issues: result.all().map(({ message, path }) => ({ message, path })) }
  }

  #convert(side: Side, target: string): JsonSchema {
    const writer = new JsonSchemaWriter({ root: this, target })
    return { $schema: writer.dialect, ...writer.document(writer.write(this, side)) }
  }
}

/** How failures show the values of one name. @internal */
export function countOf(texts: readonly unknown[]): string {
  return texts.length === 1 ? '1 value' : `${texts.length} values`
}
