// Writes schemas as JSON Schema: what has a name, and what may hold itself, is defined once and referred to.
//
// One writer makes one document, which may hold many schemas: an OpenAPI document has one writer for all of its routes.

import { invalid } from '../base/options.ts'

import { type JsonSchema, moved, type Slot } from './json-keywords.ts'

/** Of a value that comes in (`input`), or of one that is sent (`output`), where a default has taken the place of what was absent. */
export type Side = 'input' | 'output'

/** A dialect of JSON Schema, under the name that Standard JSON Schema gives it. */
export type JsonSchemaTarget = 'draft-2020-12' | 'draft-07'

export interface JsonSchemaWriterOptions {
  /** A `JsonSchemaTarget`. Default: `draft-2020-12`. */
  readonly target?: string
  /** What precedes the name of a definition in a `$ref`. Default: `#/$defs/`. An OpenAPI document has `#/components/schemas/`. */
  readonly refs?: string
  /** The schema that is the whole document, to which its parts refer as `#`. */
  readonly root?: object
}

interface Dialect {
  readonly $schema: string
  readonly definitions: '$defs' | 'definitions'
}

const DIALECTS: Readonly<Record<JsonSchemaTarget, Dialect>> = {
  'draft-2020-12': { $schema: 'https://json-schema.org/draft/2020-12/schema', definitions: '$defs' },
  'draft-07': { $schema: 'http://json-schema.org/draft-07/schema#', definitions: 'definitions' },
}

/** What a recursive schema is called that has no name. */
const NAMELESS = 'Recursive'
/** Stands for a definition until it has been written. */
const UNDER_WAY: JsonSchema = Object.freeze({})

/** A schema, as far as a writer knows it. */
export interface Writable {
  readonly name: string | null
  writeTo(writer: JsonSchemaWriter): JsonSchema
}

/** What describes a schema of another library, one function for each side (https://standardschema.dev/json-schema). */
export type Converters = { readonly [S in Side]?: unknown }

export class JsonSchemaWriter {
  readonly #target: JsonSchemaTarget
  readonly #refs: string
  readonly #root: object | null
  readonly #definitions = new Map<string, JsonSchema>()
  /** The name under which each schema was defined. The two sides of a schema may differ. */
  readonly #names: Readonly<Record<Side, Map<object, string>>> = { input: new Map(), output: new Map() }
  readonly #embedded: Readonly<Record<Side, Map<object, JsonSchema>>> = { input: new Map(), output: new Map() }
  #side: Side = 'input'
  #isRootWritten = false

  /** @throws WEIR_OPTION_INVALID for a dialect that it does not know */
  constructor({ target = 'draft-2020-12', refs, root }: JsonSchemaWriterOptions = {}) {
    if (!Object.hasOwn(DIALECTS, target))
      throw invalid('jsonSchema', `there is no target ${JSON.stringify(target)}, only ${Object.keys(DIALECTS).join(' and ')}`)
    this.#target = target as JsonSchemaTarget
    this.#refs = refs ?? `#/${DIALECTS[this.#target].definitions}/`
    this.#root = root ?? null
  }

  /** The URI of the dialect, for `$schema`. */
  get dialect(): string {
    return DIALECTS[this.#target].$schema
  }

  /** The side that is being written. */
  get side(): Side {
    return this.#side
  }

  /** What the schemas written so far refer to, by name. */
  get definitions(): { readonly [name: string]: JsonSchema } {
    return Object.fromEntries(this.#definitions)
  }

  /** One schema. What it refers to is added to `definitions`. */
  write(schema: Writable, side: Side): JsonSchema {
    this.#side = side
    return schema.writeTo(this)
  }

  /** `schema` with the definitions, for a document that is this schema and nothing more. */
  document(schema: JsonSchema): JsonSchema {
    return this.#definitions.size === 0 ? schema : { ...schema, [DIALECTS[this.#target].definitions]: this.definitions }
  }

  /** A reference to what `write` returns, under `name`, or under a longer one where `name` means something else already. */
  define(name: string, schema: object, write: () => JsonSchema): JsonSchema {
    if (schema !== this.#root) return { $ref: this.#refs + (this.#names[this.#side].get(schema) ?? this.#add(name, schema, write)) }
    if (this.#isRootWritten) return { $ref: '#' }
    this.#isRootWritten = true
    return write()
  }

  /** A reference to a schema that may hold itself. */
  recur(schema: Writable): JsonSchema {
    if (schema === this.#root) return { $ref: '#' }
    return schema.name === null ? this.define(NAMELESS, schema, () => schema.writeTo(this)) : schema.writeTo(this)
  }

  /** What a schema of another library says of itself: `{}`, which is any value, if it says nothing or cannot. */
  embed(schema: object, converters: Converters): JsonSchema {
    const known = this.#embedded[this.#side].get(schema)
    if (known !== undefined) return known
    const written = this.#convert(converters[this.#side])
    this.#embedded[this.#side].set(schema, written)
    return written
  }

  /** `schema` with a default value. In draft 7, a reference has no other keywords beside it. */
  withDefault(schema: JsonSchema, value: unknown): JsonSchema {
    return this.#target === 'draft-07' && '$ref' in schema ? { allOf: [schema], default: value } : { ...schema, default: value }
  }

  #convert(converter: unknown): JsonSchema {
    if (typeof converter !== 'function') return {}
    const reserved: string[] = []
    try {
      const found: unknown = converter({ target: this.#target })
      if (typeof found === 'object' && found !== null) return moved(found as JsonSchema, (name) => this.#reserve(name, reserved))
    } catch {
      // The standard lets a converter throw for what it cannot express.
      for (const name of reserved) this.#definitions.delete(name)
    }
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
      // Within itself, a name means what it is about to mean.
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
