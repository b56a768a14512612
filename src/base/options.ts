// What the options of a server, of a call and of a module may be. For callers that no compiler has checked: an option that is misspelt
// would be a limit that does not hold. All throw WEIR_OPTION_INVALID, and say whose option it is.

import { isToken } from './ascii.ts'
import { WeirError } from './errors.ts'
import { kindOf, shown } from './kind-of.ts'

/** @param owner whose option it is, such as `cors` or `saveTo()` */
export function invalid(owner: string, detail: string): WeirError {
  return new WeirError('WEIR_OPTION_INVALID', `${owner}: ${detail}`)
}

/**
 * The names of all options of `T`: `namesOf<StopOptions>()(['graceMs'])`. A list that lacks one, or that has another, does not compile: an
 * option that is declared and not listed would be refused at run time.
 */
export function namesOf<T extends object>() {
  return <const N extends readonly (keyof T)[]>(
    names: N & ([keyof T] extends [N[number]] ? unknown : { readonly missing: Exclude<keyof T, N[number]> }),
  ): N => names
}

/** Refuses what is no object, and names that are not in `names`. */
export function checkNames(owner: string, options: object, names: readonly string[]): void {
  const given: unknown = options
  if (typeof given !== 'object' || given === null) throw invalid(owner, `options are an object, not ${kindOf(given)}`)
  for (const name of Object.keys(given)) if (!names.includes(name)) throw invalid(owner, `there is no option ${unknown(name, names)}`)
}

function unknown(name: string, names: readonly string[]): string {
  const meant = names.find((one) => one.toLowerCase() === name.toLowerCase())
  return `${JSON.stringify(name)}${meant === undefined ? '' : `: it is called "${meant}"`}`
}

/** A whole number from `least` on. */
export function wholeNumber(owner: string, option: string, value: number, least: number = 0): number {
  if (Number.isSafeInteger(value) && value >= least) return value
  throw invalid(owner, `${option} is ${shown(value)}, not a whole number from ${least} on`)
}

/**
 * A limit: a whole number, or `Infinity` for none. What is no number would be a limit that nothing exceeds.
 * @param byDefault where nothing is given
 */
export function limitOf(owner: string, option: string, value: number | undefined, byDefault: number): number {
  if (value === undefined) return byDefault
  return value === Number.POSITIVE_INFINITY ? value : wholeNumber(owner, option, value)
}

/** True or false; false where nothing is given. A text would be true, whatever it says. */
export function flag(owner: string, option: string, value: boolean | undefined): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true
  throw invalid(owner, `${option} is ${shown(value)}, not true or false`)
}

/** A function, where something is given. */
export function checkFunction(owner: string, option: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw invalid(owner, `${option} is ${shown(value)}, not a function`)
}

/** A text, where something is given. */
export function checkText(owner: string, option: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'string') throw invalid(owner, `${option} is ${shown(value)}, not a text`)
}

/** One of two words, where something is given. */
export function checkWord(owner: string, option: string, value: unknown, one: string, other: string): void {
  if (value === undefined || value === one || value === other) return
  throw invalid(owner, `${option} is ${shown(value)}, not "${one}" or "${other}"`)
}

/** A list. A text is none, although it can be walked through. */
export function listOf<T>(owner: string, option: string, value: readonly T[]): readonly T[] {
  if (Array.isArray(value)) return value
  throw invalid(owner, `${option} is ${shown(value)}, not a list`)
}

/** A list of names as header fields have them (RFC 9110 §5.6.2). */
export function tokensOf(owner: string, option: string, value: readonly string[]): readonly string[] {
  for (const name of listOf<unknown>(owner, option, value)) {
    if (typeof name !== 'string' || !isToken(name)) throw invalid(owner, `${option}: ${shown(name)} is no name`)
  }
  return value
}
