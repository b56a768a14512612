// Picks what may be sent: the properties of a value that its schema declares, and no others.
//
// A picker is made once for each schema, from closures, and runs for every response. It does not serialize: what it returns is passed to
// `JSON.stringify`. It is always a copy, made of strings, numbers, booleans, arrays and plain objects. The copy of an object has the declared
// properties in the order of the schema. Each is read once and by its name, as the compiler assumes: getters of a class are included, and what a
// getter or a proxy returns later is never sent.
//
// Strings, numbers and booleans pass unchanged whatever a `t` says, because they have no properties. A schema of another library may convert
// them: it may mask a card number. A value with properties where the schema declares none is refused.

import { ArraySchema, ObjectSchema } from './composite.ts'
import { DateSchema } from './dates.ts'
import { asSchema, ForeignSchema } from './foreign.ts'
import { Descent, LazySchema } from './lazy.ts'
import { Mismatch, NOT_SHOWN, type PathPart, show } from './mismatch.ts'
import { BigIntSchema } from './numbers.ts'
import { RecordSchema } from './records.ts'
import type { Schema } from './schema.ts'
import type { AnySchema } from './standard.ts'
import { UnionSchema } from './unions.ts'

/** Returns the part of a value that may be sent, for `JSON.stringify`, or a mismatch that names what cannot be sent. Never changes the value. */
export type Picker = (value: unknown) => unknown

type Properties = Readonly<Record<string, unknown>>

const pickers = new WeakMap<Schema<unknown>, Picker>()

/**
 * Returns the picker of a schema. It only looks for undeclared properties: missing ones, or a number where a string is declared, pass.
 *
 * - Dates, and other objects with a `toJSON`, are sent as `JSON.stringify` writes them; undeclared properties of what `toJSON` returns are left
 *   out. A Date under `t.date` is sent as its day, and a bigint under `t.bigint` as text, where `JSON.stringify` would write a time or throw.
 * - A schema of another library runs over any value that is there, and what it returns is sent. For a missing property it may return a default.
 * - A union without a tag checks its members in turn, unless only one of them describes values of this kind.
 */
export function pickerOf(schema: AnySchema): Picker {
  return pickerFor(asSchema(schema))
}

function pickerFor(schema: Schema<unknown>): Picker {
  let picker = pickers.get(schema)
  if (picker === undefined) {
    picker = schema.isSecret ? concealing(schema, makePicker(schema)) : makePicker(schema)
    pickers.set(schema, picker)
  }
  return picker
}

/** The message of another library may repeat the value. */
function concealing(schema: Schema<unknown>, pick: Picker): Picker {
  return (value) => {
    const picked = pick(value)
    return picked instanceof Mismatch ? schema.conceal(picked) : picked
  }
}

function makePicker(schema: Schema<unknown>): Picker {
  if (schema instanceof ObjectSchema) return objectPicker(schema)
  if (schema instanceof ArraySchema) return arrayPicker(schema)
  if (schema instanceof RecordSchema) return recordPicker(schema)
  if (schema instanceof UnionSchema) return unionPicker(schema)
  if (schema instanceof LazySchema) return lazyPicker(schema)
  if (schema instanceof ForeignSchema) return (value) => schema.run(value)
  return leafPicker(schema)
}

function leafPicker(schema: Schema<unknown>): Picker {
  const isBigInt = schema instanceof BigIntSchema
  const isDay = schema instanceof DateSchema && schema.isDay
  return (value) => {
    if (isScalar(value)) return value
    if (isBigInt && typeof value === 'bigint') return String(value)
    if (isDay && isDate(value) && !Number.isNaN(value.getTime())) return schema.toJson(value)
    const json = jsonOf(value)
    return isObject(json) ? misfit(schema, json) : json
  }
}

function arrayPicker(schema: ArraySchema<unknown>): Picker {
  const pick = pickerFor(schema.element)
  let converts: boolean | null = null
  return (value) => {
    converts ??= convertsScalars(schema.element)
    const list = jsonOf(value)
    if (!Array.isArray(list)) return isObject(list) ? misfit(schema, list) : list
    const copied: unknown[] = []
    for (let i = 0; i < list.length; i++) {
      const element: unknown = list[i]
      const picked = isScalar(element) && !converts ? element : pick(element)
      if (picked instanceof Mismatch) return under(picked, i)
      copied.push(picked)
    }
    return copied
  }
}

function objectPicker(schema: ObjectSchema<unknown>): Picker {
  const names = [...schema.properties.keys()]
  const picks = [...schema.properties.values()].map(pickerFor)
  const read = names.some(isInherited) ? partOf : null
  let converts: readonly boolean[] | null = null
  return (value) => {
    converts ??= [...schema.properties.values()].map((part) => convertsScalars(part))
    const object = jsonOf(value) as Properties
    if (!isObject(object)) return object
    if (Array.isArray(object)) return misfit(schema, object)
    const copied: Record<string, unknown> = {}
    for (let i = 0; i < names.length; i++) {
      const name = names[i]!
      const part = read === null ? object[name] : read(object, name)
      const picked = isScalar(part) && !converts[i] ? part : picks[i]!(part)
      if (picked === undefined) continue
      if (!(picked instanceof Mismatch)) copied[name] = picked
      else if (part !== undefined) return under(picked, name)
    }
    return copied
  }
}

function recordPicker(schema: RecordSchema<unknown>): Picker {
  const pick = pickerFor(schema.value)
  let converts: boolean | null = null
  return (value) => {
    converts ??= convertsScalars(schema.value)
    const record = jsonOf(value) as Properties
    if (!isObject(record)) return record
    if (Array.isArray(record)) return misfit(schema, record)
    const copied: Record<string, unknown> = {}
    for (const name of Object.keys(record)) {
      if (schema.misnamed(name) !== null) continue
      const part = record[name]
      const picked = isScalar(part) && !converts ? part : pick(part)
      if (picked instanceof Mismatch) return under(picked, schema.shown(name), true)
      copied[name] = picked
    }
    return copied
  }
}

function lazyPicker(schema: LazySchema<unknown>): Picker {
  const descent = new Descent()
  let converts: boolean | null = null
  return (value) => {
    converts ??= convertsScalars(schema)
    if ((isScalar(value) && !converts) || (value === null && schema.isNullable)) return value
    return descent.into(value, () => pickerFor(schema.target)(value))
  }
}

function unionPicker(schema: UnionSchema<unknown>): Picker {
  let converts: boolean | null = null
  return (value) => {
    converts ??= convertsScalars(schema)
    const json = isDate(value) ? value : jsonOf(value)
    if ((isScalar(json) && !converts) || json === undefined || (json === null && schema.isNullable)) return json
    const { tag } = schema
    if (tag !== null) {
      const member = isObject(json) && kindOf(json) === 'object' ? schema.tagged(tag, json) : misfit(schema, json)
      return member instanceof Mismatch ? member : pickerFor(member)(json)
    }
    const kind = kindOf(json)
    const members = schema.members.filter((member) => holds(member, kind, []))
    return members.length === 1 ? pickerFor(members[0]!)(json) : check(schema, json)
  }
}

/** The kind of a value that is not a scalar. Dates and bigints are `plain`. */
type Kind = 'array' | 'object' | 'plain'

function kindOf(value: unknown): Kind {
  if (Array.isArray(value)) return 'array'
  return isObject(value) && !isDate(value) ? 'object' : 'plain'
}

/** Whether a schema may describe values of a kind. */
function holds(schema: Schema<unknown>, kind: Kind, seen: readonly Schema<unknown>[]): boolean {
  if (schema instanceof ForeignSchema || seen.includes(schema)) return true
  if (schema instanceof LazySchema) return holds(schema.target, kind, [...seen, schema])
  if (schema instanceof UnionSchema) return schema.members.some((member) => holds(member, kind, [...seen, schema]))
  if (schema instanceof ArraySchema) return kind === 'array'
  return kind === (schema instanceof ObjectSchema || schema instanceof RecordSchema ? 'object' : 'plain')
}

/** Whether a schema may convert a string, a number and the like. Asked when the first value is picked, because lazy schemas are declared later. */
function convertsScalars(schema: Schema<unknown>, seen: readonly Schema<unknown>[] = []): boolean {
  if (schema instanceof ForeignSchema) return true
  if (seen.includes(schema)) return false
  if (schema instanceof LazySchema) return convertsScalars(schema.target, [...seen, schema])
  return schema instanceof UnionSchema && schema.members.some((member) => convertsScalars(member, [...seen, schema]))
}

/**
 * Returns a picker that also checks the value: what it returns fits the schema, and a mismatch lists up to 100 parts that do not fit. It is
 * slower, and intended for tests and debugging. Undeclared properties are left out, and are a mismatch only if the object is `.strict()`.
 */
export function checkedPickerOf(schema: AnySchema): Picker {
  const own = asSchema(schema)
  return (value) => check(own, value)
}

const descents = new WeakMap<LazySchema<unknown>, Descent>()

function check(schema: Schema<unknown>, value: unknown): unknown {
  if (schema instanceof ForeignSchema) return schema.run(value)
  const json = isDate(value) ? value : jsonOf(value)
  if (json === null && schema.isNullable) return null
  if (json === undefined) return schema.isRequired('output') ? new Mismatch(schema.describe()) : undefined
  if (schema instanceof LazySchema) return checkLazy(schema, json)
  if (schema instanceof UnionSchema) return checkUnion(schema, json)
  if (schema instanceof ArraySchema && Array.isArray(json)) return checkArray(schema, json)
  if (isObject(json) && kindOf(json) === 'object') {
    if (schema instanceof ObjectSchema) return checkObject(schema, json as Properties)
    if (schema instanceof RecordSchema) return checkRecord(schema, json as Properties)
  }
  const read = schema.fromValue(json)
  return read instanceof Mismatch ? read : pickerFor(schema)(json)
}

function checkLazy(schema: LazySchema<unknown>, value: unknown): unknown {
  let descent = descents.get(schema)
  if (descent === undefined) descents.set(schema, (descent = new Descent()))
  const picked = descent.into(value, () => check(schema.target, value))
  return picked instanceof Mismatch ? schema.restate(picked) : picked
}

function checkUnion(schema: UnionSchema<unknown>, value: unknown): unknown {
  const { tag } = schema
  if (tag !== null) {
    const member = isObject(value) && kindOf(value) === 'object' ? schema.tagged(tag, value) : misfit(schema, value)
    const picked = member instanceof Mismatch ? member : check(member, value)
    return picked instanceof Mismatch ? schema.restate(picked) : picked
  }
  const found: Mismatch[] = []
  for (const member of schema.members) {
    const picked = check(member, value)
    if (!(picked instanceof Mismatch)) return picked
    found.push(picked)
  }
  return schema.closest(found, () => misfit(schema, value))
}

function checkArray(schema: ArraySchema<unknown>, list: readonly unknown[]): unknown {
  const miscounted = schema.miscounted(list)
  if (miscounted !== null) return miscounted
  const copied: unknown[] = []
  const found: Mismatch[] = []
  for (const [i, element] of list.entries()) {
    const picked = check(schema.element, element)
    if (!(picked instanceof Mismatch)) copied.push(picked)
    else if (picked.addTo(found, i)) break
  }
  return found.length === 0 ? copied : schema.conceal(Mismatch.ofAll(found))
}

function checkObject(schema: ObjectSchema<unknown>, object: Properties): unknown {
  const copied: Record<string, unknown> = {}
  let found: Mismatch[] | null = null
  for (const [name, part] of schema.properties) {
    const picked = check(part, partOf(object, name))
    if (picked instanceof Mismatch) {
      if (picked.addTo((found ??= []), name)) break
    } else if (picked !== undefined) {
      copied[name] = picked
    }
  }
  // An error must not show the value of an undeclared property either.
  if (schema.isStrict) found = schema.addUnknown(object, found, true)
  return found === null ? copied : schema.conceal(Mismatch.ofAll(found))
}

function checkRecord(schema: RecordSchema<unknown>, record: Properties): unknown {
  const miscounted = schema.miscounted(record)
  if (miscounted !== null) return miscounted
  const copied: Record<string, unknown> = {}
  const found: Mismatch[] = []
  for (const name of Object.keys(record)) {
    const picked = schema.misnamed(name) ?? check(schema.value, record[name])
    if (!(picked instanceof Mismatch)) copied[name] = picked
    else if (picked.addTo(found, schema.shown(name), true)) break
  }
  return found.length === 0 ? copied : schema.conceal(Mismatch.ofAll(found))
}

/** Whether a value has no properties and is not converted by JSON.stringify. */
function isScalar(value: unknown): value is string | number | boolean | null | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Whether all objects have a property of that name. Such a property counts only if it is the object's own. */
function isInherited(name: string): boolean {
  return name in Object.prototype
}

function partOf(object: Properties, name: string): unknown {
  return isInherited(name) && !Object.hasOwn(object, name) ? undefined : object[name]
}

/** Whether a value is a Date with the toJSON of all dates. */
function isDate(value: unknown): value is Date {
  return value instanceof Date && value.toJSON === Date.prototype.toJSON
}

/** What JSON.stringify would write: the result of toJSON, if there is one. It leaves out functions. */
function jsonOf(value: unknown): unknown {
  if (isScalar(value)) return value
  const { toJSON } = value as { readonly toJSON?: unknown }
  const json: unknown = typeof toJSON === 'function' ? toJSON.call(value, '') : value
  return typeof json === 'function' ? undefined : json
}

function misfit(schema: Schema<unknown>, value: unknown): Mismatch {
  return new Mismatch(schema.describe(), schema.holdsSecret ? NOT_SHOWN : show(value))
}

function under(mismatch: Mismatch, key: PathPart, isReceived = false): Mismatch {
  const found: Mismatch[] = []
  mismatch.addTo(found, key, isReceived)
  return Mismatch.ofAll(found)
}
