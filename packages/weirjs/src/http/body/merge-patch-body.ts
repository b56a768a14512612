// A body that changes an object: a JSON merge patch (RFC 7396).

import { InvalidBodyError } from '../../base/errors.ts'
import { shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import { ObjectSchema } from '../../schema/composite.ts'
import { type MergePatchInput, MergePatchSchema } from '../../schema/merge-patch.ts'
import { Mismatch } from '../../schema/mismatch.ts'
import { TypedBody } from './typed-body.ts'

const MERGE_PATCH_TYPE = 'application/merge-patch+json'

/** @internal Whether no code has read the changes. */
export let isUnused: (patch: MergePatch<unknown>) => boolean

/**
 * The changes that a client has sent for a `T`, whose JSON form is `Input`. A handler whose body is `mergePatch(schema)` gets one.
 * @example
 * const rename = (patch: MergePatch<{ name: string }>) => patch.applyTo({ name: 'Ada' })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/typed-bodies.md
 */
export class MergePatch<T, Input = unknown> {
  static {
    isUnused = (patch) => !patch.#isUsed
  }

  readonly #changes: MergePatchInput<Input>
  #isUsed = false
  readonly #schema: MergePatchSchema
  readonly #status: 400 | 422

  /** @internal */
  constructor(schema: MergePatchSchema, changes: object, status: 400 | 422) {
    this.#schema = schema
    this.#status = status
    this.#changes = changes as MergePatchInput<Input>
  }

  /**
   * The properties that change, in the form in which they were sent: a date is text, and null removes a property. Each value has been checked, and
   * properties that the schema does not declare are left out.
   */
  get changes(): MergePatchInput<Input> {
    this.#isUsed = true
    return this.#changes
  }

  /**
   * Returns a copy of `current` with the changes, converted to what the schema returns. Removed properties have no key, or their default.
   * Properties that the patch does not name are neither changed nor checked, even those that the schema does not declare.
   *
   * @throws InvalidBodyError if the result does not fit the schema: a new object inside `current` lacks a required property, say
   */
  applyTo<V extends T>(current: V): Omit<V, keyof T> & T {
    const result = this.#schema.apply(current as object, this.changes as object)
    if (result instanceof Mismatch) throw new InvalidBodyError(result.failures('', 'body', ''), this.#status)
    return result as Omit<V, keyof T> & T
  }
}

/** Made by `mergePatch`. */
export class MergePatchBody extends TypedBody<MergePatch<unknown>> {
  declare readonly schema: MergePatchSchema

  /** @internal */
  constructor(schema: MergePatchSchema) {
    super('json', [MERGE_PATCH_TYPE], schema)
  }

  override get isOptional(): boolean {
    return false
  }
}

type NoObject = 'the argument is a schema of an object, such as t.object({ name: t.string })'
type MergePatchBodyOf<S> = S extends ObjectSchema<infer T, infer Input> ? TypedBody<MergePatch<T, Input>, MergePatchInput<Input>> : never

/**
 * A JSON merge patch (RFC 7396), `application/merge-patch+json`: a client sends the properties that change, and null for those that are
 * removed. The handler gets a `MergePatch`, which it applies to the current object. Null for a property that is neither optional nor nullable
 * nor has a default: 400, or the server's `invalidBodyStatus`. Other content types, `application/json` included: 415 with Accept-Patch.
 *
 * @param schema of the object, made by `t.object`
 * @throws WEIR_OPTION_INVALID for any other schema
 * @example
 * const User = t.object({ name: t.string, phone: t.string.optional() })
 * server.mapPatch('/me', { body: mergePatch(User) }, ({ body }) => body.applyTo({ name: 'Ada' }))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/typed-bodies.md
 */
export function mergePatch<S>(schema: S & (S extends ObjectSchema<infer _T> ? unknown : NoObject)): MergePatchBodyOf<S>
export function mergePatch(schema: unknown): unknown {
  if (!(schema instanceof ObjectSchema))
    throw invalid('mergePatch()', `${shown(schema)} is not an object schema, such as t.object({ name: t.string })`)
  return new MergePatchBody(new MergePatchSchema(schema))
}
