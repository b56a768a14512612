// JSON, as the server and the handlers may exchange it for another: serializing answers, and populating models.

import { WeirError } from '../base/errors.ts'
import { isPromise } from '../base/is-promise.ts'
import { kindOf } from '../base/kind-of.ts'
import { invalid, namesOf } from '../base/options.ts'
import type { ReadContext } from '../schema/schema.ts'

/** Makes text of values and values of text, in place of `JSON`; for a whole server, or for one call of `bodyMap`. Synchronous: promises are refused. */
export interface JsonEngine {
  serialize(value: unknown): string
  /**
   * For handlers and modules that want a value of their own: weir itself only serializes and populates.
   * @throws SyntaxError for what is no JSON
   */
  deserialize(text: string): unknown
  /**
   * Writes what `text` says into `target`; `options` are those that `bodyMap` was given.
   * @throws SyntaxError for what is no JSON, which makes `bodyMap` false; any other error is thrown on
   */
  populate(text: string, target: object, options: unknown): void
}

const ENGINE_METHODS = namesOf<JsonEngine>()(['serialize', 'deserialize', 'populate'])

/** @param owner whose option it is; null: none @throws WEIR_OPTION_INVALID, for methods that are asynchronous as well */
export function checkEngine(owner: string, engine: JsonEngine | null): void {
  if (engine === null) return
  for (const method of ENGINE_METHODS) {
    if (typeof engine[method] !== 'function') throw invalid(owner, `jsonEngine is ${kindOf(engine)} without ${method}()`)
    if (isAsync(engine[method])) throw asynchronous(owner, `jsonEngine.${method}() is asynchronous`)
  }
}

/** Only those that are written with `async` can be known before they are called. */
function isAsync(method: unknown): boolean {
  return Object.prototype.toString.call(method) === '[object AsyncFunction]'
}

/**
 * What an engine returns must be there when it returns. Of a promise nobody would see how it ends: it is refused, and its failure dropped.
 * @throws WEIR_OPTION_INVALID
 */
export function checkSettled(owner: string, method: keyof JsonEngine, result: unknown): void {
  if (!isPromise(result)) return
  Promise.resolve(result).catch(() => {})
  throw asynchronous(owner, `jsonEngine.${method}() returned a promise`)
}

function asynchronous(owner: string, what: string): WeirError {
  return invalid(owner, `${what}, but nothing waits for a JSON engine: it must be synchronous`)
}

/** How `bodyMap` reads JSON. */
export interface JsonSettings extends ReadContext {
  /** Given to `JSON.parse`. */
  readonly reviver?: (this: unknown, key: string, value: unknown) => unknown
  /** How deep objects and arrays may lie in one another. Default 64. Beyond it: `ModelBindingError`. */
  readonly maxDepth?: number
  /**
   * Properties whose values are never repeated in errors, problem documents and logs: a name (`password`) wherever it stands, or a key path
   * from the model (`card.number`). Case does not count. Default: none but those whose schema is `.secret()`, which are secret in any case.
   */
  readonly secret?: readonly string[]
}

/** What `toJSON` of weir's own objects throws. */
export function noJsonForm(what: string, instead: string): WeirError {
  return new WeirError('WEIR_RESULT_UNSENDABLE', `${what} has no JSON form: send parts of it, such as ${instead}`)
}

/** Serializes what a response is given. */
export type Serialize = (value: unknown) => string | undefined

/**
 * @throws WEIR_RESULT_UNSENDABLE for what JSON says nothing of, such as a symbol, or cannot say: a bigint, an object that holds itself;
 *   WEIR_OPTION_INVALID for an engine that returns a promise
 */
export function jsonTextOf(value: unknown, serialize: Serialize): string {
  let text: string | undefined
  try {
    text = serialize(value)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new WeirError('WEIR_RESULT_UNSENDABLE', error.message, error)
  }
  checkSettled('json()', 'serialize', text)
  if (typeof text !== 'string') throw new WeirError('WEIR_RESULT_UNSENDABLE', `${kindOf(value)} has no JSON form`)
  return text
}
