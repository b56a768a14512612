// Schemas of other libraries where a `t` stands: anything with `~standard`, as long as it answers at once.

import { WeirError } from '../base/errors.ts'
import { isPromise } from '../base/is-promise.ts'

import { Mismatch, PASSES_SCHEMA } from './mismatch.ts'
import { type JsonSchema, type Presence, REQUIRED, type ReadContext, Schema } from './schema.ts'
import { type AnySchema, isSchema, type OutputOf, runSchema } from './standard.ts'

/**
 * Gives a text as a string, a list of texts as an array of strings, also one of one, and JSON as it is; the schema converts. One that answers
 * with a promise can only be run by `runSchema`, on its own: nothing here waits.
 */
class ForeignSchema<T> extends Schema<T> {
  override readonly reads = 'texts'
  readonly #schema: AnySchema
  #takesNothing: boolean | undefined

  constructor(schema: AnySchema, presence: Presence = REQUIRED) {
    super(presence)
    this.#schema = schema
  }

  /** Found out by asking once. A schema that throws or answers later is taken as one that wants a value. */
  override get isOptional(): boolean {
    this.#takesNothing ??= super.isOptional || takesNothing(this.#schema)
    return this.#takesNothing
  }

  override describe(): string {
    return PASSES_SCHEMA
  }

  override absent(): T | Mismatch {
    return super.hasDefault || super.isOptional ? super.absent() : this.#run(undefined)
  }

  override fromTexts(texts: readonly string[], context?: ReadContext): T | Mismatch {
    return texts.length > 0 ? this.#run(texts) : super.fromTexts(texts, context)
  }

  override fromValue(value: unknown, context?: ReadContext): T | Mismatch {
    if (value === null && !this.presence.nullable && context?.nullValues !== 'ignore') return this.#run(value)
    return super.fromValue(value, context)
  }

  protected override readText(text: string): unknown {
    return this.#run(text)
  }

  protected override readValue(value: unknown): unknown {
    return this.#run(value)
  }

  protected override again(presence: Presence): ForeignSchema<unknown> {
    return new ForeignSchema(this.#schema, presence)
  }

  protected override keywords(): JsonSchema {
    return jsonSchemaOf(this.#schema)
  }

  #run(value: unknown): T | Mismatch {
    const result = runSchema(this.#schema, value)
    if (isPromise(result)) {
      result.catch(() => {})
      throw new WeirError(
        'WEIR_OPTION_INVALID',
        `a schema of ${this.#schema['~standard'].vendor} that answers with a promise stands where nothing can wait for it`,
      )
    }
    return result instanceof Mismatch ? this.conceal(result) : (result as T)
  }
}

/** `schema` itself if it is a `t`, else one that asks it. @throws WEIR_OPTION_INVALID for what is no Standard Schema */
export function asSchema<S extends AnySchema>(schema: S): Schema<OutputOf<S>> {
  if (schema instanceof Schema) return schema as Schema<OutputOf<S>>
  if (!isSchema(schema)) throw new WeirError('WEIR_OPTION_INVALID', 'a schema without "~standard"')
  return new ForeignSchema<OutputOf<S>>(schema)
}

function takesNothing(schema: AnySchema): boolean {
  try {
    const result = schema['~standard'].validate(undefined)
    if (!isPromise(result)) return result.issues === undefined
    result.catch(() => {})
    return false
  } catch {
    return false
  }
}

/** Standard JSON Schema (https://standardschema.dev/json-schema): some libraries can say what they take. Any value, if this one cannot. */
function jsonSchemaOf(schema: AnySchema): JsonSchema {
  const converter: unknown = (schema['~standard'] as { readonly jsonSchema?: unknown }).jsonSchema
  if (typeof converter !== 'object' || converter === null || !('input' in converter) || typeof converter.input !== 'function') return {}
  try {
    const found: unknown = converter.input({ target: 'draft-2020-12' })
    return typeof found === 'object' && found !== null ? (found as JsonSchema) : {}
  } catch {
    return {} // the standard lets a converter throw for what it cannot express
  }
}
