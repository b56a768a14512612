// Objects whose property names are data: counts by word, settings by key.

import { invalid } from '../base/options.ts'
import { ANY_COUNT, type Bounds, boundKeywords, saysCount, withCounts } from './bounds.ts'
import { isPlainObject, readEntry } from './composite.ts'
import { asSchema } from './foreign.ts'
import type { JsonSchema } from './json-keywords.ts'
import type { JsonSchemaWriter } from './json-schema.ts'
import { Mismatch, NOT_SHOWN, shorten, show } from './mismatch.ts'
import { type FormTexts, type Presence, REQUIRED, type ReadContext, type Reads, Schema, type SchemaPlace } from './schema.ts'
import type { AnySchema, InputOf, OutputOf, StandardSchema } from './standard.ts'

/** A record with these keys, each of which may be missing if they are known. */
type Keyed<T, Key extends string> = T extends { readonly [name: string]: infer V } ? (string extends Key ? T : { [K in Key]?: V }) : T

export interface RecordSchema<T, Input> {
  optional(): RecordSchema<T | undefined, Input | undefined>
  nullable(): RecordSchema<T | null, Input | null>
  default(value: Exclude<T, undefined>): RecordSchema<Exclude<T, undefined>, Input | undefined>
}

/** An object with any property names. One schema describes all values, and another one may describe the names. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the base has these methods
export class RecordSchema<T, Input = unknown> extends Schema<T, Input> {
  /** @internal */
  readonly value: Schema<unknown>
  /** @internal */
  readonly key: Schema<unknown> | null
  readonly #count: Bounds

  /** @internal */
  constructor(value: Schema<unknown>, key: Schema<unknown> | null = null, count: Bounds = ANY_COUNT, presence: Presence = REQUIRED) {
    super(presence)
    this.value = value
    this.key = key
    this.#count = count
  }

  /** Accepts only names that `schema` reads: `t.string.pattern(/^[a-z]+$/).max(20)`, `t.uuid`, `t.enum('de', 'en')`. */
  keys<K extends StandardSchema<unknown, string>>(schema: K): RecordSchema<Keyed<T, OutputOf<K>>, Keyed<Input, OutputOf<K>>> {
    return new RecordSchema(this.value, asSchema(schema), this.#count, this.presence)
  }

  /** At least `properties`. */
  min(properties: number): RecordSchema<T, Input> {
    return this.#with(withCounts(this.#count, { min: properties }))
  }

  /** At most `properties`; more are refused before the first is read. */
  max(properties: number): RecordSchema<T, Input> {
    return this.#with(withCounts(this.#count, { max: properties }))
  }

  override get reads(): Reads {
    return 'json'
  }

  override get holdsSecret(): boolean {
    return super.holdsSecret || this.value.holdsSecret || this.key?.holdsSecret === true
  }

  override describe(): string {
    const key = this.key === null ? '' : ` each key ${this.key.describe()} and`
    return `a record${saysCount(this.#count, 'key')},${key} each value ${this.value.describe()}`
  }

  override toJson(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, this.value.toJson(part)]))
  }

  /** A form is a record if its values can be read from the values of one name. */
  override unreadable(place: SchemaPlace): string | null {
    const reason = place === 'form' ? this.value.unreadable('texts') : super.unreadable(place)
    return reason === null || place !== 'form' ? reason : `each value: ${reason}`
  }

  /** The mismatch if `record` has too few or too many keys, otherwise null. @internal */
  miscounted(record: object): Mismatch | null {
    const { min, max } = this.#count
    if (min === 0 && max === Infinity) return null
    const count = Object.keys(record).length
    if (count >= min && count <= max) return null
    return new Mismatch(this.expects(), `an object with ${count === 1 ? '1 key' : `${count} keys`}`)
  }

  /** The mismatch if `key` is not allowed, otherwise null. @internal */
  misnamed(key: string): Mismatch | null {
    // Code that copies the record later might copy it onto a prototype.
    if (key === '__proto__') return new Mismatch('a key that is not "__proto__"', show(key))
    const read = this.key === null ? key : this.key.fromText(key)
    return read instanceof Mismatch ? new Mismatch(`a key that is ${read.expected}`, this.#hidesKeys ? NOT_SHOWN : show(key)) : null
  }

  /** The key, as messages show where a value is. @internal */
  shown(key: string): string {
    return this.#hidesKeys ? NOT_SHOWN : shorten(key)
  }

  get #hidesKeys(): boolean {
    return this.key?.holdsSecret === true
  }

  protected override readText(text: string): Mismatch {
    return this.textMismatch(text)
  }

  protected override readForm(form: FormTexts, context: ReadContext | undefined): object | Mismatch {
    return this.#read(form, (part) => readEntry(this.value, part, context))
  }

  protected override readValue(value: unknown, context: ReadContext | undefined): object | Mismatch {
    return isPlainObject(value) ? this.#read(value, (part) => this.value.fromValue(part, context)) : this.mismatch(value)
  }

  protected override again(presence: Presence): RecordSchema<unknown> {
    return new RecordSchema(this.value, this.key, this.#count, presence)
  }

  protected override keywords(writer: JsonSchemaWriter): JsonSchema {
    return {
      type: 'object',
      additionalProperties: this.value.writeTo(writer),
      ...(this.key !== null && { propertyNames: this.key.writeTo(writer) }),
      ...boundKeywords(this.#count, 'minProperties', 'maxProperties'),
    }
  }

  #with(count: Bounds): RecordSchema<T, Input> {
    return new RecordSchema(this.value, this.key, count, this.presence)
  }

  #read<Part>(source: { readonly [key: string]: Part }, read: (part: Part) => unknown): object | Mismatch {
    const miscounted = this.miscounted(source)
    if (miscounted !== null) return miscounted
    const record: Record<string, unknown> = Object.create(null)
    let found: Mismatch[] | null = null
    for (const key of Object.keys(source)) {
      const part = this.misnamed(key) ?? read(source[key]!)
      if (part instanceof Mismatch) {
        if (part.addTo((found ??= []), this.shown(key), true)) break
      } else if (part !== undefined) {
        record[key] = part
      }
    }
    return found === null ? record : this.conceal(Mismatch.ofAll(found))
  }
}

/** An object with any property names, and values that `value` describes. The result has no prototype. */
export function recordOf<S extends AnySchema>(value: S): RecordSchema<Record<string, OutputOf<S>>, Record<string, InputOf<S>>>
export function recordOf(value: AnySchema, second?: unknown): Schema<unknown> {
  if (second !== undefined) throw invalid('t.record()', 'it takes the schema of the values: write t.record(values).keys(names)')
  return new RecordSchema(asSchema(value))
}
