// Whether a schema of another library is anywhere in a schema: code that is not weir's, and might do anything.

import { ArraySchema, ObjectSchema } from './composite.ts'
import { ForeignSchema } from './foreign.ts'
import { LazySchema } from './lazy.ts'
import { RecordSchema } from './records.ts'
import { Schema } from './schema.ts'
import type { AnySchema } from './standard.ts'
import { UnionSchema } from './unions.ts'

export function holdsForeign(schema: AnySchema, seen: Set<AnySchema> = new Set()): boolean {
  if (!(schema instanceof Schema) || schema instanceof ForeignSchema) return true
  if (seen.has(schema)) return false
  seen.add(schema)
  const within = (inner: AnySchema): boolean => holdsForeign(inner, seen)
  if (schema instanceof ObjectSchema) return [...schema.properties.values()].some(within)
  if (schema instanceof ArraySchema) return within(schema.element)
  if (schema instanceof RecordSchema) return within(schema.value)
  if (schema instanceof UnionSchema) return schema.members.some(within)
  return schema instanceof LazySchema && within(schema.target)
}
