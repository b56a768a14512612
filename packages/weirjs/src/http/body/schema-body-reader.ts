// Reads a body that a schema describes: JSON, a url-encoded form, or either of them.

import { emptyRecord } from '../../base/empty-record.ts'
import { ContentTypeError, InvalidBodyError, WeirError } from '../../base/errors.ts'
import { isPromise } from '../../base/is-promise.ts'
import { type FormRecord, foldForm } from '../../formats/form.ts'
import { type MediaType, parseMediaType } from '../../formats/media-type.ts'
import { ObjectSchema } from '../../schema/composite.ts'
import { Mismatch } from '../../schema/mismatch.ts'
import { Schema } from '../../schema/schema.ts'
import { runSchema } from '../../schema/standard.ts'
import type { RequestBody } from './body.ts'
import { requireCharset } from './body-charset.ts'
import { BodyReader, type BodySettings } from './body-reader.ts'
import { JSON_TYPE, parseJsonBody, requireJsonInUtf8 } from './json-text.ts'
import { FORM_TYPE, type SchemaBody } from './schema-body.ts'

const MEMBER = 'args.body'

/** Like a record without a prototype, but cheaper: see `emptyRecord`. */
const Folded = emptyRecord<FormRecord>()
const EMPTY_FORM: FormRecord = Object.freeze(new Folded())

export class SchemaBodyReader<T> extends BodyReader<T> {
  declare readonly declared: SchemaBody<T>
  /** The schema as one of `t`, which reads forms too. */
  readonly #reader: Schema<unknown>
  /** The names that a form is expected to have. */
  readonly #names: readonly string[]
  readonly #takesJson: boolean
  readonly #takesForm: boolean

  constructor(declared: SchemaBody<T>) {
    super(declared)
    this.#reader = declared.reader
    this.#names = this.#reader instanceof ObjectSchema ? [...this.#reader.properties.keys()] : []
    this.#takesJson = declared.types.includes(JSON_TYPE)
    this.#takesForm = declared.types.includes(FORM_TYPE)
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
    const value = parseJsonBody(MEMBER, body, settings)
    return this.declared.schema instanceof Schema ? this.#reader.fromValue(value) : this.#run(value)
  }

  #readForm(contentType: string, body: RequestBody | null): unknown {
    const form = body === null ? EMPTY_FORM : foldForm(this.#pairsOf(contentType, body), new Folded())
    return this.declared.schema instanceof Schema ? this.#reader.fromForm(form) : this.#run(form)
  }

  #pairsOf(contentType: string, body: RequestBody): readonly string[] {
    return body.form(MEMBER, requireCharset(parseMediaType(contentType)), this.#names).pairs
  }

  /** Unlike elsewhere, a schema of another library may return a promise here. */
  #run(value: unknown): unknown {
    const result = runSchema(this.declared.schema, value)
    // Wrapped, because the `then` of the library's own promise may do anything.
    return isPromise(result) ? Promise.resolve(result) : result
  }

  /** @throws InvalidBodyError */
  #checked(value: unknown, { invalidBodyStatus }: BodySettings): unknown {
    if (value instanceof Mismatch) throw new InvalidBodyError(value.failures('', 'body', ''), invalidBodyStatus)
    return value
  }
}

/** The error for JSON that was sent as a form, as `curl -d '{"name":"Ann"}'` does. Otherwise, all its properties would be reported as missing. */
function jsonAsForm({ invalidBodyStatus }: BodySettings): InvalidBodyError {
  const actual = `what looks like JSON, which needs Content-Type: ${JSON_TYPE}`
  return new InvalidBodyError([{ name: '', in: 'body', pointer: '', expected: 'a url-encoded form', actual }], invalidBodyStatus)
}
