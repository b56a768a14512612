// The kinds of values that options accept, for tables of `rules`.

import { isToken } from './ascii.ts'
import { type Duration, durationHint, LONGEST_MS, parsedDuration } from './duration.ts'
import { isPromise } from './is-promise.ts'
import { kindOf, shown } from './kind-of.ts'
import { Alias, type AnyRules, type Place, Rule, type Same, unexpected } from './option-rules.ts'
import { invalid } from './options.ts'
import { bytesOf, type Size, sizeHint } from './size.ts'

type AnyFunction = (...args: never[]) => unknown

/** A value for which `is` returns true. @param expected as it follows "not" in a message */
export function matching<In = unknown>(expected: string, is: (value: unknown) => boolean): Rule<In, Same> {
  return plain<In>('value', expected, is)
}

function plain<In>(kind: string, expected: string, is: (value: unknown) => boolean): Rule<In, Same> {
  return new Rule<In, Same>(kind, expected, (value, place, words) => {
    if (is(value)) return value
    throw unexpected(place, value, words)
  })
}

/** True or false. Any text would count as true, even "false". */
export function flag(byDefault: boolean): Rule<boolean, boolean> {
  return (
    plain<boolean>('flag', 'true or false', (value) => typeof value === 'boolean') as Rule<boolean, unknown> as Rule<boolean, boolean>
  ).or(byDefault)
}

/** What a number may be. */
export interface Range {
  /** Default 0. */
  readonly least?: number
  /** Default: none. */
  readonly most?: number
}

/** A whole number. */
export function count({ least = 0, most = Number.MAX_SAFE_INTEGER }: Range = {}): Rule<number, number> {
  const expected = most === Number.MAX_SAFE_INTEGER ? `a whole number of at least ${least}` : `a whole number from ${least} to ${most}`
  const is = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
  return new Rule<number, number>('count', expected, (value, place, words) => {
    if (is(value)) return value as number
    throw unexpected(place, value, typeof value === 'string' && value !== '' && is(Number(value)) ? `${words}: write Number(…)` : words)
  })
}

/** Bytes a second, as sizes are written. */
export function rate(): Rule<Size, number> {
  return bytes('rate', 0, ' for each second')
}

/** Bytes: a whole number, or a text such as `'10MiB'`. */
export function size({ least = 0 }: Range = {}): Rule<Size, number> {
  return bytes('size', least, '')
}

function bytes(kind: string, least: number, per: string): Rule<Size, number> {
  const expected = `a whole number of at least ${least} or a size such as "64KiB" or "10MiB"${per}`
  return new Rule<Size, number>(kind, expected, (value, place, words) => {
    const bytes = bytesOf(value)
    if (Number.isSafeInteger(bytes) && bytes >= least) return bytes
    throw unexpected(place, value, words + sizeHint(value))
  })
}

const DAY_MS = 86_400_000

/** What a time may be. */
export interface TimeRange {
  /** Default 1. */
  readonly least?: number
  /**
   * The least that a bare number may be, except 0; a text may be less. For times of minutes and days: 60 there probably means seconds, and a
   * program that means 60 ms can write `'60ms'`. Default: `least`.
   */
  readonly leastNumber?: number
  /** The time must be a multiple of this, in milliseconds: 1,000 where the protocol counts seconds. Default 1. */
  readonly unit?: 1 | 1_000
  /** In milliseconds. Default 366 days: longer times are more likely to be a mistake in the unit. */
  readonly most?: number
  /** Whether a number may be a fraction. Default false. */
  readonly fractions?: boolean
}

/** Milliseconds: a whole number, or a text such as `'30s'`. */
export function duration({
  least = 1,
  leastNumber = least,
  unit = 1,
  most = LONGEST_MS,
  fractions = false,
}: TimeRange = {}): Rule<Duration, number> {
  const whole = `${fractions ? '' : 'whole '}${unit === 1 ? 'milliseconds' : 'seconds in milliseconds'}${least === 0 ? ', 0' : ''}`
  const shortest = least > 1 ? `, of at least ${least} ms` : ''
  const longest = most === Number.MAX_SAFE_INTEGER ? '' : `, of at most ${most < DAY_MS ? `${most} ms` : `${most / DAY_MS} days`}`
  const expected = `${whole} or a time such as "30s", "15m" or "12h"${shortest}${longest}`
  return new Rule<Duration, number>('duration', expected, (value, place, words) => {
    const ms = parsedDuration(value)
    const isBare = ms === value
    const isTooFew = isBare && ms > 0 && ms >= least && ms < leastNumber
    if ((fractions || (Number.isSafeInteger(ms) && ms % unit === 0)) && ms >= least && ms <= most && !isTooFew) return ms
    const isMeant = isTooFew && Number.isSafeInteger(ms) && ms % unit === 0 ? `, and "${ms}ms" if they are milliseconds` : ''
    const isSeconds = Number.isSafeInteger(value) && ms >= 1 && (unit > 1 || isTooFew)
    throw unexpected(place, value, words + (isSeconds ? `: write "${ms}s" if these are seconds${isMeant}` : durationHint(value)))
  })
}

/** A string. @param is whether the string is one of the expected ones, such as a path */
export function text(expected = 'a string', is: (value: string) => boolean = () => true): Rule<string, Same> {
  return plain<string>('text', expected, (value) => typeof value === 'string' && is(value))
}

/** @param decides whether the function must return true or false: a promise is refused, because it would always count as true */
export function func({ decides = false }: { readonly decides?: boolean } = {}): Rule<AnyFunction, Same> {
  return new Rule<AnyFunction, Same>('function', 'a function', (value, place, words) => {
    if (typeof value !== 'function') throw unexpected(place, value, words)
    return decides ? verdictOf(value as (...args: unknown[]) => unknown, place) : value
  })
}

function verdictOf(decide: (...args: unknown[]) => unknown, { owner, option }: Place): AnyFunction {
  return (...args: unknown[]) => {
    const verdict = decide(...args)
    if (!isPromise(verdict)) return verdict
    verdict.then(undefined, () => {})
    throw invalid(owner, `${option} returned a promise, not true or false`)
  }
}

/** One of these words or numbers. */
export function oneOf<const W extends string | number | boolean>(...words: readonly W[]): Rule<W, Same> {
  return plain<W>('word', either(words), (value) => words.includes(value as W))
}

/** A list of some of these words. */
export function listOf<const W extends string>(...words: readonly W[]): Rule<readonly W[], Same> {
  return list<W>(either(words), (one) => words.includes(one as W))
}

/** One of these words, or a function. */
export function oneOfOr<const W extends string | number | boolean>(...words: readonly W[]): Rule<W | AnyFunction, Same> {
  const expected = either([...words.map((word) => JSON.stringify(word)), 'a function'], String)
  return plain<W | AnyFunction>('word', expected, (value) => typeof value === 'function' || words.includes(value as W))
}

/** An object that is not a list. */
export function object(expected = 'an object'): Rule<object, Same> {
  return plain<object>('object', expected, (value) => typeof value === 'object' && value !== null && !Array.isArray(value))
}

/** Options inside an option, by rules of their own. */
export function nested<T extends AnyRules>(rules: T, expected = 'an object'): Rule<T['options'], T['settings']> {
  return new Rule<T['options'], T['settings']>('nested', expected, (value, place, words) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unexpected(place, value, words)
    return rules.read(value as never, place.owner, place.option)
  })
}

/**
 * A list. A string is refused, although it can be iterated: it would be a list of its characters. @param item what each element must be, such as `a
 * valid name`
 */
export function list<T = unknown>(item = '', is: (value: unknown) => boolean = () => true): Rule<readonly T[], Same> {
  return new Rule<readonly T[], Same>('list', 'a list', (value, place, words) => {
    if (!Array.isArray(value)) throw unexpected(place, value, words)
    for (const one of value as unknown[]) if (!is(one)) throw invalid(place.owner, `${place.option}: ${shown(one)} is not ${item}`)
    return value
  })
}

/** A list of texts that are not empty. @param item what each text must be */
export function texts(
  item = 'a string that is not empty',
  is: (text: string) => boolean = (one) => one !== '',
): Rule<readonly string[], Same> {
  return list<string>(item, (one) => typeof one === 'string' && is(one))
}

/** A list of tokens, such as the names of methods and header fields (RFC 9110 §5.6.2). */
export function tokens(): Rule<readonly string[], Same> {
  return list<string>('a valid name', (name) => typeof name === 'string' && isToken(name))
}

/** For `matching` and `list`: whether a value has a function of this name. */
export function hasFunction(name: string): (value: unknown) => boolean {
  return (value) => typeof Object(value)[name] === 'function'
}

/** An object that has these functions, such as a store. @param hint what to pass instead of a value that is often passed by mistake */
export function having(functions: readonly string[], hint: string): Rule<object, Same> {
  return new Rule<object, Same>('object', `an object with ${functions.join(', ')}`, (value, { owner, option }) => {
    const missing = functions.find((name) => typeof Object(value)[name] !== 'function')
    if (missing === undefined) return value
    throw invalid(owner, `${option} is ${shown(value)}, which has no function ${missing}(): ${hint}`)
  })
}

/** A listener. An error that it throws becomes a warning: it must end neither the process nor the request in progress. */
export function listener<Args extends readonly unknown[] = [error: unknown]>(): Rule<(...args: Args) => unknown, (...args: Args) => void> {
  return new Rule('function', 'a function', (value, place, words) => {
    if (typeof value !== 'function') throw unexpected(place, value, words)
    return (...args: Args) => {
      try {
        value(...args)
      } catch (failure) {
        process.emitWarning(failure as Error)
      }
    }
  })
}

/** A value that a function of the option itself reads or refuses. */
export function readBy<In, Out>(read: (value: In, owner: string, option: string) => Out): Rule<In, Out> {
  return new Rule<In, Out>('own', 'a value', (value, { owner, option }) => read(value as In, owner, option))
}

/** A value that only tests pass, such as a clock. The guide does not mention it. */
export function forTests(): Rule<unknown, Same | undefined> {
  return plain<unknown>('for tests', 'a value', () => true).optional()
}

/** A value that other code checks. */
export function anything(): Rule<unknown, Same> {
  return plain<unknown>('any', 'a value', (value) => value !== undefined)
}

/** A secret: messages name its kind, never the value. */
export function secret(expected: string, is: (value: unknown) => boolean): Rule<unknown, Same> {
  return new Rule<unknown, Same>('secret', expected, (value, { owner, option }: Place) => {
    if (is(value)) return value
    throw invalid(owner, `${option} is ${kindOf(value)}, not ${expected}`)
  })
}

/** Another name of the option `of`, which stays for one version. */
export function alias(of: string): Alias {
  return new Alias(of)
}

/** `"a", "b" or "c"` */
function either(
  words: readonly (string | number | boolean)[],
  write: (word: string | number | boolean) => string = JSON.stringify,
): string {
  const texts = words.map(write)
  const last = texts.pop()
  return texts.length === 0 ? last! : `${texts.join(', ')} or ${last}`
}
