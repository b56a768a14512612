// The schemas of a document: each is written where it is used, or defined once among the components.

import type { TypedBody } from 'weirjs/contract'
import { asSchema } from 'weirjs/kit'
import type { AnySchema, JsonSchema, JsonSchemaSide as Side } from 'weirjs/schema'
import { JsonSchemaWriter } from 'weirjs/schema'

export class DocumentSchemas {
  readonly #writer: JsonSchemaWriter
  /** The parts that the document lacks, with the reasons. */
  readonly faults: string[] = []
  readonly #faulty = new Set<object>()
  #where = ''

  constructor() {
    this.#writer = new JsonSchemaWriter({
      refs: '#/components/schemas/',
      onFailure: (schema, why) => {
        if (this.#faulty.has(schema)) return
        this.#faulty.add(schema)
        this.faults.push(`${this.#where}: a schema is written as {}, which accepts anything: ${why}`)
      },
    })
  }

  /** The components. */
  get all(): Readonly<Record<string, JsonSchema>> {
    return this.#writer.definitions
  }

  /** @param where what the schema is for, in messages */
  write(schema: AnySchema, side: Side, where: string): JsonSchema {
    this.#where = where
    return this.#writer.write(asSchema(schema), side)
  }

  /** The schema of a body, by its kind. */
  ofBody({ schema, kind }: TypedBody, side: Side, where: string): JsonSchema {
    if (schema !== null) return this.write(schema, side, where)
    return kind === 'text' ? { type: 'string' } : {}
  }
}

/** Whether an absent value is accepted. */
export function isOptional(schema: AnySchema): boolean {
  const own = asSchema(schema)
  return own.isOptional || own.hasDefault
}
