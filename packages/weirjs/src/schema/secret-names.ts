// The names of properties whose values are secret, wherever they are in a schema.

import { ArraySchema, ObjectSchema } from './composite.ts'
import { LazySchema } from './lazy.ts'
import { RecordSchema } from './records.ts'
import { Schema } from './schema.ts'
import type { AnySchema } from './standard.ts'
import { UnionSchema } from './unions.ts'

/** Adds the names of the secret properties of `schema`. @param name of the property that it describes; null for none */
export function addSecretNames(schema: AnySchema, name: string | null, names: Set<string>, seen: Set<AnySchema> = new Set()): void {
  if (!(schema instanceof Schema) || seen.has(schema) || !schema.holdsSecret) return
  seen.add(schema)
  if (schema.isSecret && name !== null) names.add(name)
  if (schema instanceof ObjectSchema) for (const [key, property] of schema.properties) addSecretNames(property, key, names, seen)
  else if (schema instanceof ArraySchema) addSecretNames(schema.element, name, names, seen)
  else if (schema instanceof RecordSchema) addSecretNames(schema.value, name, names, seen)
  else if (schema instanceof UnionSchema) for (const member of schema.members) addSecretNames(member, name, names, seen)
  else if (schema instanceof LazySchema) addSecretNames(schema.target, name, names, seen)
}
