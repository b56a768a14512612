// Declares each option once: its rule in a table is its check, its message, its default and the type of its setting, and
// `test/guide-options.test.ts` compares the guide with it. `option-kinds.ts` has the rules to choose from.

import { kindOf, shown } from './kind-of.ts'
import { invalid, isExchange, UNCALLED, unknownName } from './options.ts'

/** Which option a value belongs to, for messages. */
export interface Place {
  /** Whose option it is, such as `cors` or `saveTo()`. */
  readonly owner: string
  readonly option: string
}

declare const SAME: unique symbol
/** The setting is the option itself, with the type that the interface declares. */
export interface Same {
  readonly [SAME]: true
}

/** What happens if an option is not given. `words` is the default as the guide states it. */
interface Absent {
  readonly kind: 'required' | 'none' | 'default'
  readonly value?: unknown
  readonly words: string
}

const REQUIRED: Absent = { kind: 'required', words: 'required' }

type Read = (value: unknown, place: Place, expected: string) => unknown

/** What one option accepts, and the setting that it becomes. `In` is the type of accepted values, `Out` the type of the setting. */
export class Rule<In, Out> {
  /** For the compiler alone: a rule must accept all that the interface declares. */
  declare readonly accepts: (value: In) => void
  /** Such as `duration`. */
  readonly kind: string
  /** What is expected, as it follows "not" in a message, such as `true or false`. */
  readonly expected: string
  readonly absent: Absent
  readonly #read: Read

  constructor(kind: string, expected: string, read: Read, absent = REQUIRED) {
    this.kind = kind
    this.expected = expected
    this.absent = absent
    this.#read = read
  }

  /** The setting for a value that is given. @throws WEIR_OPTION_INVALID */
  read(value: unknown, place: Place): Out {
    return this.#read(value, place, this.expected) as Out
  }

  /** The setting of an option that is not given. @throws WEIR_OPTION_INVALID if it is required */
  missing(place: Place): Out {
    const { kind, value } = this.absent
    // A default that a function or other rules create is created each time, so that it is never shared.
    const isMade = kind === 'required' || (kind === 'default' && (this.kind === 'own' || this.kind === 'nested'))
    return (isMade ? this.#read(value, place, this.expected) : value) as Out
  }

  /** The option may be missing: the setting is undefined then. @param words what this means, for the guide */
  optional(words = 'none'): Rule<In, Out | undefined> {
    return new Rule(this.kind, this.expected, this.#read, { kind: 'none', words })
  }

  /** The option may be missing: the setting is null then. @param words what this means, for the guide */
  orNull(words = 'none'): Rule<In, Out | null> {
    return new Rule(this.kind, this.expected, this.#read, { kind: 'none', value: null, words })
  }

  /** The option may be missing: it counts as this value. @param words the value, for the guide; not needed for numbers, times and texts */
  or(value: In, words = inWords(value)): Rule<In, Out> {
    const setting = this.read(value, { owner: 'a default', option: this.kind })
    const isMade = this.kind === 'own' || this.kind === 'nested'
    return new Rule(this.kind, this.expected, this.#read, { kind: 'default', value: isMade ? value : setting, words })
  }

  /** A list must have an element. @param why what is wrong with an empty one, for the message */
  filled(why = ''): Rule<In, Out> {
    const read = this.#read
    const filled: Read = (value, place, expected) => {
      const setting = read(value, place, expected)
      if (Array.isArray(value) && value.length === 0) throw invalid(place.owner, `${place.option} is empty: ${why || 'name at least one'}`)
      return setting
    }
    return new Rule(this.kind, this.expected, filled, this.absent)
  }

  /** Null is accepted too, and becomes the setting. */
  nullable(): Rule<In | null, Out | null> {
    return this.#with(null, ', or null')
  }

  /** One more value is accepted, and becomes the setting unchanged. */
  also<const V extends string | number | boolean>(value: V): Rule<In | V, Out | V> {
    return this.#with(value, ` or ${inWords(value)}`)
  }

  #with<V>(value: V, words: string): Rule<In | V, Out | V> {
    const read = this.#read
    return new Rule(this.kind, this.expected + words, (given, place, expected) => (given === value ? value : read(given, place, expected)))
  }
}

/** A default as the guide states it. */
function inWords(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ')
  if (typeof value === 'string') return `'${value}'`
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? grouped(String(value)) : String(value)
}

/** Not `toLocaleString`: its first call in a process takes tens of milliseconds, and every start would pay for it. */
function grouped(digits: string): string {
  return digits.length <= 3 ? digits : `${grouped(digits.slice(0, -3))},${digits.slice(-3)}`
}

/** Another name of an option, which stays for one version. */
export class Alias {
  declare readonly accepts: (value: never) => void
  readonly of: string

  constructor(of: string) {
    this.of = of
  }
}

/** A rule for each option of `O`; none may be missing. */
export type RulesOf<O> = { readonly [K in keyof O]-?: Rule<Exclude<O[K], undefined>, unknown> | Alias }

/** The options of `O`, checked by the rules `R`: every option is there. */
export type SettingsOf<O, R> = {
  readonly [K in keyof O & keyof R as R[K] extends Alias ? never : K]: R[K] extends Rule<never, infer Out> ? SettingOf<O[K], Out> : never
}

type SettingOf<Declared, Out> = [Same] extends [Out] ? Exclude<Declared, undefined> | Exclude<Out, Same> : Out

type NoOthers<O, R> = { readonly [K in Exclude<keyof R, keyof O>]: never }

/** How options of `O` depend on each other. */
interface Relations<O> {
  /** An option, and the option without which it would have no effect. */
  readonly needs?: { readonly [K in keyof O]?: keyof O & string }
  /** Pairs of options of which only one may be given. */
  readonly excludes?: readonly (readonly [keyof O & string, keyof O & string])[]
  /** What other frameworks call an option, and what it is called here. */
  readonly elsewhere?: Readonly<Record<string, keyof O & string>>
}

/** The rules of one interface of options. */
export class OptionRules<O, R> {
  /** For the compiler alone: `typeof CORS_RULES.settings` is the type of the checked options. */
  declare readonly settings: SettingsOf<O, R>
  declare readonly options: O
  readonly owner: string
  readonly table: R
  readonly #rules: readonly (readonly [name: string, rule: Rule<unknown, unknown>])[]
  /** The other name of an option. */
  readonly #aliases: ReadonlyMap<string, string>
  readonly #relations: Relations<Record<string, unknown>>
  readonly names: readonly string[]

  constructor(owner: string, table: R, relations: Relations<O> = {}) {
    this.owner = owner
    this.table = table
    this.#relations = relations as Relations<Record<string, unknown>>
    const entries = Object.entries(table as Record<string, unknown>)
    this.#rules = entries.filter((entry): entry is [string, Rule<unknown, unknown>] => entry[1] instanceof Rule)
    this.#aliases = new Map(entries.flatMap(([name, rule]) => (rule instanceof Alias ? [[rule.of, name]] : [])))
    this.names = this.#rules.map(([name]) => name)
  }

  /**
   * @param owner whose options these are, if several functions have them @param within the option whose value they are, such as `peer`
   * @returns a setting for each option
   * @throws WEIR_OPTION_INVALID for an unknown option, a value that its rule refuses, and a required option that is missing
   */
  read(options: O, owner: string = this.owner, within = ''): SettingsOf<O, R> {
    const given = this.checkNames(options, within === '' ? owner : `${owner}: ${within}`)
    this.#checkRelations(given, owner)
    const settings: Record<string, unknown> = {}
    for (const [name, rule] of this.#rules) {
      let called = name
      let value = given[name]
      if (value === undefined && this.#aliases.size > 0) {
        called = this.#aliases.get(name) ?? name
        value = given[called]
        if (value === undefined) called = name
      }
      const place = { owner, option: within === '' ? called : `${within}.${called}` }
      settings[name] = value === undefined ? rule.missing(place) : rule.read(value, place)
    }
    return settings as SettingsOf<O, R>
  }

  #checkRelations(given: Readonly<Record<string, unknown>>, owner: string): void {
    const { needs = {}, excludes = [] } = this.#relations
    const isGiven = (name: string): boolean => given[name] !== undefined || given[this.#aliases.get(name) ?? name] !== undefined
    for (const [name, other] of Object.entries(needs)) if (isGiven(name) && !isGiven(other!)) throw invalid(owner, `${name} needs ${other}`)
    for (const [name, other] of excludes)
      if (isGiven(name) && isGiven(other)) throw invalid(owner, `${name} and ${other} exclude each other: give one of them`)
  }

  /** Only checks the given options: for calls that are made for each request and need no settings. @throws WEIR_OPTION_INVALID */
  check(options: O, owner: string = this.owner, within = ''): void {
    const given = this.checkNames(options, within === '' ? owner : `${owner}: ${within}`)
    const table = this.table as Readonly<Record<string, Rule<never, unknown> | Alias>>
    for (const option in given) {
      const named = table[option]!
      const rule = named instanceof Alias ? table[named.of] : named
      if (given[option] !== undefined && rule instanceof Rule)
        rule.read(given[option], { owner, option: within === '' ? option : `${within}.${option}` })
    }
  }

  /** Those options that are required; otherwise the first one. */
  get #example(): string {
    const isRequired = (name: string): boolean => {
      const rule = (this.table as Readonly<Record<string, unknown>>)[name]
      return rule instanceof Rule && rule.absent.kind === 'required'
    }
    const required = this.names.filter(isRequired)
    return `{ ${(required.length > 0 ? required : this.names.slice(0, 1)).join(', ')}: … }`
  }

  /** Only checks the names, for options whose values are checked elsewhere. @throws WEIR_OPTION_INVALID */
  checkNames(options: unknown, owner: string = this.owner): Readonly<Record<string, unknown>> {
    if (typeof options !== 'object' || options === null)
      throw invalid(owner, `options must be an object, not ${kindOf(options)}: write ${this.#example}`)
    const given = options as Readonly<Record<string, unknown>>
    for (const name of Object.keys(given)) {
      if (this.names.includes(name)) continue
      const rule = (this.table as Readonly<Record<string, unknown>>)[name]
      if (!(rule instanceof Alias))
        throw invalid(
          owner,
          isExchange(given) ? UNCALLED : `there is no option ${unknownName(name, this.names, this.#relations.elsewhere)}`,
        )
      if (given[rule.of] !== undefined && given[name] !== undefined)
        throw invalid(owner, `${name} is another name of ${rule.of}: give one of them`)
    }
    return given
  }
}

/** The rules of any options. */
export interface AnyRules {
  readonly options: unknown
  readonly settings: unknown
  read(options: never, owner?: string, within?: string): unknown
}

/**
 * The rules of the options `O`: `rules<SseOptions>('sse')({ heartbeat: duration().or('15s'), … })`. A table with a missing or an additional
 * name does not compile, nor does a rule that refuses what the interface declares.
 */
export function rules<O extends object>(owner: string) {
  return <const R extends RulesOf<O>>(table: R & NoOthers<O, R>, relations?: Relations<O>): OptionRules<O, R> =>
    new OptionRules<O, R>(owner, table, relations)
}

/** The error for a value that a rule does not accept. It names the option, the value and what is expected. */
export function unexpected({ owner, option }: Place, value: unknown, expected: string): Error {
  return invalid(owner, `${option} is ${shown(value)}, not ${expected}`)
}
