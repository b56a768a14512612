// Changes to a finished JSON Schema: allowing null, and moving the schema of another library into a larger document.

/** A JSON Schema (2020-12), for generated documents. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** A place for a definition in a document. */
export interface Slot {
  /** The value of a `$ref` to it. */
  readonly ref: string
  readonly define: (schema: JsonSchema) => void
}

/** A schema that accepts what `schema` accepts, and null. */
export function orNull(schema: JsonSchema): JsonSchema {
  const { type, const: only, enum: members, anyOf } = schema
  if (Array.isArray(anyOf) && Object.keys(schema).length === 1) return { anyOf: [...anyOf, { type: 'null' }] }
  if (type === undefined) return { anyOf: [schema, { type: 'null' }] }
  const widened = { ...schema, type: [type, 'null'].flat() }
  if (Array.isArray(members)) return { ...widened, enum: [...members, null] }
  if (!('const' in schema)) return widened
  const { const: _, ...rest } = widened as JsonSchema
  return { ...rest, enum: [only, null] }
}

/** Deeper than any hand-written schema. A converter may also return an object that contains itself. */
const MAX_LEVELS = 200
const DEFINITIONS = /^#\/(?:\$defs|definitions)\/([^/]+)(.*)$/s
const ABSOLUTE = /^[a-z][a-z0-9+.-]*:/i
/** Keywords whose values are data, not schemas. */
const DATA: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples'])
/** Keywords whose values map names to schemas. Such a name may look like a keyword. */
const BY_NAME: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'])

/**
 * Turns a document into a part of another one. Its definitions move to the slots that `reserve` returns, and every `$ref` to them, or to the
 * document itself, is changed accordingly.
 *
 * @throws RangeError if it is nested too deeply; Error for a `$ref` to what is neither in it nor an absolute URI
 */
export function moved(document: JsonSchema, reserve: (name: string) => Slot): JsonSchema {
  const { $schema: _, $defs, definitions, ...root } = document
  const named = new Map(Object.entries({ ...recordOf(definitions), ...recordOf($defs) }))
  const slots = new Map([...named.keys()].map((name) => [name, reserve(name)]))
  const whole: { slot?: Slot } = {}

  const refOf = (ref: string): string => {
    const [, name, rest = ''] = DEFINITIONS.exec(ref) ?? []
    const slot = name === undefined ? undefined : slots.get(unescaped(name))
    if (slot !== undefined) return slot.ref + rest
    if (ABSOLUTE.test(ref)) return ref
    if (name !== undefined || (ref !== '#' && !ref.startsWith('#/')))
      throw new Error(`the JSON Schema refers to ${JSON.stringify(ref)}, which is not a part of it`)
    whole.slot ??= reserve('Recursive')
    return whole.slot.ref + ref.slice(1)
  }
  const copy = (schema: unknown, level: number, isNames: boolean): unknown => {
    if (typeof schema !== 'object' || schema === null) return schema
    if (level > MAX_LEVELS) throw new RangeError('the JSON Schema is nested too deeply')
    if (Array.isArray(schema)) return schema.map((part) => copy(part, level + 1, false))
    const parts = Object.entries(schema).map(([key, part]): [string, unknown] => {
      if (isNames) return [key, copy(part, level + 1, false)]
      if (key === '$ref') return [key, refOf(String(part))]
      return [key, DATA.has(key) ? part : copy(part, level + 1, BY_NAME.has(key))]
    })
    return Object.fromEntries(parts)
  }

  for (const [name, schema] of named) slots.get(name)!.define(copy(schema, 0, false) as JsonSchema)
  const own = copy(root, 0, false) as JsonSchema
  if (whole.slot === undefined) return own
  whole.slot.define(own)
  return { $ref: whole.slot.ref }
}

function recordOf(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}

/** Decodes a name in a JSON Pointer that is written as a URI fragment. */
function unescaped(name: string): string {
  const text = name.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
