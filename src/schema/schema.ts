// What every `t` is: a description of a value that reads it from text (route, query, url-encoded form) and from JSON.
//
// Reading gives the converted value itself or a `Mismatch`; nothing is thrown and nothing is wrapped. A schema never changes:
// each modifier gives a new one, so that one may be kept in a constant and refined in many places.

import { WeirError } from '../base/errors.ts'

import { Mismatch, NOT_SHOWN, show } from './mismatch.ts'
import type { StandardProps, StandardSchema } from './standard.ts'

/** How ambiguous values are read. The names are those of `JsonSettings`, which may be handed in as it is. */
export interface ReadContext {
  /** A date and time without a zone: as UTC (default), or in the machine's zone as ECMAScript reads it. */
  readonly zoneless?: 'utc' | 'local'
  /** A property that an object schema does not declare: dropped (default), or a mismatch. */
  readonly unknownProperties?: 'ignore' | 'error'
  /** A null where the schema is not nullable: a mismatch (default, `set`), or as if nothing came. */
  readonly nullValues?: 'set' | 'ignore'
}

/** A JSON Schema (2020-12), for generated documents. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** What may stand in place of a value. */
export interface Presence {
  readonly optional: boolean
  readonly nullable: boolean
  /** Makes the default value; null when there is none. */
  readonly fallback: (() => unknown) | null
  /** Whether the value is never repeated in what is said about it. */
  readonly secret: boolean
}

export const REQUIRED: Presence = Object.freeze({ optional: false, nullable: false, fallback: null, secret: false })

/** A description of a value of type `T`. */
export abstract class Schema<T> implements StandardSchema<unknown, T> {
  protected readonly presence: Presence
  #standard: StandardProps<unknown, T> | undefined

  constructor(presence: Presence = REQUIRED) {
    this.presence = presence
  }

  /** What it is, in plain words: `a whole number of at least 1`. */
  abstract describe(): string

  /** What it reads: one text, any number of texts of one name (or one), or only JSON. */
  readonly reads: 'text' | 'texts' | 'json' = 'text'

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
    return this.presence.optional ? (undefined as T) : new Mismatch(this.describe())
  }

  /** Reads a route, query or url-encoded value, already decoded. */
  fromText(text: string, context?: ReadContext): T | Mismatch {
    return this.readText(text, context) as T | Mismatch
  }

  /**
   * Reads all the texts of one name. Where one value is wanted, several are a mismatch: taking the first or the last of them is how filters are
   * passed by.
   * @param isList whether a single one was said to be a list too: `n[]=5` of a form
   */
  fromTexts(texts: readonly string[], context?: ReadContext, isList: boolean = false): T | Mismatch {
    if (texts.length === 0) return this.absent()
    if (isList && texts.length === 1) return this.mismatch(texts)
    return texts.length === 1 ? this.fromText(texts[0]!, context) : new Mismatch(`${this.describe()}, once`, `${texts.length} values`)
  }

  /** Reads a value out of JSON; `undefined` is an absent one. */
  fromValue(value: unknown, context?: ReadContext): T | Mismatch {
    if (value === undefined) return this.absent()
    if (value === null) {
      if (this.presence.nullable) return null as T
      return context?.nullValues === 'ignore' ? this.absent() : this.mismatch(value)
    }
    return this.readValue(value, context) as T | Mismatch
  }

  /** May be missing: it is then `undefined`, or not there in an object. Takes a default back. */
  optional(): Schema<T | undefined> {
    return this.again({ ...this.presence, optional: true, fallback: null }) as Schema<T | undefined>
  }

  /** May be null in JSON. */
  nullable(): Schema<T | null> {
    return this.again({ ...this.presence, nullable: true }) as Schema<T | null>
  }

  /**
   * What stands in for a missing value; taken as it is, unchecked. A Date, an array or an object is copied for every use,
   * so that one request cannot change the default of the next.
   *
   * @throws WEIR_OPTION_INVALID for a value that `structuredClone` cannot copy
   */
  default(value: Exclude<T, undefined>): Schema<Exclude<T, undefined>> {
    return this.again({ ...this.presence, optional: false, fallback: makerOf(value) }) as Schema<Exclude<T, undefined>>
  }

  /**
   * A password, a token and the like: what came is never repeated. Errors, problem documents and logs say `(not shown)` in its place, for parts
   * of the value too, and a default is left out of generated documents.
   */
  secret(): this {
    return this.again({ ...this.presence, secret: true }) as this
  }

  /** Whether the value, or a part of it, is secret. @internal */
  get holdsSecret(): boolean {
    return this.presence.secret
  }

  /** As JSON Schema 2020-12. */
  jsonSchema(): JsonSchema {
    const schema = this.presence.nullable ? orNull(this.keywords()) : this.keywords()
    return this.presence.fallback === null || this.holdsSecret ? schema : { ...schema, default: this.toJson(this.presence.fallback()) }
  }

  get '~standard'(): StandardProps<unknown, T> {
    this.#standard ??= { version: 1, vendor: 'weir', validate: (value) => this.#validate(value) }
    return this.#standard
  }

  /** A converted value as it would stand in JSON. @internal */
  toJson(value: unknown): unknown {
    return value
  }

  /** The same schema with another presence. */
  protected abstract again(presence: Presence): Schema<unknown>

  /** Gives the converted value or a mismatch. */
  protected abstract readText(text: string, context: ReadContext | undefined): unknown

  /** The same for a JSON value, which is neither undefined nor null. */
  protected abstract readValue(value: unknown, context: ReadContext | undefined): unknown

  /** JSON Schema of the value itself. */
  protected abstract keywords(): JsonSchema

  /** That `value`, out of JSON, is not what was wanted. */
  protected mismatch(value: unknown): Mismatch {
    const actual = this.holdsSecret ? NOT_SHOWN : show(value)
    return new Mismatch(this.presence.nullable ? `${this.describe()} or null` : this.describe(), actual)
  }

  /** The same for a text that is not out of JSON. */
  protected textMismatch(text: string): Mismatch {
    return new Mismatch(this.describe(), this.holdsSecret ? NOT_SHOWN : text)
  }

  /** What was found wrong with parts of the value. */
  protected conceal(mismatch: Mismatch): Mismatch {
    return this.presence.secret ? mismatch.hidden() : mismatch
  }

  #validate(value: unknown) {
    const result = this.fromValue(value)
    if (!(result instanceof Mismatch)) return { value: result }
    return { issues: result.all().map(({ message, path }) => ({ message, path })) }
  }
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

function orNull(schema: JsonSchema): JsonSchema {
  const { type } = schema
  if (Array.isArray(schema['enum'])) return { ...schema, type: [type, 'null'].flat(), enum: [...schema['enum'], null] }
  return type === undefined ? { anyOf: [schema, { type: 'null' }] } : { ...schema, type: [type, 'null'].flat() }
}
