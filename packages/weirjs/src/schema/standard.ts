// Standard Schema v1 (https://standardschema.dev) and its extension for JSON Schema, as weir's own types: how the validator of any library
// is called, and what it returns.

import { isPromise } from '../base/is-promise.ts'
import type { JsonSchema } from './json-keywords.ts'
import { MAX_MISMATCHES, Mismatch, PASSES_SCHEMA, type PathPart, shorten, show } from './mismatch.ts'

/** Anything that validates: weir's own `t`, or a schema of Zod, Valibot, ArkType and others. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': StandardProps<Input, Output>
}

export interface StandardProps<Input = unknown, Output = Input> {
  readonly version: 1
  /** Name of the library. */
  readonly vendor: string
  readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
  /** For the compiler only. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined
}

/** Converts a schema to JSON Schema (https://standardschema.dev/json-schema). Throws for an unknown target. */
export interface StandardJsonConverter {
  /** The JSON Schema of what the schema reads. */
  readonly input: (options: StandardJsonOptions) => JsonSchema
  /** The JSON Schema of what it returns, in its JSON form. */
  readonly output: (options: StandardJsonOptions) => JsonSchema
}

export interface StandardJsonOptions {
  /** `draft-2020-12` or `draft-07`. */
  readonly target: string
}

/** The properties of weir's schemas, which validate synchronously and describe themselves. */
export interface StandardJsonProps<Input = unknown, Output = Input> extends StandardProps<Input, Output> {
  readonly validate: (value: unknown) => StandardResult<Output>
  readonly jsonSchema: StandardJsonConverter
}

/** A failure if, and only if, it has `issues`. */
export type StandardResult<Output> = { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] }

export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** Any Standard Schema, whatever its input and output. */
export type AnySchema = StandardSchema<unknown, unknown>

/** What a schema returns: `OutputOf<typeof t.date>` is `Date`. */
export type OutputOf<S extends AnySchema> = NonNullable<S['~standard']['types']>['output']

/**
 * What a schema reads, in its JSON form: `InputOf<typeof t.date>` is `string`.
 * @example
 * const User = t.object({ id: t.int, born: t.date })
 * type Sent = InputOf<typeof User> // { id: number; born: string }
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/schemas.md
 */
export type InputOf<S extends AnySchema> = NonNullable<S['~standard']['types']>['input']

/** Whether `value` is a Standard Schema. Some libraries make them functions. */
export function isSchema(value: unknown): value is AnySchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || !('~standard' in value)) return false
  const props = value['~standard']
  return typeof props === 'object' && props !== null && 'validate' in props && typeof props.validate === 'function'
}

type Show = (part: unknown) => string | undefined

/**
 * Runs any Standard Schema over `value`. Returns a promise only if the schema does. What the schema throws is thrown, or rejects the promise.
 * @param shown how a wrong part is shown: as JSON, unless it was received as plain text
 */
export function runSchema<S extends AnySchema>(
  schema: S,
  value: unknown,
  shown: Show = show,
): OutputOf<S> | Mismatch | Promise<OutputOf<S> | Mismatch> {
  const result = schema['~standard'].validate(value)
  return isPromise(result) ? result.then((settled) => resultOf<S>(settled, value, shown)) : resultOf<S>(result, value, shown)
}

function resultOf<S extends AnySchema>(result: StandardResult<unknown>, value: unknown, shown: Show): OutputOf<S> | Mismatch {
  if (result.issues === undefined) return result.value as OutputOf<S>
  if (result.issues.length === 0) return new Mismatch(PASSES_SCHEMA, shown(value))
  return Mismatch.ofAll(result.issues.slice(0, MAX_MISMATCHES).map((issue) => mismatchOf(issue, value, shown)))
}

function mismatchOf(issue: StandardIssue, value: unknown, shown: Show): Mismatch {
  // Not `path.map`: the paths of arktype are instances of a subclass of Array, and the result would be one too.
  const path = Array.from(issue.path ?? [], partOf)
  return new Mismatch(`${PASSES_SCHEMA} (${shorten(issue.message)})`, shown(partAt(value, path)), path)
}

function partOf(step: PropertyKey | { readonly key: PropertyKey }): PathPart {
  const key = typeof step === 'object' ? step.key : step
  return typeof key === 'number' ? key : shorten(String(key))
}

/** The part of the received value at `path`. Only own properties are read, because a client may have chosen the names in the path. */
function partAt(value: unknown, path: readonly PathPart[]): unknown {
  let part = value
  for (const key of path) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, key)) return undefined
    part = (part as Record<PathPart, unknown>)[key]
  }
  return part
}
