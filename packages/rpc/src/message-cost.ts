// What it costs to decode messages of a type: how many values they become, by their descriptors. An empty message of two bytes becomes an object with a
// list for each repeated field that its type declares, so that bytes alone say little.

import { type DescEnum, type DescExtension, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'

/** All costs are in quarters of a value: of about 30 ns. */
export const VALUE = 4

// How a field is read, whatever wire type it states.
export const VARINT = 0
export const FIXED_32 = 4
export const FIXED_64 = 8
export const BYTES = 1
export const MESSAGE = 2
export const GROUP = 3
export const MAP = 5

export interface FieldCost {
  readonly number: number
  readonly form: number
  /** Whether values may come in one piece, without tags. */
  readonly isPacked: boolean
  readonly isSingle: boolean
  /** Of one value, without what is within it. */
  readonly each: number
  /** Of one in a piece without tags. */
  readonly packed: number
  /** The type of the message, of the messages of the list, or of the values of the map. */
  readonly child: MessageCost | null
  /** Of a map. */
  readonly key: FieldCost | null
  readonly value: FieldCost | null
  /** A JSON object in place of a `google.protobuf.Struct`. One that comes again is converted with all that it had. */
  readonly isStruct: boolean
  /** Integers of 64 bits, which JSON may state in digits. */
  readonly isLong: boolean
  readonly isBinary: boolean
}

/** What reading messages of a type in one of the two forms may cost at most, for each byte. */
interface MostPerByte {
  readonly binary: number
  readonly json: number
}

export class MessageCost {
  readonly typeName: string
  readonly fields = new Map<number, FieldCost>()
  readonly byName = new Map<string, FieldCost>()
  /** Of an object of it. */
  readonly own: number
  #hasStruct: boolean | null = null

  constructor(type: DescMessage) {
    this.typeName = type.typeName
    this.own = ownCost(type)
  }

  /** Whether a Struct in it may come again, in the same object. */
  get hasStruct(): boolean {
    this.#hasStruct ??= [...this.#reached(true)].some(({ fields }) => [...fields.values()].some((one) => one.isSingle && one.isStruct))
    return this.#hasStruct
  }

  /** Infinity: it depends on more than the bytes. */
  get mostPerByte(): MostPerByte {
    let binary = VALUE
    let json = VALUE
    for (const type of this.#reached(false)) {
      if (type.typeName === 'google.protobuf.Any') json = Number.POSITIVE_INFINITY
      if (type.hasStruct) binary = Number.POSITIVE_INFINITY
      json = Math.max(json, VALUE + (type.own + JSON_OBJECT) / 2)
      for (const { each, packed, child, form } of type.fields.values()) {
        binary = Math.max(binary, packed, (each + 2 * (child?.own ?? 0)) / 2)
        if (form === MAP) json = Math.max(json, 2 * VALUE + each)
      }
    }
    return { binary, json }
  }

  /** This type and those within it. @param isSingle only fields that have one message */
  #reached(isSingle: boolean): Set<MessageCost> {
    const all = new Set<MessageCost>([this])
    for (const type of all)
      for (const field of type.fields.values()) if (field.child !== null && (field.isSingle || !isSingle)) all.add(field.child)
    return all
  }
}

/** An object of JSON is read with two sets of what it has. */
export const JSON_OBJECT = 12
/** A Struct is converted with the help of reflection. */
export const STRUCT_ENTRY = 160
export const STRUCT_VALUE = 32
export const STRUCT_OBJECT = 32
const MAP_ENTRY = 24
/** The values of a closed enum are searched one by one. */
const ENUM_VALUES = 8

const known = new WeakMap<DescMessage, MessageCost>()

export function costOf(type: DescMessage): MessageCost {
  const before = known.get(type)
  if (before !== undefined) return before
  const cost = new MessageCost(type)
  known.set(type, cost)
  for (const field of type.fields) {
    const one = fieldCost(field)
    cost.fields.set(field.number, one)
    cost.byName.set(field.name, one).set(field.jsonName, one)
  }
  return cost
}

/** A new object has a value for each field that its type declares, and many of these are objects. */
function ownCost({ members, typeName }: DescMessage): number {
  return VALUE * (1 + members.length) + (typeName === 'google.protobuf.Value' ? STRUCT_VALUE : 0)
}

export function fieldCost(field: DescField | DescExtension): FieldCost {
  const { number, fieldKind } = field
  const scalar = field.scalar ?? null
  const child = field.message === undefined ? null : costOf(field.message)
  const isList = fieldKind === 'list'
  const isMap = fieldKind === 'map'
  const search = enumCost(field.enum)
  const isLong = scalar !== null && LONG.has(scalar)
  const isBinary = scalar === ScalarType.BYTES
  const form = isMap ? MAP : child !== null ? ('delimitedEncoding' in field && field.delimitedEncoding ? GROUP : MESSAGE) : formOf(scalar)
  const isEntry = field.parent?.typeName === 'google.protobuf.Struct'
  const one: FieldCost = {
    number,
    form,
    isPacked: isList && child === null && form !== BYTES,
    isSingle: !isList && !isMap,
    each: (isMap ? (isEntry ? STRUCT_ENTRY : MAP_ENTRY) : VALUE) + search,
    packed: (isLong ? 2 : 1) + search,
    child,
    key: isMap ? { ...EMPTY, form: formOf(field.mapKey), isLong: LONG.has(field.mapKey) } : null,
    value: null,
    isStruct: child?.typeName === 'google.protobuf.Struct' && field.parent?.typeName !== 'google.protobuf.Value',
    isLong,
    isBinary,
  }
  return isMap ? { ...one, value: { ...one, form: child === null ? formOf(scalar) : MESSAGE, each: VALUE + search } } : one
}

const EMPTY: FieldCost = {
  number: 1,
  form: VARINT,
  isPacked: false,
  isSingle: true,
  each: VALUE,
  packed: 1,
  child: null,
  key: null,
  value: null,
  isStruct: false,
  isLong: false,
  isBinary: false,
}

const LONG: ReadonlySet<ScalarType> = new Set([
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
])

function enumCost(type: DescEnum | undefined): number {
  return type === undefined || type.open ? 0 : Math.floor(type.values.length / ENUM_VALUES)
}

/** @param scalar null: an enum */
function formOf(scalar: ScalarType | null): number {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return BYTES
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return FIXED_32
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return FIXED_64
    default:
      return VARINT
  }
}
