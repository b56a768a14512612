// Schemas of a document as TypeScript types.

import { type ApiDocument, DocumentError, listOf, type Part, partOf } from './api-document.ts'
import { cyclesIn } from './cycles-in.ts'
import { typeNames } from './type-names.ts'
import { arrayOf, intersection, literal, type Member, objectType, union } from './typescript.ts'

const MAX_LEVELS = 100
const MAX_TYPES = 2_000_000
/** Limit on the types that are written again for references to places inside schemas: each of them may contain others. */
const MAX_REPEATED = 100_000
/** Keywords that can say something next to a `$ref`. */
const SHAPING = [
  'type',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'prefixItems',
  'allOf',
  'anyOf',
  'oneOf',
  'enum',
  'const',
]
const UNKNOWN_NAMES: readonly Member[] = [{ name: null, type: 'unknown' }]
const NO_NAMES: readonly Member[] = [{ name: null, type: 'never' }]

/** Where a schema is. */
interface Place {
  /** Of the line on which the type begins. */
  readonly level: number
  /** How deep it is inside other schemas. */
  readonly depth: number
  /** The component whose alias would be circular if it were a part of the type; null inside an object or an array. */
  readonly alias: string | null
  /** References to other places than components that are being written. */
  readonly inlined: ReadonlySet<string>
}

export class SchemaTypes {
  readonly #document: ApiDocument
  readonly #schemas: ReadonlyMap<string, unknown>
  readonly #names: ReadonlyMap<string, string>
  /** By component: the number of its cycle. Made when it is needed. */
  #cycles: ReadonlyMap<string, number> | null = null
  #written = 0
  #repeated = 0

  constructor(document: ApiDocument) {
    this.#document = document
    this.#schemas = document.components('schemas')
    this.#names = typeNames(this.#schemas.keys())
  }

  /** The exported type of each component, by the name of the component. */
  get names(): ReadonlyMap<string, string> {
    return this.#names
  }

  /** @param level of the line on which the type begins @throws DocumentError */
  typeOf(schema: unknown, level: number): string {
    return this.#write(schema, { level, depth: 0, alias: null, inlined: new Set() })
  }

  /** The declared type of a component. */
  typeOfComponent(name: string): string {
    return this.#write(this.#schemas.get(name), { level: 0, depth: 0, alias: name, inlined: new Set() })
  }

  /** Whether the type of a component is one object, which can be declared as an interface. */
  isInterface(name: string): boolean {
    const schema = partOf(this.#schemas.get(name))
    const isPlain = ['$ref', 'allOf', 'anyOf', 'oneOf', 'enum', 'const', 'nullable', 'patternProperties'].every(
      (key) => schema[key] === undefined,
    )
    const { additionalProperties: others, type } = schema
    return isPlain && type === 'object' && (others === undefined || others === false) && this.#propertiesOf(schema).size > 0
  }

  #write(schema: unknown, place: Place): string {
    if (++this.#written > MAX_TYPES) throw new DocumentError(`it is too large: more than ${MAX_TYPES} types`)
    if (place.inlined.size > 0 && ++this.#repeated > MAX_REPEATED)
      throw new DocumentError(`it is too large: references into schemas repeat more than ${MAX_REPEATED} types`)
    if (place.depth > MAX_LEVELS) throw new DocumentError(`its schemas are nested too deeply: at most ${MAX_LEVELS} levels`)
    if (schema === false) return 'never'
    const part = partOf(schema)
    const { $ref } = part
    if (typeof $ref !== 'string') return this.#shapeOf(part, place)
    const referred = this.#referTo($ref, place)
    if (this.#document.is30 || !SHAPING.some((keyword) => part[keyword] !== undefined)) return referred
    const { $ref: _, ...siblings } = part
    return intersection([referred, this.#shapeOf(siblings, place)])
  }

  #referTo(ref: string, place: Place): string {
    const name = this.#document.componentOf(ref, 'schemas')
    if (name !== null) {
      const isCircular = place.alias !== null && this.#isCircular(name, place.alias)
      return isCircular ? 'unknown' : this.#names.get(name)!
    }
    if (place.inlined.has(ref)) return 'unknown'
    return this.#write(this.#document.at(ref), { ...place, depth: place.depth + 1, inlined: new Set([...place.inlined, ref]) })
  }

  #shapeOf(schema: Part, place: Place): string {
    const inner = { ...place, depth: place.depth + 1 }
    const all = listOf(schema['allOf']).map((one) => this.#write(one, inner))
    const choices = [schema['anyOf'], schema['oneOf']].filter(Array.isArray)
    const chosen = choices.map((some) => union(some.map((one) => this.#choice(one, schema['discriminator'], inner))))
    const type = intersection([this.#ownType(schema, place), ...all, ...chosen])
    return schema['nullable'] === true ? union([type, 'null']) : type
  }

  /** One choice of several. If a property distinguishes the choices, the type has the value of that property. */
  #choice(schema: unknown, discriminator: unknown, place: Place): string {
    const type = this.#write(schema, place)
    const { propertyName, mapping } = partOf(discriminator)
    const ref = partOf(schema)['$ref']
    if (typeof propertyName !== 'string' || typeof ref !== 'string') return type
    const name = this.#document.componentOf(ref, 'schemas')
    if (name === null) return type
    const property = partOf(this.#propertiesOf(partOf(this.#schemas.get(name))).get(propertyName))
    if (property['const'] !== undefined || property['enum'] !== undefined || property['$ref'] !== undefined) return type
    const mapped = Object.entries(partOf(mapping)).filter(([, target]) => target === ref || target === name)
    const values = mapped.length === 0 ? [name] : mapped.map(([value]) => value)
    // One type for each value, not one with all of them: the compiler narrows only by single values.
    return union(values.map((value) => intersection([type, objectType([{ name: propertyName, type: literal(value) }], place.level)])))
  }

  /** Without allOf, anyOf and oneOf. */
  #ownType(schema: Part, place: Place): string {
    if ('const' in schema) return this.#value(schema['const'], place)
    const { enum: values, type } = schema
    if (Array.isArray(values)) return union(values.map((value) => this.#value(value, place)))
    if (Array.isArray(type)) return union(type.map((one) => this.#ofType(one, schema, place)))
    if (typeof type === 'string') return this.#ofType(type, schema, place)
    const has = (...keywords: readonly string[]): boolean => keywords.some((keyword) => schema[keyword] !== undefined)
    if (has('properties', 'additionalProperties', 'patternProperties', 'required')) return this.#object(schema, place)
    return has('items', 'prefixItems') ? this.#array(schema, place) : 'unknown'
  }

  #ofType(type: unknown, schema: Part, place: Place): string {
    switch (type) {
      case 'string':
        return isBinary(schema) ? 'Blob' : 'string'
      case 'number':
      case 'integer':
        return 'number'
      case 'boolean':
      case 'null':
        return type
      case 'array':
        return this.#array(schema, place)
      case 'object':
        return this.#object(schema, place)
      default:
        return 'unknown'
    }
  }

  #array({ items, prefixItems }: Part, place: Place): string {
    const inner = { ...place, depth: place.depth + 1, alias: null }
    const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : null
    if (first === null) return arrayOf(items === undefined ? 'unknown' : this.#write(items, inner))
    const types = first.map((one) => this.#write(one, inner))
    const hasRest = !Array.isArray(items) && items !== undefined && items !== false
    if (hasRest) types.push(`...${arrayOf(this.#write(items, inner))}`)
    return `[${types.join(', ')}]`
  }

  #object(schema: Part, place: Place): string {
    const { additionalProperties: others, patternProperties } = schema
    const inner = { ...place, depth: place.depth + 1, alias: null }
    const properties = this.#propertiesOf(schema)
    const required = new Set(listOf(schema['required']))
    const members = [...properties].map(([name, property]): Member => {
      const type = this.#write(property, { ...inner, level: place.level + 1 })
      return {
        name,
        type,
        isOptional: !required.has(name),
        isReadonly: partOf(property)['readOnly'] === true,
        comment: commentOf(property),
      }
    })
    const patterns = Object.values(partOf(patternProperties))
    const rest = [...patterns, ...(typeof others === 'object' && others !== null ? [others] : [])]
    const isOpen = others === true || (members.length === 0 && others !== false && rest.length === 0)
    if (isOpen) return intersection([...this.#known(members, place), objectType(UNKNOWN_NAMES, place.level)])
    if (rest.length === 0) return objectType(members.length === 0 ? NO_NAMES : members, place.level)
    const type = union(rest.map((one) => this.#write(one, { ...inner, level: place.level + 1 })))
    return intersection([...this.#known(members, place), objectType([{ name: null, type }], place.level)])
  }

  #known(members: readonly Member[], { level }: Place): string[] {
    return members.length === 0 ? [] : [objectType(members, level)]
  }

  /** With those that are only required. */
  #propertiesOf(schema: Part): ReadonlyMap<string, unknown> {
    const properties = new Map(Object.entries(partOf(schema['properties'])))
    const isOpen = schema['allOf'] === undefined && schema['anyOf'] === undefined && schema['oneOf'] === undefined
    if (isOpen)
      for (const name of listOf(schema['required'])) if (typeof name === 'string' && !properties.has(name)) properties.set(name, true)
    return properties
  }

  /** The type that has only this value. */
  #value(value: unknown, place: Place): string {
    if (place.depth > MAX_LEVELS) throw new DocumentError(`its values are nested too deeply: at most ${MAX_LEVELS} levels`)
    const inner = { ...place, depth: place.depth + 1, level: place.level + 1 }
    if (Array.isArray(value)) return `[${value.map((one) => this.#value(one, inner)).join(', ')}]`
    if (typeof value !== 'object' || value === null) return literal(value)
    return objectType(
      Object.entries(value).map(([name, one]) => ({ name, type: this.#value(one, inner) })),
      place.level,
    )
  }

  /** Whether two components lead to each other without an object or an array in between. One of them is known to lead to the other. */
  #isCircular(one: string, other: string): boolean {
    this.#cycles ??= cyclesIn(this.#schemas.keys(), (name) => this.#directRefs(this.#schemas.get(name), 0))
    return this.#cycles.get(one) === this.#cycles.get(other)
  }

  /** The components to which a schema refers without an object or an array in between. */
  #directRefs(schema: unknown, depth: number): string[] {
    if (depth > MAX_LEVELS) return []
    const part = partOf(schema)
    const parts = ['allOf', 'anyOf', 'oneOf'].flatMap((keyword) => listOf(part[keyword]))
    const inside = parts.flatMap((one) => this.#directRefs(one, depth + 1))
    const { $ref } = part
    if (typeof $ref !== 'string') return inside
    const own = this.#document.componentOf($ref, 'schemas')
    return [...inside, ...(own === null ? this.#directRefs(this.#document.at($ref), depth + 1) : [own])]
  }
}

/** Bytes, which no JSON text contains: a file in a form, or a whole body. */
function isBinary({ format, contentMediaType, contentEncoding }: Part): boolean {
  if (format === 'binary') return true
  return typeof contentMediaType === 'string' && contentEncoding === undefined && !/^text\/|\bjson\b|\bxml\b/i.test(contentMediaType)
}

/** The comment for a schema or a parameter. */
export function commentOf(described: unknown): string[] {
  const { title, description, format, deprecated, writeOnly, default: value } = partOf(described)
  const texts = [title, description].filter((text) => typeof text === 'string' && text !== '')
  return [
    ...new Set(texts as string[]),
    ...(typeof format === 'string' ? [`Format: ${format}`] : []),
    ...(writeOnly === true ? ['Only in requests.'] : []),
    ...(value === undefined ? [] : [`@default ${JSON.stringify(value)}`]),
    ...(deprecated === true ? ['@deprecated'] : []),
  ]
}
