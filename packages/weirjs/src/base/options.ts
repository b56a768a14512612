// Checks of options and arguments, for callers that no compiler has checked: a misspelt option would be a limit that does not hold. All
// functions here throw WEIR_OPTION_INVALID and name the owner of the option.

import { isToken } from './ascii.ts'
import { WeirError } from './errors.ts'
import { kindOf, shown } from './kind-of.ts'

/** @param owner whose option it is, such as `cors` or `saveTo()` */
export function invalid(owner: string, detail: string): WeirError {
  return new WeirError('WEIR_OPTION_INVALID', `${owner}: ${detail}`)
}

/**
 * The names of all options of `T`: `namesOf<StopOptions>()(['graceMs'])`. A list with a missing or an additional name does not compile,
 * because an option that is declared but not listed would be refused at run time.
 */
export function namesOf<T extends object>() {
  return <const N extends readonly (keyof T)[]>(
    names: N & ([keyof T] extends [N[number]] ? unknown : { readonly missing: Exclude<keyof T, N[number]> }),
  ): N => names
}

/** Refuses a value that is not an object, and options that are not in `names`. */
export function checkNames(owner: string, options: object, names: readonly string[]): void {
  const given: unknown = options
  if (typeof given !== 'object' || given === null) throw invalid(owner, `options must be an object, not ${kindOf(given)}`)
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue
    if (isExchange(given)) throw invalid(owner, UNCALLED)
    throw invalid(owner, `there is no option ${unknown(name, names)}`)
  }
}

/** For an argument of a function that makes a policy. */
export const UNCALLED = 'the function itself was added to a server or a route: call it, and add what it returns'

/** A function such as `rateLimit` that was added itself is called with an exchange. */
export function isExchange(given: unknown): boolean {
  return kindOf(given) === 'an HttpSession'
}

function unknown(name: string, names: readonly string[]): string {
  const meant = names.find((one) => one.toLowerCase() === name.toLowerCase())
  if (meant !== undefined) return `${JSON.stringify(name)}: it is called "${meant}"`
  return `${JSON.stringify(name)}${names.length === 0 ? '' : `; the options are ${names.join(', ')}`}`
}

/** Requires a whole number of at least `least`. */
export function wholeNumber(owner: string, option: string, value: number, least: number = 0): number {
  if (Number.isSafeInteger(value) && value >= least) return value
  throw invalid(owner, `${option} is ${shown(value)}, not a whole number of at least ${least}${sizeHint(value)}`)
}

/** For a size with a unit, which other libraries accept: what to write instead of `"25mb"`. */
export function sizeHint(value: unknown): string {
  const [, digits, unit] = (typeof value === 'string' && /^(\d+) ?([kmg])i?b?$/i.exec(value)) || []
  if (digits === undefined || unit === undefined) return ''
  const factors = Array.from({ length: 'kmg'.indexOf(unit.toLowerCase()) + 1 }, () => ' * 1024')
  return `: for bytes, write ${digits}${factors.join('')}`
}

/**
 * Requires a limit: a whole number, or `Infinity` for none. Nothing would ever exceed a limit that is not a number.
 * @param byDefault the limit if none is given
 */
export function limitOf(owner: string, option: string, value: number | undefined, byDefault: number): number {
  if (value === undefined) return byDefault
  return value === Number.POSITIVE_INFINITY ? value : wholeNumber(owner, option, value)
}

/** Requires true or false; missing means false. Any text would count as true, even "false". */
export function flag(owner: string, option: string, value: boolean | undefined): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true
  throw invalid(owner, `${option} is ${shown(value)}, not true or false`)
}

/** Requires a function, if the option is given. */
export function checkFunction(owner: string, option: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw invalid(owner, `${option} is ${shown(value)}, not a function`)
}

/** Requires a string, if the option is given. */
export function checkText(owner: string, option: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'string') throw invalid(owner, `${option} is ${shown(value)}, not a string`)
}

/** Requires one of two words, if the option is given. */
export function checkWord(owner: string, option: string, value: unknown, one: string, other: string): void {
  if (value === undefined || value === one || value === other) return
  throw invalid(owner, `${option} is ${shown(value)}, not "${one}" or "${other}"`)
}

/** Requires an array. A string can be iterated too, but would be a list of its characters. */
export function listOf<T>(owner: string, option: string, value: readonly T[]): readonly T[] {
  if (Array.isArray(value)) return value
  throw invalid(owner, `${option} is ${shown(value)}, not a list`)
}

/** Requires a list of tokens, such as the names of methods and header fields (RFC 9110 §5.6.2). */
export function tokensOf(owner: string, option: string, value: readonly string[]): readonly string[] {
  for (const name of listOf<unknown>(owner, option, value)) {
    if (typeof name !== 'string' || !isToken(name)) throw invalid(owner, `${option}: ${shown(name)} is not a valid name`)
  }
  return value
}
