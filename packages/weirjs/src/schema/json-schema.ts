// Writes schemas as JSON Schema. Schemas that have a name or may contain themselves are defined once and referred to.
//
// One writer makes one document, which may contain many schemas: an OpenAPI document uses one writer for all of its routes.

import { isInstance } from '../base/errors.ts'
import { isPromise } from '../base/is-promise.ts'
import { invalid } from '../base/options.ts'

import { type JsonSchema, moved, type Slot } from './json-keywords.ts'

/** Whether a schema describes what is accepted (`input`) or what is sent (`output`). In what is sent, defaults have replaced absent values. */
export type Side = 'input' | 'output'

/** A dialect of JSON Schema, by its name in Standard JSON Schema. */
type JsonSchemaTarget = 'draft-2020-12' | 'draft-07'

export interface JsonSchemaWriterOptions {
  /** A `JsonSchemaTarget`. Default: `draft-2020-12`. */
  readonly target?: string
  /** What precedes the name of a definition in a `$ref`. Default: `#/$defs/`. An OpenAPI document has `#/components/schemas/`. */
  readonly refs?: string
  /** The schema that is the whole document, to which its parts refer as `#`. */
  readonly root?: object
  /** Called for a schema of another library that cannot be written, with the reason. Once for each side. */
  readonly onFailure?: (schema: object, why: string) => void
}

interface Dialect {
  readonly $schema: string
  readonly definitions: '$defs' | 'definitions'
}

const DIALECTS: Readonly<Record<JsonSchemaTarget, Dialect>> = {
  'draft-2020-12': { $schema: 'https://json-schema.org/draft/2020-12/schema', definitions: '$defs' },
  'draft-07': { $schema: 'http://json-schema.org/draft-07/schema#', definitions: 'definitions' },
}

/** The name of recursive schemas that have none. */
const NAMELESS = 'Recursive'
/** Takes the place of a definition while it is being written. */
const UNDER_WAY: JsonSchema = Object.freeze({})

/** What a writer needs to know of a schema. */
export interface Writable {
  readonly name: string | null
  writeTo(writer: JsonSchemaWriter): JsonSchema
}

/** The functions by which a schema of another library describes itself (https://standardschema.dev/json-schema). */
export type Converters = { readonly [S in Side]?: unknown }

export class JsonSchemaWriter {
  readonly #target: JsonSchemaTarget
  readonly #refs: string
  readonly #root: object | null
  readonly #onFailure: ((schema: object, why: string) => void) | null
  readonly #definitions = new Map<string, JsonSchema>()
  /** The name under which each schema was defined. The two sides of a schema may differ. */
  readonly #names: Readonly<Record<Side, Map<object, string>>> = { input: new Map(), output: new Map() }
  readonly #embedded: Readonly<Record<Side, Map<object, JsonSchema>>> = { input: new Map(), output: new Map() }
  #side: Side = 'input'
  #isRootWritten = false

  /** @throws WEIR_OPTION_INVALID for a dialect that it does not know */
  constructor({ target = 'draft-2020-12', refs, root, onFailure }: JsonSchemaWriterOptions = {}) {
    if (!Object.hasOwn(DIALECTS, target))
      throw invalid('jsonSchema', `there is no target ${JSON.stringify(target)}, only ${Object.keys(DIALECTS).join(' and ')}`)
    this.#target = target as JsonSchemaTarget
    this.#refs = refs ?? `#/${DIALECTS[this.#target].definitions}/`
    this.#root = root ?? null
    this.#onFailure = onFailure ?? null
  }

  /** The URI of the dialect, for `$schema`. */
  get dialect(): string {
    return DIALECTS[this.#target].$schema
  }

  /** The side that is being written. */
  get side(): Side {
    return this.#side
  }

  /** The definitions to which the schemas written so far refer, by name. */
  get definitions(): { readonly [name: string]: JsonSchema } {
    return Object.fromEntries(this.#definitions)
  }

  /** Writes one schema. What it refers to is added to `definitions`. */
  write(schema: Writable, side: Side): JsonSchema {
    this.#side = side
    return schema.writeTo(this)
  }

  /** Adds the definitions to `schema`, for a document that consists of this schema only. */
  document(schema: JsonSchema): JsonSchema {
    return this.#definitions.size === 0 ? schema : { ...schema, [DIALECTS[this.#target].definitions]: this.definitions }
  }

  /** Returns a reference to what `write` returns, defined as `name`, or as a longer name if `name` already has another meaning. */
  define(name: string, schema: object, write: () => JsonSchema): JsonSchema {
    if (schema !== this.#root) return { $ref: this.#refs + (this.#names[this.#side].get(schema) ?? this.#add(name, schema, write)) }
    if (this.#isRootWritten) return { $ref: '#' }
    this.#isRootWritten = true
    return write()
  }

  /** Returns a reference to a schema that may contain itself. */
  recur(schema: Writable): JsonSchema {
    if (schema === this.#root) return { $ref: '#' }
    return schema.name === null ? this.define(NAMELESS, schema, () => schema.writeTo(this)) : schema.writeTo(this)
  }

  /**
   * Returns the JSON Schema of another library's schema, or `{}`, which accepts any value, if the library does not provide one.
   * @param converters of the schema; reading them may throw
   */
  embed(schema: object, converters: () => Converters | null | undefined): JsonSchema {
    const known = this.#embedded[this.#side].get(schema)
    if (known !== undefined) return known
    const written = this.#convert(schema, converters)
    this.#embedded[this.#side].set(schema, written)
    return written
  }

  /** Adds a default value to `schema`. In draft 7, other keywords next to a `$ref` are ignored. */
  withDefault(schema: JsonSchema, value: unknown): JsonSchema {
    return this.#target === 'draft-07' && '$ref' in schema ? { allOf: [schema], default: value } : { ...schema, default: value }
  }

  #convert(schema: object, converters: () => Converters | null | undefined): JsonSchema {
    const reserved: string[] = []
    try {
      const converter = converters()?.[this.#side]
      if (typeof converter !== 'function') return this.#fail(schema, 'its library provides no JSON Schema')
      const found: unknown = converter({ target: this.#target })
      if (!isRecord(found)) return this.#fail(schema, 'its library returned no JSON Schema')
      return moved(plainOf(found), (name) => this.#reserve(name, reserved))
    } catch (error) {
      // The standard allows a converter to throw if it cannot express the schema.
      for (const name of reserved) this.#definitions.delete(name)
      return this.#fail(schema, firstLine(isInstance(error, Error) ? error.message : String(error)))
    }
  }

  #fail(schema: object, why: string): JsonSchema {
    this.#onFailure?.(schema, why)
    return {}
  }

  #reserve(name: string, reserved: string[]): Slot {
    for (const candidate of this.#candidates(name.replace(/[^\w.-]/g, '_'))) {
      if (this.#definitions.has(candidate)) continue
      this.#definitions.set(candidate, UNDER_WAY)
      reserved.push(candidate)
      return { ref: this.#refs + candidate, define: (schema) => this.#definitions.set(candidate, schema) }
    }
    throw new Error('candidates never end')
  }

  #add(name: string, schema: object, write: () => JsonSchema): string {
    const names = this.#names[this.#side]
    for (const candidate of this.#candidates(name)) {
      const present = this.#definitions.get(candidate)
      // A definition that refers to its own name means itself.
      if (present === UNDER_WAY && name !== NAMELESS) return candidate
      if (present === UNDER_WAY) continue
      names.set(schema, candidate)
      this.#definitions.set(candidate, UNDER_WAY)
      const written = write()
      this.#definitions.set(candidate, present ?? written)
      if (present === undefined || JSON.stringify(present) === JSON.stringify(written)) return candidate
    }
    throw new Error('candidates never end')
  }

  *#candidates(name: string): Generator<string, void> {
    yield name
    if (name !== NAMELESS) yield name + (this.#side === 'input' ? 'Input' : 'Output')
    for (let number = 2; ; number++) yield `${name}${number}`
  }
}

/** Node draws the circle in which an object contains itself. */
function firstLine(text: string): string {
  return text.split('\n', 1)[0]!
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isPromise(value)
}

/** The value as it will be in a document. @throws TypeError for a value that JSON cannot express, such as an object that contains itself */
function plainOf(found: object): JsonSchema {
  return JSON.parse(JSON.stringify(found)) as JsonSchema
}
