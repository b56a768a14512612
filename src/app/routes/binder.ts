// From a request to a handler's arguments: which value each name takes, how it is converted, and everything that is wrong with them.

import { emptyRecord } from '../../base/empty-record.ts'
import { BindingError, type BindingFailure } from '../../base/errors.ts'
import { isPromise } from '../../base/is-promise.ts'
import { type HttpRequest, queryValuesOf } from '../../http/request/request.ts'
import type { Template } from '../../routing/template.ts'
import { Mismatch, show } from '../../schema/mismatch.ts'
import { Schema } from '../../schema/schema.ts'
import { type AnySchema, runSchema } from '../../schema/standard.ts'

/** Arguments by name. Without a prototype: `constructor` is a name like any other. */
export type Args = Record<string, unknown>

/** How one argument is made. */
export interface Step {
  readonly name: string
  /** Place among the template's parameters; -1 for a query parameter. */
  readonly index: number
  /** Null: the text as it is. */
  readonly schema: AnySchema | null
}

/** A route's plan, made once: the steps to its arguments. */
export class Binder {
  /** Those of the path first. */
  readonly steps: readonly Step[]
  /** One shape for the arguments of one route. */
  readonly #Record: new () => Args

  constructor(template: Template, bindings: Readonly<Record<string, AnySchema>>) {
    const inPath = template.parameters.map(({ name }, index) => ({ name, index, schema: bindings[name] ?? null }))
    const names = new Set(template.parameters.map(({ name }) => name))
    const inQuery = Object.keys(bindings).filter((name) => !names.has(name))
    this.steps = [...inPath, ...inQuery.map((name) => ({ name, index: -1, schema: bindings[name]! }))]
    this.#Record = emptyRecord()
  }

  /**
   * @param values of the template's parameters, decoded
   * @returns the arguments; a promise only when a foreign schema answers with one
   * @throws BindingError with every value that does not fit, thrown or rejected
   */
  bind(request: HttpRequest, values: readonly string[]): Args | Promise<Args> {
    const args = new this.#Record()
    let failures: BindingFailure[] | null = null
    let pending: Promise<void>[] | null = null
    for (const step of this.steps) {
      const value = readStep(step, request, values)
      if (value instanceof Mismatch) {
        failures ??= []
        failures.push(...failuresOf(step, value))
      } else if (step.schema !== null && !(step.schema instanceof Schema) && isPromise(value)) {
        pending ??= []
        const settled = this.#await(step, value, args)
        settled.catch(() => {}) // a later schema may throw, and then nobody waits for this one
        pending.push(settled)
      } else if (value !== undefined) args[step.name] = value
    }
    if (pending !== null) return this.#join(pending, args, failures ?? [])
    if (failures !== null) throw new BindingError(failures)
    return args
  }

  async #await(step: Step, value: Promise<unknown>, args: Args): Promise<void> {
    const settled = await value
    if (settled !== undefined) args[step.name] = settled
  }

  async #join(pending: readonly Promise<void>[], args: Args, failures: BindingFailure[]): Promise<Args> {
    await Promise.all(pending)
    for (const step of this.steps) {
      const value = args[step.name]
      if (value instanceof Mismatch) failures.push(...failuresOf(step, value))
    }
    if (failures.length > 0) throw new BindingError(failures)
    return args
  }
}

export function failuresOf(step: Step, mismatch: Mismatch): BindingFailure[] {
  return mismatch.failures(step.name, placeOf(step))
}

/** Where its value is read from. */
export function placeOf({ index }: Step): BindingFailure['in'] {
  return index === -1 ? 'query' : 'route'
}

/** What was received for it. */
export function textsOf({ name, index }: Step, request: HttpRequest, values: readonly string[]): readonly string[] {
  return index === -1 ? queryValuesOf(request, name) : [values[index]!]
}

/** The argument, a mismatch, or a promise of either when the schema belongs to another library. */
export function readStep(step: Step, request: HttpRequest, values: readonly string[]): unknown {
  const { schema, index } = step
  if (index !== -1) {
    const text = values[index]!
    if (schema === null) return text
    return schema instanceof Schema ? schema.fromText(text) : runSchema(schema, text, showText)
  }
  const texts = queryValuesOf(request, step.name)
  if (schema instanceof Schema) return schema.fromTexts(texts)
  return runSchema(schema!, texts.length > 1 ? texts : texts[0], showText)
}

/** In a URL everything is text: quotes would say nothing. */
function showText(part: unknown): string | undefined {
  return typeof part === 'string' ? part : show(part)
}
