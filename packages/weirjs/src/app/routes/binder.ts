// From a request to a handler's arguments: the value of each name, its conversion, and every mistake in the values.

import { emptyRecord } from '../../base/empty-record.ts'
import { BindingError, type BindingFailure } from '../../base/errors.ts'
import { isPromise } from '../../base/is-promise.ts'
import { markSecretField } from '../../base/secret-fields.ts'
import type { BodyReader } from '../../http/body/body-reader.ts'
import { cookieOf, type HttpRequest, headerOf, queryValuesOf, readBodyWith } from '../../http/request/request.ts'
import { Mismatch, show } from '../../schema/mismatch.ts'
import { Schema } from '../../schema/schema.ts'
import { type AnySchema, runSchema } from '../../schema/standard.ts'

import type { Binding } from './binding.ts'

/** Arguments by name. Without a prototype: `constructor` is a name like any other. */
export type Args = Record<string, unknown>

/** How one argument is made. */
export interface Step {
  /** Of the argument. */
  readonly name: string
  readonly source: Binding['source']
  /** In a path: place among the template's parameters. */
  readonly index: number
  /** The name in the query, or of the field or cookie. */
  readonly key: string
  /** Null: the text is not converted. */
  readonly schema: AnySchema | null
}

/** Whether messages must not repeat the value. */
export function isSecret({ schema }: Step): boolean {
  return schema instanceof Schema && schema.holdsSecret
}

/** The steps from a request to the arguments of a route, planned once. */
export class Binder {
  /** Values of the path first. */
  readonly steps: readonly Step[]
  readonly #body: BodyReader | null
  /** Gives all arguments of one route the same shape. */
  readonly #Record: new () => Args

  /** @param bindings parameters of the path first, in its order */
  constructor(bindings: Readonly<Record<string, Binding>>, body: BodyReader | null) {
    this.steps = Object.entries(bindings).map(([name, { source, name: key, schema }], index) => ({ name, source, index, key, schema }))
    for (const { source, key, schema } of this.steps)
      if (source === 'header' && schema instanceof Schema && schema.holdsSecret) markSecretField(key)
    this.#body = body
    this.#Record = emptyRecord()
  }

  /**
   * @param values of the template's parameters, decoded
   * @returns the arguments; a promise only if a schema of another library returns one, or the body is read as it arrives
   * @throws BindingError with every parameter that does not fit; then what is wrong with the body. Thrown or rejected
   */
  bind(request: HttpRequest, values: readonly string[]): Args | Promise<Args> {
    const args = this.#bindParameters(request, values)
    if (this.#body === null) return args
    return args instanceof Promise ? this.#bindBodyLater(args, request, this.#body) : bindBody(args, request, this.#body)
  }

  async #bindBodyLater(args: Promise<Args>, request: HttpRequest, body: BodyReader): Promise<Args> {
    return bindBody(await args, request, body)
  }

  #bindParameters(request: HttpRequest, values: readonly string[]): Args | Promise<Args> {
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
        settled.catch(() => {}) // a later schema may throw, and then this one is not awaited
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

function bindBody(args: Args, request: HttpRequest, body: BodyReader): Args | Promise<Args> {
  const value = readBodyWith(request, body)
  if (value instanceof Promise) return bindLater(args, value)
  if (value !== undefined) args['body'] = value
  return args
}

async function bindLater(args: Args, body: Promise<unknown>): Promise<Args> {
  const value = await body
  if (value !== undefined) args['body'] = value
  return args
}

export function failuresOf(step: Step, mismatch: Mismatch): BindingFailure[] {
  const { name, source, key } = step
  switch (source) {
    case 'path':
      return mismatch.failures(name, 'path')
    case 'query':
      return mismatch.failures(name, 'query')
    default:
      // The client knows it by this name.
      return (isWithheld(step) ? mismatch.hidden() : mismatch).failures(key, source)
  }
}

/** Whether its value is never repeated, whatever its schema: scripts in a page may not be able to read what the browser sent. */
export function isWithheld({ source, key }: Step): boolean {
  return source === 'cookie' || (source === 'header' && (key === 'cookie' || key.endsWith('authorization')))
}

/** The texts that were received for it. */
export function textsOf({ source, index, key }: Step, request: HttpRequest, values: readonly string[]): readonly string[] {
  if (source === 'query') return queryValuesOf(request, key)
  const text = source === 'path' ? values[index]! : source === 'header' ? headerOf(request, key) : cookieOf(request, key)
  return text === null ? [] : [text]
}

/** The argument, a mismatch, or a promise of either if the schema belongs to another library. */
export function readStep(step: Step, request: HttpRequest, values: readonly string[]): unknown {
  const { source, schema } = step
  if (source === 'query') {
    const texts = queryValuesOf(request, step.key)
    if (schema instanceof Schema) return schema.fromTexts(texts)
    return runSchema(schema!, texts.length > 1 ? texts : texts[0], showText)
  }
  const text = source === 'path' ? values[step.index]! : source === 'header' ? headerOf(request, step.key) : cookieOf(request, step.key)
  if (schema === null) return text
  if (schema instanceof Schema) return text === null ? schema.absent() : schema.fromText(text)
  return runSchema(schema, text ?? undefined, showText)
}

/** Outside the body, everything is text, so quotes would add nothing. */
function showText(part: unknown): string | undefined {
  return typeof part === 'string' ? part : show(part)
}
