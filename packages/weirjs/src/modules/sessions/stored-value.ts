// Values that survive a session: they become JSON, and fit a schema when they come back.

import { WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import { asSchema } from '../../schema/foreign.ts'
import { Mismatch } from '../../schema/mismatch.ts'
import type { Schema } from '../../schema/schema.ts'
import type { AnySchema } from '../../schema/standard.ts'

/** An object whose properties have a JSON form. */
export type StoredObject = Readonly<Record<string, unknown>>

export class StoredValue {
  /** `data` or `claims`. */
  readonly #name: string
  readonly #schema: Schema<unknown> | null
  /** The value of an object without properties. Frozen. */
  readonly empty: StoredObject

  /** @throws WEIR_OPTION_INVALID for a schema that does not accept an object without properties, because that is what a new session has */
  constructor(owner: string, name: string, schema: AnySchema | undefined) {
    if (schema !== undefined && typeof Object(Object(schema)['~standard']).validate !== 'function')
      throw invalid(owner, `${name} is ${kindOf(schema)}, not a schema`)
    this.#name = name
    this.#schema = schema === undefined ? null : asSchema(schema)
    const empty = this.#read({})
    if (empty instanceof Mismatch) {
      const wanted = empty.failures('', 'body').map(({ name: part }) => JSON.stringify(part))
      throw invalid(
        owner,
        `${name} has to accept an object without properties: give a default to ${wanted.join(', ')}, or make it optional`,
      )
    }
    this.empty = empty
  }

  /** What was stored, as the schema reads it. Frozen. Null if it does not fit. */
  restore(stored: unknown): StoredObject | null {
    const value = this.#read(stored)
    return value instanceof Mismatch ? null : value
  }

  /** `value` as it will be restored. Frozen. @throws WEIR_SESSION_DATA for a value that has no JSON form, or does not fit */
  rehearse(value: object): StoredObject {
    const restored = this.#read(this.#throughJson(value))
    if (!(restored instanceof Mismatch)) return restored
    const [first] = restored.hidden().failures(this.#name, 'body') // the log does not need the value
    throw new WeirError('WEIR_SESSION_DATA', `${first!.name}: expected ${first!.expected}`)
  }

  /** The stored form of a value that `restore` or `rehearse` has returned. */
  toJson(value: object): unknown {
    return this.#schema === null ? value : this.#schema.toJson(value)
  }

  #throughJson(value: object): unknown {
    try {
      return JSON.parse(JSON.stringify(this.toJson(value)))
    } catch (error) {
      throw new WeirError('WEIR_SESSION_DATA', `${this.#name} has no JSON form: keep strings, numbers, lists and plain objects in it`, {
        cause: error,
      })
    }
  }

  #read(stored: unknown): StoredObject | Mismatch {
    const value = this.#schema === null ? stored : this.#schema.fromValue(stored)
    if (value instanceof Mismatch) return value
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return new Mismatch('an object')
    return frozen(value) as StoredObject
  }
}

/** Freezes what JSON can hold. Depth and size have the bounds of a session. */
function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) frozen(part)
  return Object.freeze(value)
}
