// The public API of weirjs/schema: the types of the schemas that `t` makes, and their documents in JSON Schema. Most programs need only the
// compiler to find them, which writes them into the declarations of what a program exports.

export type { CheckedTextSchema } from '../../schema/checked-text.ts'
export type { BoolSchema, EnumSchema } from '../../schema/choices.ts'
export type { ArraySchema, ObjectSchema } from '../../schema/composite.ts'
export type { DateSchema } from '../../schema/dates.ts'
export type { JsonSchema } from '../../schema/json-keywords.ts'
export {
  JsonSchemaWriter,
  type JsonSchemaWriterOptions,
  type Side as JsonSchemaSide,
  type Writable as JsonSchemaWritable,
} from '../../schema/json-schema.ts'
export type { LazySchema } from '../../schema/lazy.ts'
export type { MergePatchInput } from '../../schema/merge-patch.ts'
export type { Mismatch, PathPart } from '../../schema/mismatch.ts'
export type { BigIntSchema, NumberSchema } from '../../schema/numbers.ts'
export type { RecordSchema } from '../../schema/records.ts'
export type { Presence, ReadContext, Reads as SchemaReads } from '../../schema/schema.ts'
export type {
  AnySchema,
  OutputOf,
  StandardIssue,
  StandardJsonConverter,
  StandardJsonOptions,
  StandardJsonProps,
  StandardProps,
  StandardSchema,
} from '../../schema/standard.ts'
export type { TextSchema } from '../../schema/text.ts'
export type { UnionSchema } from '../../schema/unions.ts'
