// Walks through a schema and all schemas within it. Each is visited once, because a recursive schema contains itself.

import { ArraySchema, ObjectSchema } from './composite.ts'
import { ForeignSchema } from './foreign.ts'
import { LazySchema } from './lazy.ts'
import { MergePatchSchema } from './merge-patch.ts'
import { RecordSchema } from './records.ts'
import { Schema } from './schema.ts'
import type { AnySchema } from './standard.ts'
import { UnionSchema } from './unions.ts'

/** Whether a schema contains a schema of another library, whose code might do anything. */
export function holdsForeign(schema: AnySchema, seen: Set<AnySchema> = new Set()): boolean {
  if (!(schema instanceof Schema) || schema instanceof ForeignSchema) return true
  if (seen.has(schema)) return false
  seen.add(schema)
  return partsOf(schema, '').some(([part]) => holdsForeign(part, seen))
}

/**
 * Adds the names of the properties whose values are secret, wherever they are in a schema.
 * @param name of the property that `schema` describes; null for none
 */
export function addSecretNames(
  schema: AnySchema,
  name: string | null,
  names: Set<string>,
  seen = new Map<AnySchema, Set<string | null>>(),
): void {
  if (!(schema instanceof Schema) || !schema.holdsSecret) return
  // A schema may describe several properties: each has a name of its own.
  const known = seen.get(schema)
  if (known?.has(name)) return
  if (known === undefined) seen.set(schema, new Set([name]))
  else known.add(name)
  if (schema.isSecret && name !== null) names.add(name)
  for (const [part, key] of partsOf(schema, name)) addSecretNames(part, key, names, seen)
}

/** The schemas in a schema, each with the name of its property: `name` for those without one of their own, such as elements. */
function partsOf<N>(schema: Schema<unknown>, name: N): (readonly [part: AnySchema, name: N | string])[] {
  if (schema instanceof ObjectSchema) return [...schema.properties].map(([key, property]) => [property, key])
  if (schema instanceof ArraySchema) return [[schema.element, name]]
  if (schema instanceof RecordSchema) return [[schema.value, name]]
  if (schema instanceof UnionSchema) return schema.members.map((member) => [member, name])
  if (schema instanceof MergePatchSchema) return [[schema.object, name]]
  return schema instanceof LazySchema ? [[schema.target, name]] : []
}
