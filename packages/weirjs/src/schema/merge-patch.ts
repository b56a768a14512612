// JSON merge patches (RFC 7396): what a patch of an object may contain, and how it is applied.

import { isPlainObject, ObjectSchema } from './composite.ts'
import { ForeignSchema } from './foreign.ts'
import { type JsonSchema, orNull } from './json-keywords.ts'
import type { JsonSchemaWriter } from './json-schema.ts'
import { LazySchema } from './lazy.ts'
import { Mismatch } from './mismatch.ts'
import { RecordSchema } from './records.ts'
import { type Presence, REQUIRED, type Reads, Schema } from './schema.ts'
import { UnionSchema } from './unions.ts'

/**
 * What a client sends to change an object whose JSON form is `Input`: the properties that change, and null for those that are removed. Only a
 * property that may be absent can be removed. The same applies to objects inside it; a list is replaced as a whole.
 */
export type MergePatchInput<Input> = Input extends readonly unknown[]
  ? Input
  : Input extends object
    ? { readonly [K in keyof Input]?: MergePatchInput<Exclude<Input[K], undefined>> | (undefined extends Input[K] ? null : never) }
    : Input

/** Reads a merge patch. The result has the form in which the client sent it, without properties that the object does not declare. */
export class MergePatchSchema extends Schema<object> {
  /** The object that a patch changes. @internal */
  readonly object: ObjectSchema<unknown>

  /** @internal */
  constructor(object: ObjectSchema<unknown>, presence: Presence = REQUIRED) {
    super(presence)
    this.object = object
  }

  override get reads(): Reads {
    return 'json'
  }

  override get holdsSecret(): boolean {
    return super.holdsSecret || this.object.holdsSecret
  }

  override describe(): string {
    return this.object.describe()
  }

  /** `current` with the changes of `patch`, which this schema has read: a copy. A mismatch if the result does not fit. @internal */
  apply(current: object, patch: object): object | Mismatch {
    return changed(this.object, current, patch) as object | Mismatch
  }

  protected override readText(text: string): Mismatch {
    return this.textMismatch(text)
  }

  protected override readValue(value: unknown): unknown {
    return checked(this.object, value)
  }

  protected override again(presence: Presence): MergePatchSchema {
    return new MergePatchSchema(this.object, presence)
  }

  protected override keywords(writer: JsonSchemaWriter): JsonSchema {
    return keywordsOf(this.object, writer)
  }
}

/** Whether a patch may remove a property, or set it to null. */
function allowsNull(schema: Schema<unknown>): boolean {
  return schema.isOptional || schema.hasDefault || schema.isNullable
}

/**
 * The checked patch of a value, or a mismatch if no value with this patch would fit. Rules that need the result are checked when the patch is
 * applied.
 */
function checked(schema: Schema<unknown>, patch: unknown): unknown {
  if (schema instanceof LazySchema) return checked(schema.target, patch)
  if (schema instanceof ObjectSchema && isPlainObject(patch)) return checkedObject(schema, patch)
  const isPartial = schema instanceof RecordSchema || schema instanceof UnionSchema || schema instanceof ForeignSchema
  if (isPartial && isPlainObject(patch)) return patch
  const read = patch === null && allowsNull(schema) ? null : schema.fromValue(patch)
  return read instanceof Mismatch ? read : patch
}

function checkedObject(schema: ObjectSchema<unknown>, patch: Readonly<Record<string, unknown>>): object | Mismatch {
  const object: Record<string, unknown> = {}
  let found: Mismatch[] | null = null
  for (const [key, property] of schema.properties) {
    if (!Object.hasOwn(patch, key)) continue
    const part = checked(property, patch[key])
    if (!(part instanceof Mismatch)) object[key] = part
    else if (part.addTo((found ??= []), key)) break
  }
  if (schema.isStrict) found = schema.addUnknown(patch, found)
  return found === null ? object : schema.conceal(Mismatch.ofAll(found))
}

/** Applies a patch to a value. Properties that the patch does not name stay as they are: they are neither converted nor checked. */
function changed(schema: Schema<unknown>, current: unknown, patch: unknown): unknown {
  if (schema instanceof LazySchema) return changed(schema.target, current, patch)
  if (schema instanceof ObjectSchema && isPlainObject(patch)) return changedObject(schema, current, patch)
  return schema.fromValue(isPlainObject(patch) ? merged(schema.toJson(current), patch) : patch)
}

function changedObject(schema: ObjectSchema<unknown>, current: unknown, patch: Readonly<Record<string, unknown>>): object | Mismatch {
  const isNew = typeof current !== 'object' || current === null
  const object: Record<string, unknown> = isNew ? {} : { ...current }
  const found: Mismatch[] = []
  for (const [key, property] of schema.properties) {
    const isNamed = Object.hasOwn(patch, key)
    if (!isNamed && !isNew) continue
    const had = Object.hasOwn(object, key) ? object[key] : undefined
    const part = isNamed && patch[key] !== null ? changed(property, had, patch[key]) : removed(property, isNamed)
    if (part instanceof Mismatch) {
      if (part.addTo(found, key)) break
    } else if (part === undefined) Reflect.deleteProperty(object, key)
    else object[key] = part
  }
  return found.length === 0 ? object : schema.conceal(Mismatch.ofAll(found))
}

/** The value of a removed property. A required property that may be null becomes null. */
function removed(property: Schema<unknown>, isNamed: boolean): unknown {
  return isNamed && !property.isOptional && !property.hasDefault && property.isNullable ? null : property.absent()
}

/** The algorithm of RFC 7396 §2. */
function merged(target: unknown, patch: unknown): unknown {
  if (!isPlainObject(patch)) return patch
  const object: Record<string, unknown> = Object.assign(Object.create(null) as object, isPlainObject(target) ? target : null)
  for (const [key, part] of Object.entries(patch)) {
    if (part === null) Reflect.deleteProperty(object, key)
    else object[key] = merged(object[key], part)
  }
  return object
}

function keywordsOf(schema: ObjectSchema<unknown>, writer: JsonSchemaWriter): JsonSchema {
  const properties = [...schema.properties].map(([key, property]) => {
    const own = property instanceof ObjectSchema ? keywordsOf(property, writer) : property.optional().writeTo(writer)
    const isWritten = !(property instanceof ObjectSchema) && property.isNullable
    return [key, allowsNull(property) && !isWritten ? orNull(own) : own]
  })
  return { type: 'object', properties: Object.fromEntries(properties), ...(schema.isStrict && { additionalProperties: false }) }
}
