// The text of a Content-Security-Policy (CSP Level 3). It is made once; only nonces differ from response to response.

import { shown } from '../../base/kind-of.ts'
import { list } from '../../base/option-kinds.ts'
import { invalid } from '../../base/options.ts'

const VALUES = list()
/** Directives with a list of values. */
const LISTS = [
  'default-src',
  'base-uri',
  'child-src',
  'connect-src',
  'fenced-frame-src',
  'font-src',
  'form-action',
  'frame-ancestors',
  'frame-src',
  'img-src',
  'manifest-src',
  'media-src',
  'object-src',
  'report-to',
  'report-uri',
  'require-trusted-types-for',
  'script-src',
  'script-src-attr',
  'script-src-elem',
  'style-src',
  'style-src-attr',
  'style-src-elem',
  'trusted-types',
  'worker-src',
] as const
/** Directives that may have no value. */
const FLAGS = ['upgrade-insecure-requests', 'sandbox'] as const

/** A directive with a list of values, such as `script-src`. */
type CspDirective = (typeof LISTS)[number]

/**
 * Directives by name. A list replaces the preset's list, and `false` leaves the directive out. Keywords are in single quotes, as in the field:
 * `{ 'script-src': ["'self'", 'https://cdn.example.com'] }`. `upgrade-insecure-requests` is true or false. `sandbox` may also be a list.
 */
export type ContentSecurityPolicy = {
  readonly [D in CspDirective]?: readonly string[] | false
} & {
  readonly 'upgrade-insecure-requests'?: boolean
  readonly sandbox?: readonly string[] | boolean
}

type Sources = readonly string[] | boolean

const OPTION = 'contentSecurityPolicy'
/** The directives that allow scripts and styles by nonce, and the directives that apply in their absence. */
const NONCED = ['script-src', 'style-src', 'script-src-elem', 'style-src-elem'] as const
/** A value: visible ASCII without the separators of directives and of fields (CSP Level 3 §2.2.1). */
const VALUE = /^[!-+\--:<-~]+$/
const KEYWORD =
  /^(?:self|none|unsafe-inline|unsafe-eval|unsafe-hashes|strict-dynamic|report-sample|wasm-unsafe-eval|inline-speculation-rules|script|sha(?:256|384|512)-.*)$/i
const NONCE = /^'?nonce-/i

export class CspText {
  /** The text for responses without a nonce. */
  readonly plain: string
  /** The text around each place of a nonce. */
  readonly #pieces: readonly string[]

  /** @throws WEIR_OPTION_INVALID */
  constructor(owner: string, preset: ContentSecurityPolicy, changes: ContentSecurityPolicy) {
    const directives = mergedDirectives(owner, preset, changes)
    this.plain = textOf(directives, null)
    this.#pieces = textOf(directives, NONCE_PLACE).split(NONCE_PLACE)
  }

  withNonce(nonce: string): string {
    return this.#pieces.join(`'nonce-${nonce}'`)
  }
}

/** Cannot be part of a value. */
const NONCE_PLACE = '\n'

function mergedDirectives(owner: string, preset: ContentSecurityPolicy, changes: ContentSecurityPolicy): Map<string, Sources> {
  const merged = new Map<string, Sources>(Object.entries(preset))
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) continue
    checkDirective(owner, name, value)
    if (value === false) merged.delete(name)
    else merged.set(name, value)
  }
  if (merged.size === 0) throw invalid(owner, `${OPTION} has no directive left: write false to send none`)
  return merged
}

function checkDirective(owner: string, name: string, value: Sources): void {
  const isFlag = (FLAGS as readonly string[]).includes(name)
  if (!isFlag && !(LISTS as readonly string[]).includes(name)) throw invalid(owner, `${OPTION} has no directive ${unknownName(name)}`)
  if (value === false || (isFlag && value === true)) return
  if (name === 'upgrade-insecure-requests') throw invalid(owner, `${name} of ${OPTION} is ${shown(value)}, not true or false`)
  const values = value as readonly unknown[]
  VALUES.read(values, { owner, option: `${name} of ${OPTION}` })
  if (values.length === 0)
    throw invalid(owner, `${name} of ${OPTION} is empty: write ["'none'"] to allow nothing, or false to leave it out`)
  for (const one of values) checkValue(owner, name, one)
  if (values.length > 1 && values.some((one) => /^'none'$/i.test(one as string)))
    throw invalid(owner, `${name} of ${OPTION} has 'none' together with other values, and browsers would ignore it`)
}

function checkValue(owner: string, name: string, value: unknown): void {
  const where = `${name} of ${OPTION}`
  if (typeof value !== 'string' || !VALUE.test(value))
    throw invalid(owner, `${where}: ${shown(value)} is not one value without spaces, commas and semicolons`)
  if (NONCE.test(value))
    throw invalid(owner, `${where}: ${shown(value)} would be the same for all responses: call nonceOf(session) instead`)
  if (KEYWORD.test(value))
    throw invalid(owner, `${where}: ${shown(value)} would be the name of a host: write it in single quotes, "'${value}'"`)
}

function unknownName(name: string): string {
  const kebab = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const isMeant = kebab !== name && [...LISTS, ...FLAGS].some((one) => one === kebab)
  return `${JSON.stringify(name)}${isMeant ? `: it is called "${kebab}"` : ''}`
}

/** @param place what stands for a nonce; null without one */
function textOf(directives: ReadonlyMap<string, Sources>, place: string | null): string {
  const all = place === null ? directives : withPlaces(directives, place)
  return [...all].map(([name, sources]) => (typeof sources === 'boolean' ? name : `${name} ${sources.join(' ')}`)).join(';')
}

/**
 * Adds the place of a nonce to the sources of scripts and styles. A missing `script-src` or `style-src` gets the sources of `default-src`, which
 * apply in its absence. Where neither exists, all sources are allowed, and a nonce would forbid them.
 */
function withPlaces(directives: ReadonlyMap<string, Sources>, place: string): Map<string, Sources> {
  const all = new Map(directives)
  for (const name of NONCED) {
    const sources = directives.get(name) ?? (name.endsWith('-elem') ? undefined : directives.get('default-src'))
    if (Array.isArray(sources)) all.set(name, [...sources.filter((source) => !/^'none'$/i.test(source)), place])
  }
  return all
}
