// Checks options and arguments, for callers that no compiler has checked. Without these checks, a misspelt limit would not limit anything. All
// functions here throw WEIR_OPTION_INVALID and name the owner of the option.

import { WeirError } from './errors.ts'
import { kindOf, shown } from './kind-of.ts'

/** @param owner whose option it is, such as `cors` or `saveTo()` */
export function invalid(owner: string, detail: string): WeirError {
  return new WeirError('WEIR_OPTION_INVALID', `${owner}: ${detail}`)
}

/** The message for a function that makes a policy and was passed without being called. */
export const UNCALLED = 'the function itself was added to a server or a route: call it, and add what it returns'

/** Whether a value is a session. A function that makes a policy, such as `rateLimit`, receives one if it was added without being called. */
export function isExchange(given: unknown): boolean {
  return kindOf(given) === 'an HttpSession'
}

/** Requires a function, if the option is given. */
export function checkFunction(owner: string, option: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw invalid(owner, `${option} is ${shown(value)}, not a function`)
}

/** Requires an array. A string can be iterated too, but would be a list of its characters. */
export function listOf<T>(owner: string, option: string, value: readonly T[]): readonly T[] {
  if (Array.isArray(value)) return value
  throw invalid(owner, `${option} is ${shown(value)}, not a list`)
}

/** The error for an unknown name, with the name that was probably meant. @param elsewhere what other frameworks call an option */
export function unknownName(name: string, names: readonly string[], elsewhere: Readonly<Record<string, string>> = {}): string {
  const quoted = JSON.stringify(name)
  const meant = Object.hasOwn(elsewhere, name) ? elsewhere[name] : names.find((one) => plain(one) === plain(name))
  if (meant !== undefined) return `${quoted}: it is called "${meant}"`
  if (names.length === 0) return quoted
  return quoted + perhaps(name, names)
}

/** The name that was probably meant, if any, and all: `, perhaps "x"; the options are x, y`. */
export function perhaps(name: string, names: readonly string[], are = 'the options are'): string {
  const near = names.find((one) => isMeant(one, name) || bare(one) === bare(name))
  return `${near === undefined ? '' : `, perhaps "${near}"`}; ${are} ${names.join(', ')}`
}

/** Whether a name was probably meant by another, which differs in case, `_` and `-`, or in a letter. */
export function isMeant(one: string, other: string): boolean {
  return plain(one) === plain(other) || isNear(one.toLowerCase(), other.toLowerCase())
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '')
}

/** The name without a unit (`windowMs`), the `Size` that stands for one, and the `on` of an event (`onMessage`). */
function bare(name: string): string {
  return plain(name.replace(/^on(?=[A-Z])/, '').replace(/(?:Ms|Millis|Secs|Seconds|Bytes|Size)$/, ''))
}

/** Whether the names differ by one letter that was added, left out or replaced, or by two that were swapped. */
function isNear(one: string, other: string): boolean {
  if (Math.min(one.length, other.length) < 3 || Math.abs(one.length - other.length) > 1) return false
  let start = 0
  while (start < one.length && one[start] === other[start]) start++
  const [a, b] = [one.slice(start), other.slice(start)]
  return a.slice(1) === b.slice(1) || a.slice(1) === b || a === b.slice(1) || (a.slice(2) === b.slice(2) && a[0] === b[1] && a[1] === b[0])
}
