// Schemas of other libraries in place of a `t`: anything with `~standard` that is synchronous.

import { WeirError } from '../base/errors.ts'
import { isPromise } from '../base/is-promise.ts'
import { shown } from '../base/kind-of.ts'

import type { JsonSchema } from './json-keywords.ts'
import type { Converters, JsonSchemaWriter, Side } from './json-schema.ts'
import { Mismatch, PASSES_SCHEMA } from './mismatch.ts'
import { type FormTexts, type Presence, REQUIRED, type ReadContext, type Reads, Schema, type SchemaPlace } from './schema.ts'
import { type AnySchema, type InputOf, isSchema, type OutputOf, runSchema } from './standard.ts'

/** How a schema handles `undefined`: whether it accepts it, and the value that it returns. */
interface Nothing {
  readonly isTaken: boolean
  readonly value?: unknown
}

const REFUSED: Nothing = Object.freeze({ isTaken: false })

/**
 * Passes a text as a string, several as an array of strings (even a list of one), a form as a record of both, and JSON unchanged; the
 * schema does the conversion. A schema that returns a promise can only be run with `runSchema`, because nothing is awaited here.
 */
export class ForeignSchema<T, Input = unknown> extends Schema<T, Input> {
  readonly #schema: AnySchema
  #nothing: Nothing | undefined

  constructor(schema: AnySchema, presence: Presence = REQUIRED) {
    super(presence)
    this.#schema = schema
  }

  override get readsItself(): boolean {
    return false
  }

  override get reads(): Reads {
    return 'texts'
  }

  override get isOptional(): boolean {
    return super.isOptional || this.#ofNothing().isTaken
  }

  override describe(): string {
    return PASSES_SCHEMA
  }

  override absent(): T | Mismatch {
    return super.hasDefault || super.isOptional ? super.absent() : this.run(undefined)
  }

  /** Only the schema itself knows what it can read. */
  override unreadable(_place: SchemaPlace): null {
    return null
  }

  /** Runs the schema over any value, null and undefined included. @internal */
  run(value: unknown): T | Mismatch {
    const result = runSchema(this.#schema, value)
    if (isPromise(result)) {
      result.catch(() => {})
      throw new WeirError(
        'WEIR_OPTION_INVALID',
        `a schema of ${this.#schema['~standard'].vendor} returned a promise where it cannot be awaited`,
      )
    }
    return result instanceof Mismatch ? this.restate(result) : (result as T)
  }

  protected override requires(side: Side): boolean {
    const { isTaken, value } = this.#ofNothing()
    return !isTaken || (side === 'output' && value !== undefined)
  }

  protected override readNull(context: ReadContext | undefined): unknown {
    return this.presence.nullable || context?.nullValues === 'ignore' ? super.readNull(context) : this.run(null)
  }

  protected override readTexts(texts: readonly string[]): unknown {
    return this.run(texts)
  }

  protected override readText(text: string): unknown {
    return this.run(text)
  }

  protected override readForm(form: FormTexts): unknown {
    return this.run(form)
  }

  protected override readValue(value: unknown): unknown {
    return this.run(value)
  }

  protected override again(presence: Presence): ForeignSchema<unknown> {
    return new ForeignSchema(this.#schema, presence)
  }

  protected override keywords(writer: JsonSchemaWriter): JsonSchema {
    return writer.embed(this.#schema, () => (this.#schema['~standard'] as { readonly jsonSchema?: Converters | null }).jsonSchema)
  }

  /** Found by running the schema once. */
  #ofNothing(): Nothing {
    this.#nothing ??= ofNothing(this.#schema)
    return this.#nothing
  }
}

/** `schema` itself if it is a `t`, otherwise one that runs it. @param where begins the message @throws WEIR_OPTION_INVALID for anything but a Standard Schema */
export function asSchema<S extends AnySchema>(schema: S, where = ''): Schema<OutputOf<S>, InputOf<S>> {
  if (schema instanceof Schema) return schema as Schema<OutputOf<S>, InputOf<S>>
  if (!isSchema(schema))
    throw new WeirError(
      'WEIR_OPTION_INVALID',
      `${where}${shown(schema)} is not a schema: write one with t, such as t.string or t.object({ … }), or use a Standard Schema`,
    )
  return new ForeignSchema<OutputOf<S>, InputOf<S>>(schema)
}

/** A schema that throws or returns a promise counts as one that needs a value. */
function ofNothing(schema: AnySchema): Nothing {
  try {
    const result = schema['~standard'].validate(undefined)
    if (!isPromise(result)) return result.issues === undefined ? { isTaken: true, value: result.value } : REFUSED
    result.catch(() => {})
  } catch {
    // It will throw again when it is used.
  }
  return REFUSED
}
