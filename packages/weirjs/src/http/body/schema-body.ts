// A body that a schema describes: JSON, a url-encoded form, or either of them.

import { shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import { asSchema } from '../../schema/foreign.ts'
import type { Schema } from '../../schema/schema.ts'
import { type AnySchema, type InputOf, isSchema, type OutputOf } from '../../schema/standard.ts'
import { TypedBody } from './typed-body.ts'

export const FORM_TYPE = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'

/** Made from a schema by `json`, `form` and routes. */
export class SchemaBody<T = unknown, Input = unknown> extends TypedBody<T, Input> {
  override readonly schema: AnySchema
  /** The same schema as one of `t`, which reads forms too. @internal */
  readonly reader: Schema<unknown>

  /** @internal */
  constructor(kind: 'schema' | 'json' | 'form', schema: AnySchema) {
    const reader = asSchema(schema)
    const takesForm = kind === 'form' || (kind === 'schema' && reader.unreadable('form') === null)
    super(kind, kind === 'form' ? [FORM_TYPE] : takesForm ? [JSON_TYPE, FORM_TYPE] : [JSON_TYPE], schema)
    this.schema = schema
    this.reader = reader
  }

  override get isOptional(): boolean {
    return this.reader.isOptional || this.reader.hasDefault
  }
}

/**
 * A body in JSON, `application/json` or any `+json` type, in UTF-8. A request without content is accepted only if the schema is optional or has
 * a default.
 * @throws WEIR_OPTION_INVALID if it is not a schema
 * @example
 * server.mapPost('/users', { body: json(t.object({ name: t.string })) }, ({ body }) => body.name)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/typed-bodies.md
 */
export function json<S extends AnySchema>(schema: S): TypedBody<OutputOf<S>, InputOf<S>> {
  return new SchemaBody<OutputOf<S>, InputOf<S>>('json', checkedSchema('json()', schema))
}

/**
 * A url-encoded form, `application/x-www-form-urlencoded`, which the schema reads as one object of strings. A form without fields is an
 * empty object. At most 1,000 fields; when exceeded: 413.
 * @throws WEIR_OPTION_INVALID if it is not a schema
 * @example
 * server.mapPost('/login', { body: form(t.object({ name: t.string })) }, ({ body }) => body.name)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/typed-bodies.md
 */
export function form<S extends AnySchema>(schema: S): TypedBody<OutputOf<S>, InputOf<S>> {
  return new SchemaBody<OutputOf<S>, InputOf<S>>('form', checkedSchema('form()', schema))
}

function checkedSchema(owner: string, schema: AnySchema): AnySchema {
  if (isSchema(schema)) return schema
  throw invalid(owner, `${shown(schema)} is not a schema: write one with t, such as t.object({ name: t.string })`)
}
