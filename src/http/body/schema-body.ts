// A body that a schema describes: JSON, a url-encoded form, or either of them.

import { emptyRecord } from '../../base/empty-record.ts'
import { ContentTypeError, InvalidBodyError, WeirError } from '../../base/errors.ts'
import { isPromise } from '../../base/is-promise.ts'
import { shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import { type FormRecord, foldForm } from '../../formats/form.ts'
import { type MediaType, parseMediaType } from '../../formats/media-type.ts'
import { ObjectSchema } from '../../schema/composite.ts'
import { asSchema } from '../../schema/foreign.ts'
import { Mismatch } from '../../schema/mismatch.ts'
import { Schema } from '../../schema/schema.ts'
import { type AnySchema, isSchema, type OutputOf, runSchema } from '../../schema/standard.ts'
import type { RequestBody } from './body.ts'
import { requireCharset } from './body-charset.ts'
import { JSON_TYPE, parseJsonBody, requireJsonInUtf8 } from './json-text.ts'
import { type BodySettings, TypedBody } from './typed-body.ts'

const FORM_TYPE = 'application/x-www-form-urlencoded'
const MEMBER = 'args.body'

/** Like a record without a prototype, but cheaper: see `emptyRecord`. */
const Folded = emptyRecord<FormRecord>()
const EMPTY_FORM: FormRecord = Object.freeze(new Folded())

/** Made from a schema. @internal */
export class SchemaBody<T = unknown> extends TypedBody<T> {
  override readonly schema: AnySchema
  /** The same schema as one of `t`, which reads forms too. */
  readonly #reader: Schema<unknown>
  /** Its schema, if it is an object whose properties can be read from flat JSON. */
  readonly #flat: ObjectSchema<unknown> | null
  readonly #names: readonly string[]
  readonly #takesJson: boolean
  readonly #takesForm: boolean

  constructor(kind: 'schema' | 'json' | 'form', schema: AnySchema) {
    const reader = asSchema(schema)
    const takesForm = kind === 'form' || (kind === 'schema' && reader.unreadable('form') === null)
    super(kind, kind === 'form' ? [FORM_TYPE] : takesForm ? [JSON_TYPE, FORM_TYPE] : [JSON_TYPE], schema)
    this.schema = schema
    this.#reader = reader
    this.#flat = reader instanceof ObjectSchema ? reader : null
    this.#names = this.#flat === null ? [] : [...this.#flat.properties.keys()]
    this.#takesJson = kind !== 'form'
    this.#takesForm = takesForm
  }

  override get isOptional(): boolean {
    return this.#reader.isOptional || this.#reader.hasDefault
  }

  override get unreadable(): string | null {
    return this.#reader.unreadable(this.#takesJson ? 'json' : 'form')
  }

  override accepts(type: MediaType): boolean {
    if (this.#takesJson && requireJsonInUtf8(type)) return true
    if (!this.#takesForm || type.type !== FORM_TYPE) return false
    requireCharset(type)
    return true
  }

  /** A form without fields has no content. */
  override lacksContent(contentType: string | null): boolean {
    return !this.isOptional && !this.#isForm(contentType)
  }

  #isForm(contentType: string | null): contentType is string {
    return this.#takesForm && contentType !== JSON_TYPE && contentType !== null && parseMediaType(contentType)?.type === FORM_TYPE
  }

  override read(contentType: string | null, body: RequestBody | null, settings: BodySettings): T | Promise<T> {
    const isForm = this.#isForm(contentType)
    if (body === null || body.length(MEMBER) === 0) {
      if (this.isOptional) return this.#checked(this.#reader.absent(), settings) as T
      // A form without fields has no content.
      if (!isForm) throw new WeirError('WEIR_BODY_MISSING', this.types.join(' or '))
    } else if (contentType === null) throw new ContentTypeError(null, this.types)
    const value = isForm ? this.#readForm(contentType, body) : this.#readJson(body!, settings)
    if (isForm && value instanceof Mismatch && body !== null && /^\s*[[{]/.test(body.text(MEMBER))) throw jsonAsForm(settings)
    return value instanceof Promise ? value.then((settled) => this.#checked(settled, settings) as T) : (this.#checked(value, settings) as T)
  }

  #readJson(body: RequestBody, settings: BodySettings): unknown {
    if (this.#flat !== null && settings.jsonEngine === null) {
      const pairs = body.flatJson(MEMBER, this.#names)
      if (pairs !== null) return this.#flat.fromPairs(pairs)
    }
    const value = parseJsonBody(MEMBER, body, settings)
    return this.schema instanceof Schema ? this.#reader.fromValue(value) : this.#run(value)
  }

  #readForm(contentType: string, body: RequestBody | null): unknown {
    const form = body === null ? EMPTY_FORM : foldForm(this.#pairsOf(contentType, body), new Folded())
    return this.schema instanceof Schema ? this.#reader.fromForm(form) : this.#run(form)
  }

  #pairsOf(contentType: string, body: RequestBody): readonly string[] {
    return body.form(MEMBER, requireCharset(parseMediaType(contentType)), this.#names).pairs
  }

  /** Here a schema of another library may return a promise. */
  #run(value: unknown): unknown {
    const result = runSchema(this.schema, value)
    // Not the library's own promise, whose `then` may do anything.
    return isPromise(result) ? Promise.resolve(result) : result
  }

  /** @throws InvalidBodyError */
  #checked(value: unknown, { invalidBodyStatus }: BodySettings): unknown {
    if (value instanceof Mismatch) throw new InvalidBodyError(value.failures('', 'body', ''), invalidBodyStatus)
    return value
  }
}

/** What `curl -d '{"name":"Ann"}'` sends. All its properties would be reported as missing. */
function jsonAsForm({ invalidBodyStatus }: BodySettings): InvalidBodyError {
  const actual = `what looks like JSON, which needs Content-Type: ${JSON_TYPE}`
  return new InvalidBodyError([{ name: '', in: 'body', pointer: '', expected: 'a url-encoded form', actual }], invalidBodyStatus)
}

/**
 * A body in JSON, `application/json` or any `+json` type, in UTF-8. A request without content is accepted only if the schema is optional or has
 * a default.
 * @throws WEIR_OPTION_INVALID if it is not a schema
 */
export function json<S extends AnySchema>(schema: S): TypedBody<OutputOf<S>> {
  return new SchemaBody<OutputOf<S>>('json', checkedSchema('json()', schema))
}

/**
 * A url-encoded form, `application/x-www-form-urlencoded`, which the schema reads as one object of strings. A form without fields is an
 * empty object. At most 1,000 fields; when exceeded: 413.
 * @throws WEIR_OPTION_INVALID if it is not a schema
 */
export function form<S extends AnySchema>(schema: S): TypedBody<OutputOf<S>> {
  return new SchemaBody<OutputOf<S>>('form', checkedSchema('form()', schema))
}

function checkedSchema(owner: string, schema: AnySchema): AnySchema {
  if (isSchema(schema)) return schema
  throw invalid(owner, `${shown(schema)} is not a schema: write one with t, such as t.object({ name: t.string })`)
}
