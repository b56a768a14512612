// What every `t` is: a description of a value that reads it from text (route, query, url-encoded form) and from JSON.
//
// Reading returns the converted value itself or a `Mismatch`; nothing is thrown and nothing is wrapped. A schema never changes:
// each modifier returns a new one, so that one may be kept in a constant and refined in many places.

import { WeirError } from '../base/errors.ts'
import { shown } from '../base/kind-of.ts'

import { type JsonSchema, orNull } from './json-keywords.ts'
import { JsonSchemaWriter, type Side } from './json-schema.ts'
import { Mismatch, NOT_SHOWN, show } from './mismatch.ts'
import type { StandardJsonProps, StandardSchema } from './standard.ts'

/** How ambiguous values are read. The names are those of `JsonSettings`, which may be handed in as it is. */
export interface ReadContext {
  /** A date and time without a zone: as UTC (default), or in the machine's zone as ECMAScript reads it. */
  readonly zoneless?: 'utc' | 'local'
  /** A property that an object schema does not declare: dropped (default), or a mismatch. */
  readonly unknownProperties?: 'ignore' | 'error'
  /** A null where the schema is not nullable: a mismatch (default, `set`), or as if nothing came. */
  readonly nullValues?: 'set' | 'ignore'
}

/** A url-encoded form: the text of each name, or a list if the name repeats or ends in `[]`. */
export type FormTexts = { readonly [name: string]: string | readonly string[] }

/** What a schema reads: one text, any number of texts of one name (one included), or only JSON. */
export type Reads = 'text' | 'texts' | 'json'

/** Where a value is read from: one text (a path, a header field, a cookie), the texts of one name (a query), a url-encoded form, or JSON. */
export type SchemaPlace = 'text' | 'texts' | 'form' | 'json'

/** What all schemas have in common, whatever they describe. */
export interface Presence {
  readonly optional: boolean
  readonly nullable: boolean
  /** Makes the default value; null when there is none. */
  readonly fallback: (() => unknown) | null
  /** Whether the value is never repeated in what is said about it. */
  readonly secret: boolean
  /** The expectation in failures, in place of what `describe` returns; null when there is none. */
  readonly message: string | null
  /** Its name in documents; null when it has none. */
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

/** A description of a value of type `T`, which is an `Input` in JSON. */
export abstract class Schema<T, Input = unknown> implements StandardSchema<Input, T> {
  protected readonly presence: Presence
  #standard: StandardJsonProps<Input, T> | undefined

  constructor(presence: Presence = REQUIRED) {
    this.presence = presence
  }

  /** What it is, in plain words: `a whole number of at least 1`. */
  abstract describe(): string

  /** What it reads: one text, any number of texts of one name (or one), or only JSON. */
  get reads(): Reads {
    return 'text'
  }

  /** Its name in documents, given by `t.named`; null when it has none. */
  get name(): string | null {
    return this.presence.name
  }

  /** Whether `undefined` is what an absent value becomes. */
  get isOptional(): boolean {
    return this.presence.optional
  }

  /** Whether an absent value becomes `defaultValue()`. */
  get hasDefault(): boolean {
    return this.presence.fallback !== null
  }

  /** The default value, or undefined when there is none. A Date, an array or an object is a copy that the caller may keep and change. */
  defaultValue(): T | undefined {
    return this.presence.fallback === null ? undefined : (this.presence.fallback() as T)
  }

  /** What an absent value becomes: the default, undefined if it is optional, else a mismatch. */
  absent(): T | Mismatch {
    if (this.presence.fallback !== null) return this.presence.fallback() as T
    return this.presence.optional ? (undefined as T) : new Mismatch(this.expects())
  }

  /** Reads a route, query or url-encoded value, already decoded. */
  fromText(text: string, context?: ReadContext): T | Mismatch {
    return this.readText(text, context) as T | Mismatch
  }

  /**
   * Reads all the texts of one name. Where one value is wanted, several are a mismatch: taking the first or the last of them is how filters are
   * bypassed.
   * @param isList whether a single text was marked as a list too: `n[]=5` of a form
   */
  fromTexts(texts: readonly string[], context?: ReadContext, isList: boolean = false): T | Mismatch {
    return texts.length === 0 ? this.absent() : (this.readTexts(texts, context, isList) as T | Mismatch)
  }

  /** Reads a whole url-encoded form as an object. */
  fromForm(form: FormTexts, context?: ReadContext): T | Mismatch {
    return this.readForm(form, context) as T | Mismatch
  }

  /** Reads a value out of JSON; `undefined` is an absent one. */
  fromValue(value: unknown, context?: ReadContext): T | Mismatch {
    if (value === undefined) return this.absent()
    return (value === null ? this.readNull(context) : this.readValue(value, context)) as T | Mismatch
  }

  /** May be missing: it is then `undefined`, or not there in an object. Takes a default back. */
  optional(): Schema<T | undefined, Input | undefined> {
    return this.again({ ...this.presence, optional: true, fallback: null }) as Schema<T | undefined, Input | undefined>
  }

  /** May be null in JSON. */
  nullable(): Schema<T | null, Input | null> {
    return this.again({ ...this.presence, nullable: true }) as Schema<T | null, Input | null>
  }

  /**
   * What stands in for a missing value; taken as it is, unchecked. A Date, an array or an object is copied for every use,
   * so that one request cannot change the default of the next.
   *
   * @throws WEIR_OPTION_INVALID for a value that `structuredClone` cannot copy
   */
  default(value: Exclude<T, undefined>): Schema<Exclude<T, undefined>, Input | undefined> {
    return this.again({ ...this.presence, optional: false, fallback: makerOf(value) }) as Schema<Exclude<T, undefined>, Input | undefined>
  }

  /**
   * A password, a token and the like: what came is never repeated. Errors, problem documents and logs say `(not shown)` in its place, for parts
   * of the value too, and a default is left out of generated documents.
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
   * @throws WEIR_OPTION_INVALID for anything but a text
   */
  message(expected: string): this {
    if (typeof expected !== 'string' || expected === '')
      throw new WeirError('WEIR_OPTION_INVALID', `a message is ${shown(expected)}, not a text`)
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

  /** Why it can never be read at `place`; null when it can. @internal */
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

  /** The same schema with another presence. */
  protected abstract again(presence: Presence): Schema<unknown>

  /** Returns the converted value or a mismatch. */
  protected abstract readText(text: string, context: ReadContext | undefined): unknown

  /** The same for a JSON value, which is neither undefined nor null. */
  protected abstract readValue(value: unknown, context: ReadContext | undefined): unknown

  /** JSON Schema of the value itself. */
  protected abstract keywords(writer: JsonSchemaWriter): JsonSchema

  /** The same for the texts of one name, of which there is at least one. */
  protected readTexts(texts: readonly string[], context: ReadContext | undefined, isList: boolean): unknown {
    if (texts.length === 1) return isList ? this.mismatch(texts) : this.readText(texts[0]!, context)
    return new Mismatch(this.expects(`${this.describe()}, once`), countOf(texts))
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
  protected expects(described: string = this.describe()): string {
    return this.presence.message ?? described
  }

  /** That `value`, out of JSON, is not what was wanted. */
  protected mismatch(value: unknown): Mismatch {
    const actual = this.holdsSecret ? NOT_SHOWN : show(value)
    return new Mismatch(this.expects(this.presence.nullable ? `${this.describe()} or null` : this.describe()), actual)
  }

  /** The same for a text that is not out of JSON. */
  protected textMismatch(text: string): Mismatch {
    return new Mismatch(this.expects(), this.holdsSecret ? NOT_SHOWN : text)
  }

  /** A mismatch that another schema found for the same value, with the message and the secrecy of this one. @internal */
  restate(mismatch: Mismatch): Mismatch {
    const { message } = this.presence
    const all = mismatch.all()
    const own = message === null ? undefined : all.find(({ path }) => path.length === 0)
    if (message === null || own === undefined) return this.conceal(mismatch)
    return this.conceal(Mismatch.ofAll([new Mismatch(message, own.actual), ...all.filter(({ path }) => path.length > 0)]))
  }

  /** What was found wrong with parts of the value. @internal */
  conceal(mismatch: Mismatch): Mismatch {
    return this.presence.secret ? mismatch.hidden() : mismatch
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

/** How failures show the texts of one name. @internal */
export function countOf(texts: readonly unknown[]): string {
  return texts.length === 1 ? '1 value' : `${texts.length} values`
}

function makerOf(value: unknown): () => unknown {
  if (typeof value !== 'object' || value === null) return () => value
  try {
    const kept = structuredClone(value)
    return () => structuredClone(kept)
  } catch (cause) {
    throw new WeirError('WEIR_OPTION_INVALID', 'a default value that cannot be copied', cause)
  }
}
