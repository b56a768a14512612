// Picks what may be sent: the properties of a value that its schema declares, and no others.
//
// A picker is made once for each schema, from closures, and runs for every response. It does not serialize: what it returns is passed to
// `JSON.stringify`. If nothing is undeclared, it returns the value itself. Otherwise it copies the objects that lead to what it leaves out.
// Strings, numbers and booleans pass unchanged whatever the schema is, because they have no properties. A value with properties where the
// schema declares none is refused.
//
// A plain object leaves by its own properties, as `JSON.stringify` writes it. An instance of a class leaves by the declared properties, getters of
// its class included, as the compiler sees it. It is always copied, so that a getter is called once.

import { ArraySchema, ObjectSchema } from './composite.ts'
import { DateSchema } from './dates.ts'
import { asSchema, ForeignSchema } from './foreign.ts'
import { Descent, LazySchema } from './lazy.ts'
import { Mismatch, NOT_SHOWN, type PathPart, shorten, show } from './mismatch.ts'
import { BigIntSchema } from './numbers.ts'
import { RecordSchema } from './records.ts'
import type { Schema } from './schema.ts'
import type { AnySchema } from './standard.ts'
import { UnionSchema } from './unions.ts'

/** Returns the part of a value that may be sent, for `JSON.stringify`, or a mismatch that names what cannot be sent. Never changes the value. */
export type Picker = (value: unknown) => unknown

type Properties = Readonly<Record<string, unknown>>

/** How often a picker adapts to a new order of properties. */
const MAX_ADAPTATIONS = 8
/** Marks a part that has not been picked yet. */
const UNPICKED = Symbol('unpicked')
/** V8 optimizes this one in a `for…in` loop, but not `Object.hasOwn`, which would make a copy take half as long again. */
const { hasOwnProperty: hasOwn } = Object.prototype

const pickers = new WeakMap<Schema<unknown>, Picker>()

/**
 * Returns the picker of a schema. It only looks for undeclared properties: missing ones, or a number where a string is declared, pass.
 *
 * - Dates, and other objects with a `toJSON`, are sent as `JSON.stringify` writes them; undeclared properties of what `toJSON` returns are left
 *   out. A Date under `t.date` is sent as its day, and a bigint under `t.bigint` as text, where `JSON.stringify` would write a time or throw.
 * - A schema of another library runs over an object or an array, and what it returns is sent.
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
  if (schema instanceof ForeignSchema) return (value) => (isScalar(value) ? value : schema.run(value))
  return leafPicker(schema)
}

function leafPicker(schema: Schema<unknown>): Picker {
  const isBigInt = schema instanceof BigIntSchema
  const isDay = schema instanceof DateSchema && schema.isDay
  return (value) => {
    if (isScalar(value)) return value
    if (isBigInt && typeof value === 'bigint') return String(value)
    if (isDate(value)) return isDay && !Number.isNaN(value.getTime()) ? schema.toJson(value) : value
    const json = jsonOf(value)
    return isObject(json) ? misfit(schema, json) : json
  }
}

function arrayPicker(schema: ArraySchema<unknown>): Picker {
  const pickElement = pickerFor(schema.element)

  const copy = (list: readonly unknown[], from: number, picked: unknown): unknown => {
    const copied = list.slice(0, from)
    for (let i = from; i < list.length; i++) {
      const element = i === from && picked !== UNPICKED ? picked : pickElement(list[i])
      if (element instanceof Mismatch) return under(element, i)
      copied.push(element)
    }
    return copied
  }

  return (value) => {
    if (!Array.isArray(value) || (value as { toJSON?: unknown }).toJSON !== undefined) {
      const json = jsonOf(value)
      return Array.isArray(json) ? copy(json, 0, UNPICKED) : isObject(json) ? misfit(schema, json) : json
    }
    for (let i = 0; i < value.length; i++) {
      const element: unknown = value[i]
      if (isScalar(element)) continue
      const picked = pickElement(element)
      if (picked !== element) return copy(value, i, picked)
    }
    return value
  }
}

function objectPicker(schema: ObjectSchema<unknown>): Picker {
  const byName = new Map([...schema.properties].map(([name, part]) => [name, pickerFor(part)]))
  // In the order of a previous object, so that usually one comparison for each name is enough. Null marks the end.
  let names: readonly (string | null)[] = [...byName.keys(), null]
  let inOrder: readonly Picker[] = [...byName.values()]
  let adaptations = 0

  /** Copies what is declared. Properties before position `from` are copied unchanged, and the one at `from` is replaced by `picked`. */
  const copy = (object: Properties, from: number, picked: unknown): unknown => {
    const copied: Record<string, unknown> = {}
    // Local, because an object inside this one may change the order.
    const expected = names
    const expectedPickers = inOrder
    let step = 0
    let at = 0
    for (const name in object) {
      const i = step++
      const isExpected = name === expected[at]
      const pick = isExpected ? expectedPickers[at] : byName.get(name)
      if (isExpected) at++
      // JSON.stringify does not write inherited properties.
      if (pick === undefined || !hasOwn.call(object, name)) continue
      let part: unknown = object[name]
      if (i > from || (i === from && picked === UNPICKED)) part = isScalar(part) ? part : pick(part)
      else if (i === from) part = picked
      if (part instanceof Mismatch) return under(part, name)
      copied[name] = part
    }
    return copied
  }

  /** What is declared, of an object that is not plain. */
  const ofInstance = (object: Properties): unknown => {
    if (Array.isArray(object)) return misfit(schema, object)
    const copied: Record<string, unknown> = {}
    for (const [name, pick] of byName) {
      const part = partOf(object, name)
      const picked = isScalar(part) ? part : pick(part)
      if (picked instanceof Mismatch) return under(picked, name)
      if (picked !== undefined) copied[name] = picked
    }
    return copied
  }

  /** Handles an object whose property at `from` is not the expected one: the order differs, or it is not declared. */
  const unexpected = (object: Properties, from: number, name: string): unknown => {
    if (!byName.has(name)) return copy(object, from, UNPICKED)
    const own = Object.keys(object)
    const picks = own.map((one) => byName.get(one))
    if (picks.includes(undefined)) return copy(object, from, UNPICKED)
    for (let i = from; i < own.length; i++) {
      const part = object[own[i]!]
      if (isScalar(part)) continue
      const picked = picks[i]!(part)
      if (picked !== part) return copy(object, i, picked)
    }
    if (adaptations++ < MAX_ADAPTATIONS) {
      const order = [...new Set([...own, ...byName.keys()])]
      names = [...order, null]
      inOrder = order.map((name) => byName.get(name)!)
    }
    return object
  }

  return (value) => {
    const object = value as Properties
    if (typeof object !== 'object' || object === null || object['toJSON'] !== undefined) {
      const json = jsonOf(value)
      if (!isObject(json)) return json
      // Copied, because JSON.stringify would call the toJSON of what a toJSON returned.
      return isPlain(json) ? copy(json as Properties, 0, UNPICKED) : ofInstance(json as Properties)
    }
    if (!isPlain(object)) return ofInstance(object)
    const expected = names
    const expectedPickers = inOrder
    let at = 0
    for (const name in object) {
      if (name !== expected[at]) return unexpected(object, at, name)
      const part = object[name]
      if (!isScalar(part)) {
        const picked = expectedPickers[at]!(part)
        if (picked !== part) return copy(object, at, picked)
      }
      at++
    }
    return object
  }
}

function recordPicker(schema: RecordSchema<unknown>): Picker {
  const pick = pickerFor(schema.value)
  return (value) => {
    const record = jsonOf(value) as Properties
    if (!isObject(record) || Array.isArray(record)) return isObject(record) ? misfit(schema, record) : record
    const copied: Record<string, unknown> = {}
    let isCopied = record !== value
    for (const name of Object.keys(record)) {
      if (schema.misnamed(name) !== null) {
        isCopied = true
        continue
      }
      const part = record[name]
      const picked = isScalar(part) ? part : pick(part)
      if (picked instanceof Mismatch) return under(picked, name)
      if (!isScalar(part) && picked !== part) isCopied = true
      copied[name] = picked
    }
    return isCopied ? copied : record
  }
}

function lazyPicker(schema: LazySchema<unknown>): Picker {
  const descent = new Descent()
  return (value) => (isScalar(value) ? value : descent.into(value, () => pickerFor(schema.target)(value)))
}

function unionPicker(schema: UnionSchema<unknown>): Picker {
  return (value) => {
    const json = isDate(value) ? value : jsonOf(value)
    if (isScalar(json)) return json
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
  const json = isDate(value) ? value : jsonOf(value)
  if (json === null && schema.isNullable) return null
  if (schema instanceof ForeignSchema) return schema.run(json)
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
  const own = isPlain(object) ? new Set(Object.keys(object)) : null
  let found: Mismatch[] | null = null
  for (const name of new Set([...(own ?? []), ...schema.properties.keys()])) {
    const part = schema.properties.get(name)
    if (part === undefined) continue
    const value = own === null ? partOf(object, name) : own.has(name) ? object[name] : undefined
    const picked = check(part, value)
    if (picked instanceof Mismatch) {
      if (picked.addTo((found ??= []), name)) break
    } else if (picked !== undefined) {
      copied[name] = picked
    }
  }
  // The value of an undeclared property is what must not leave: not in an error either.
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
    else if (picked.addTo(found, shorten(name))) break
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

/** Whether an object is one as `{}` makes them, or without a prototype. */
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object)
  return prototype === Object.prototype || prototype === null
}

/** A property of an object that is not plain, unless all objects inherit it. */
function partOf(object: Properties, name: string): unknown {
  return name in Object.prototype && !hasOwn.call(object, name) ? undefined : object[name]
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

function under(mismatch: Mismatch, key: PathPart): Mismatch {
  const found: Mismatch[] = []
  mismatch.addTo(found, key)
  return Mismatch.ofAll(found)
}
