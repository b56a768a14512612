// The replaceable JSON engine: it serializes responses and populates models.

import { isInstance, WeirError } from '../base/errors.ts'
import { isPromise } from '../base/is-promise.ts'
import { kindOf } from '../base/kind-of.ts'
import { invalid } from '../base/options.ts'
import { pointerOf } from '../schema/mismatch.ts'
import type { ReadContext } from '../schema/schema.ts'

/**
 * Serializes and parses in place of `JSON`, for a whole server or for one call of `bodyMap`. All methods must be synchronous: a promise is
 * refused with `WEIR_OPTION_INVALID`.
 * @example
 * const jsonEngine: JsonEngine = {
 *   serialize: (value) => JSON.stringify(value, null, 2),
 *   deserialize: (text) => JSON.parse(text),
 *   populate: (text, target) => Object.assign(target, JSON.parse(text)),
 * }
 * new HttpServer({ jsonEngine })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/body.md
 */
export interface JsonEngine {
  serialize(value: unknown): string
  /**
   * Parses text into a value. For your handlers and modules: weir itself only calls `serialize` and `populate`.
   * @throws SyntaxError when the text is not JSON
   */
  deserialize(text: string): unknown
  /**
   * Parses `text` and writes its values into `target`. `options` are those passed to `bodyMap`.
   * @throws SyntaxError when the text is not JSON: `bodyMap` then returns false. It rethrows any other error
   */
  populate(text: string, target: object, options: unknown): void
}

const ENGINE_METHODS: readonly (keyof JsonEngine)[] = ['serialize', 'deserialize', 'populate']

/** The option `jsonEngine`. @throws WEIR_OPTION_INVALID */
export function checkedEngine(engine: JsonEngine, owner: string): JsonEngine {
  checkEngine(owner, engine)
  return engine
}

/** @param owner the function whose option it is @throws WEIR_OPTION_INVALID for a missing method, and for one declared `async` */
function checkEngine(owner: string, engine: JsonEngine | null): void {
  if (engine === null) return
  for (const method of ENGINE_METHODS) {
    if (typeof engine[method] !== 'function') throw invalid(owner, `jsonEngine is ${kindOf(engine)} without ${method}()`)
    if (isAsync(engine[method])) throw asynchronous(owner, `jsonEngine.${method}() is asynchronous`)
  }
}

/** Detects methods declared `async`. Others that return a promise are noticed only when they are called. */
function isAsync(method: unknown): boolean {
  return Object.prototype.toString.call(method) === '[object AsyncFunction]'
}

/**
 * Refuses a promise: nothing would wait for it or handle its rejection, so the rejection is swallowed here.
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

/**
 * How `bodyMap` reads JSON.
 * @example
 * const settings: JsonSettings = { secret: ['password'] }
 * request.bodyMap({ name: '', password: '' }, { settings })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/body-map.md
 */
export interface JsonSettings extends ReadContext {
  /** Passed to `JSON.parse`. Default: none. */
  readonly reviver?: (this: unknown, key: string, value: unknown) => unknown
  /** How deep objects and arrays may be nested. Default 64. When exceeded, `bodyMap` throws `ModelBindingError`. */
  readonly maxDepth?: number
  /**
   * Properties whose values never appear in errors, problem documents and logs: a name (`password`), which applies at any depth, or a key
   * path from the model (`card.number`). Case-insensitive. Default: none. Properties whose schema is `.secret()` are always secret.
   */
  readonly secret?: readonly string[]
}

/** The error that `toJSON` of weir's own objects throws. */
export function noJsonForm(what: string, instead: string): WeirError {
  return new WeirError('WEIR_RESULT_UNSENDABLE', `${what} has no JSON form: send parts of it, such as ${instead}`)
}

/** Why a value such as a function or a RegExp cannot be sent. */
export const NO_FORM = 'has no JSON form: send a string or an object made from it'

/** Serializes a value for a response. */
export type Serialize = (value: unknown) => string | undefined

/**
 * @throws WEIR_RESULT_UNSENDABLE for a value that JSON cannot represent: a symbol, a bigint, a circular object, a promise;
 *   WEIR_OPTION_INVALID for an engine that returns a promise
 */
export function jsonTextOf(value: unknown, serialize: Serialize): string {
  let text: string | undefined
  try {
    text = serialize(value)
  } catch (error) {
    if (!isInstance(error, TypeError)) throw error
    const isCircular = error.message.includes('circular')
    const hint = error.message.includes('BigInt')
      ? ': send String(value)'
      : isCircular
        ? '\nLeave out what leads back, such as its parent'
        : ''
    throw new WeirError('WEIR_RESULT_UNSENDABLE', error.message + hint, { cause: error })
  }
  if (typeof text === 'string') {
    if (text === '{}' && isPromise(value)) throw unawaited(value, 'the value')
    return text
  }
  checkSettled('json()', 'serialize', text)
  throw new WeirError('WEIR_RESULT_UNSENDABLE', `${kindOf(value)} ${NO_FORM}`)
}

/**
 * The same for tests and debugging, where a value that would be sent as `{}` is an error. Finding it takes about as long as serializing the value.
 * @param isOwnEngine whether `serialize` belongs to the program, and may have a form for values that JSON cannot represent
 */
export function refusingLosses(serialize: Serialize, isOwnEngine: boolean): Serialize {
  return (value) => {
    const found = lossIn(value, isOwnEngine ? isPromise : isLost, Number.POSITIVE_INFINITY)
    if (found === null) return serialize(value)
    const place = pointerOf(found.path) || 'the value'
    throw isPromise(found.value)
      ? unawaited(found.value, place)
      : new WeirError('WEIR_RESULT_UNSENDABLE', `${place} ${whyLost(found.value)}`)
  }
}

/** Describes what was lost when a value was sent as JSON; null if nothing was lost in the first `most` of its parts. */
export function lossOf(value: unknown, most: number): string | null {
  const found = lossIn(value, isLost, most)
  return found === null ? null : `${pointerOf(found.path) || 'the value'} ${whyLost(found.value)}`
}

function whyLost(value: unknown): string {
  if (value instanceof Map) return 'is a Map: send Object.fromEntries(map)'
  if (value instanceof Set) return 'is a Set: send [...set]'
  return isPromise(value) ? 'is a promise: await it' : `is ${kindOf(value)}, which ${NO_FORM}`
}

/** Its rejection is swallowed: nothing else would handle it. */
function unawaited(promise: unknown, what: string): WeirError {
  Promise.resolve(promise).catch(() => {})
  return new WeirError('WEIR_RESULT_UNSENDABLE', `${what} is a promise: await it`)
}

const NO_JSON = /^\[object (?:Blob|File|FormData|Headers|URLSearchParams|RegExp|Weak(?:Map|Set|Ref)|Generator|.* Iterator)\]$/

/** It would be sent as `{}`, which is never intended. weir's own objects have a `toJSON` that throws. */
export function hasNoJson(result: object): boolean {
  if ('toJSON' in result) return false
  if (result instanceof Error || result instanceof Map || result instanceof Set) return true
  return NO_JSON.test(Object.prototype.toString.call(result))
}

function isLost(value: object): boolean {
  return isPromise(value) || hasNoJson(value)
}

interface Part {
  readonly value: unknown
  readonly path: readonly string[]
}

/** The first lost object in the properties that `JSON.stringify` would read, among `most` of them. What `toJSON` returns is not looked at. */
function lossIn(value: unknown, isLoss: (value: object) => boolean, most: number): Part | null {
  const seen = new Set<unknown>()
  const rest: Part[] = [{ value, path: [] }]
  try {
    for (let part = rest.pop(); part !== undefined && seen.size < most; part = rest.pop()) {
      const { value: one, path } = part
      if (typeof one !== 'object' || one === null || seen.has(one)) continue
      if (isLoss(one)) return part
      seen.add(one)
      if ('toJSON' in one && typeof one.toJSON === 'function') continue
      for (const [name, inner] of Object.entries(one).reverse()) rest.push({ value: inner, path: [...path, name] })
    }
  } catch {
    // A getter has thrown. Serializing the value reports that.
  }
  return null
}
