// The levels at which declarations and policies apply: the server, then groups, then controller classes, then routes. Each level adds to what it
// inherits. The policies of a route are composed into one flat chain when it is mapped, and again when a level gets another one later.

import { WeirError } from '../../base/errors.ts'
import { exchangeOf } from '../../http/exchange.ts'
import { applyContentTag } from '../../http/response/precondition.ts'
import { outgoingOf } from '../../http/response/response.ts'
import type { RouteInfo, RouteMatch, RouteMetadata } from '../../http/route-info.ts'
import type { BeforeSend, Middleware, Pipeline } from '../policies/middleware.ts'
import {
  type Check,
  type CheckedPolicy,
  type CheckedRoute,
  type Gate,
  hasHooks,
  isNameTaken,
  onlyChecks,
  type UsedPolicy,
} from '../policies/policy.ts'
import type { GroupOptions, Parameter } from './declaration.ts'
import type { Answers } from './route-answers.ts'
import { type CheckedOptions, GROUP_RULES, type SplitDeclaration } from './split-declaration.ts'

export type Level = 'server' | 'group' | 'class' | 'route'

/** The value of an option, and the level that has set it. */
export interface Setting<T> {
  readonly value: T
  readonly level: Level
}

/** A policy, and the level at which it is used. */
export interface PlacedPolicy {
  readonly policy: CheckedPolicy
  readonly level: Level
  /** How many levels are around it. */
  readonly depth: number
  /** The levels of the policies whose place it has taken, the outermost first. */
  readonly replaces: readonly Level[]
}

/** What `beforeSend` has added, and at which level. */
interface PlacedHook {
  readonly hook: BeforeSend
  readonly level: Level
}

/**
 * What runs for the requests of a route, or for requests without a route that belong to a level. From the outermost policy to the
 * innermost.
 */
export interface Chain {
  /** Without policies that only check the start: they play no part in a request. */
  readonly policies: readonly PlacedPolicy[]
  readonly checks: readonly Check[]
  readonly gates: readonly Gate[]
  /** All middleware, around the route. */
  readonly pipeline: Pipeline
  /** The hook of `etag` first, then the hooks of policies, then the hooks that `beforeSend` has added. */
  readonly hooks: readonly BeforeSend[]
}

/** Makes one function of a list of middleware and what runs inside it. */
export type Composer = (middlewares: readonly Middleware[]) => Pipeline

/** Returns path and query of a request without the values that routes declare secret. */
type ShowUrl = (head: ShownHead, route: RouteInfo | null) => string

/** The parts of a head that may contain values of parameters. */
export interface ShownHead {
  /** As in the request line. */
  readonly target: string
  /** Path and query as sent. */
  readonly url: string
  readonly rawPath: string
  /** Decoded. */
  readonly path: string
  readonly queryString: string
}

/** The match of a request without a route. Its chain belongs to a level. */
export interface NoRoute extends RouteMatch {
  readonly route: null
  readonly scope: Scope
}

/** Options that levels add to each other. Of the others, the innermost value applies. */
const ADDED = ['use', 'answers', 'metadata', 'tags'] as const
type SettingName = Exclude<keyof GroupOptions, (typeof ADDED)[number]>
const SETTINGS = GROUP_RULES.names.filter((name) => !ADDED.includes(name as 'use')) as SettingName[]
type Settings = { readonly [K in SettingName]?: Setting<NonNullable<CheckedOptions[K]> | null> }

const NOTHING: SplitDeclaration = { bindings: Object.create(null), options: {}, policies: [] }
const NO_METADATA: RouteMetadata = Object.freeze({})
const NO_ANSWERS: Answers = Object.freeze({})
const NO_VALUES: readonly string[] = Object.freeze([])
const NO_LEVELS: readonly Level[] = Object.freeze([])

export class Scope {
  readonly level: Level
  /** Null for the server. */
  readonly parent: Scope | null
  /** For groups and the server: the path before the paths of their routes. Empty for the server. */
  readonly prefix: string
  /** Includes inherited ones, as does everything below. Without a prototype. */
  readonly bindings: Readonly<Record<string, Parameter>>
  readonly settings: Settings
  readonly metadata: RouteMetadata
  readonly answers: Answers
  readonly tags: readonly string[]
  /** The match of a request that has no route, and to which the policies of this level apply. */
  readonly noRoute: NoRoute
  /** How many levels are around it. */
  readonly depth: number
  readonly #policies: CheckedPolicy[]
  readonly #hooks: BeforeSend[] = []
  readonly #shared: { revision: number; compose: Composer; show: ShowUrl }
  #chain: Chain | null = null
  #revision = -1

  constructor(parent: Scope | null, level: Level, prefix: string, declared: SplitDeclaration = NOTHING) {
    const { bindings, options, policies } = declared
    const { metadata = NO_METADATA, answers = NO_ANSWERS, tags = [] } = options
    this.parent = parent
    this.level = level
    this.depth = parent === null ? 0 : parent.depth + 1
    this.prefix = prefix
    this.bindings = Object.freeze(Object.assign(Object.create(null), parent?.bindings, bindings) as Record<string, Parameter>)
    this.settings = settingsOf(parent, level, options)
    this.metadata = metadata === NO_METADATA ? (parent?.metadata ?? NO_METADATA) : Object.freeze({ ...parent?.metadata, ...metadata })
    this.answers = answers === NO_ANSWERS ? (parent?.answers ?? NO_ANSWERS) : Object.freeze({ ...parent?.answers, ...answers })
    this.tags = Object.freeze([...new Set([...(parent?.tags ?? []), ...tags])])
    this.noRoute = Object.freeze({ route: null, values: NO_VALUES, scope: this })
    this.#policies = [...policies]
    this.#shared = parent === null ? { revision: 0, compose: refuseToCompose, show: ({ url }) => url } : parent.#shared
  }

  /** Sets how URLs are shown, for all levels. */
  showWith(show: ShowUrl): void {
    this.#shared.show = show
  }

  get showUrl(): ShowUrl {
    return this.#shared.show
  }

  /** Sets how the chains of this level, and of all levels within it, are made. */
  composeWith(compose: Composer): void {
    this.#shared.compose = compose
    this.#shared.revision++
  }

  /** @returns false if this level already has a policy with that name */
  use(policy: CheckedPolicy): boolean {
    if (isNameTaken(policy, this.#policies)) return false
    this.#policies.push(policy)
    this.#shared.revision++
    return true
  }

  /** Like `use`, but around everything at this level: for policies that must run before anything can answer, even a preflight. */
  useOutermost(policy: CheckedPolicy): void {
    this.#policies.unshift({ ...policy, runsFirst: true })
    this.#shared.revision++
  }

  beforeSend(hook: BeforeSend): void {
    this.#hooks.push(hook)
    this.#shared.revision++
  }

  /** Created once, and again after `use` or `beforeSend` at any level. A level that adds nothing shares the chain of its parent. */
  get chain(): Chain {
    if (this.#chain === null || this.#revision !== this.#shared.revision) {
      this.#chain = this.#makeChain()
      this.#revision = this.#shared.revision
    }
    return this.#chain
  }

  #makeChain(): Chain {
    const { parent } = this
    if (parent !== null && this.#policies.length === 0 && this.#hooks.length === 0 && this.#hasTags === parent.#hasTags) return parent.chain
    const placed = this.#placed()
    const policies = placed.filter(({ policy }) => !onlyChecks(policy))
    return {
      policies,
      checks: placed.map(({ policy }) => policy.check).filter((check) => check !== null),
      gates: gatesOf(policies),
      pipeline: this.#shared.compose(policies.map(({ policy }) => policy.middleware).filter((middleware) => middleware !== null)),
      hooks: [
        ...(this.#hasTags ? [sendTag] : []),
        ...policies.map(({ policy }) => policy.beforeSend).filter((hook) => hook !== null),
        ...this.addedHooks.map(({ hook }) => hook),
      ],
    }
  }

  get #hasTags(): boolean {
    return this.settings.etag?.value === true
  }

  #placed(): PlacedPolicy[] {
    const placed = this.parent === null ? [] : this.parent.#placed()
    for (const policy of this.#policies) {
      const at = policy.name === null ? -1 : placed.findIndex((other) => other.policy.name === policy.name)
      const outer = placed[at]
      // It takes the place of the outer one, so that an order such as authentication before rate limit is kept.
      if (outer === undefined) placed.push({ policy, level: this.level, depth: this.depth, replaces: NO_LEVELS })
      else placed[at] = { policy, level: this.level, depth: this.depth, replaces: [...outer.replaces, outer.level] }
    }
    return placed
  }

  /** What `beforeSend` has added at this level and those around it, in the order in which it runs. */
  get addedHooks(): PlacedHook[] {
    const own = this.#hooks.map((hook) => ({ hook, level: this.level }))
    return this.parent === null ? own : [...this.parent.addedHooks, ...own]
  }

  /** This level and those around it, the outermost first. */
  get lineage(): Scope[] {
    return this.parent === null ? [this] : [...this.parent.lineage, this]
  }
}

/** The policies of a chain, in the form in which `check` of a policy sees them. */
export function usedPolicies(chain: Chain): UsedPolicy[] {
  return chain.policies.map(({ policy, depth, replaces }) => ({
    name: policy.label,
    depth,
    replaces,
    description: policy.describe?.() ?? null,
  }))
}

/**
 * @param where names what the chain belongs to
 * @throws WEIR_ROUTE_DECLARATION for a policy that removes an outer one that does not exist; what `check` of a policy throws
 */
export function checkChain(chain: Chain, where: string, route: CheckedRoute | null): void {
  for (const { policy, replaces } of chain.policies)
    if (replaces.length === 0 && !hasHooks(policy)) throw removesNothing(policy, chain, where)
  if (chain.checks.length === 0) return
  const used = usedPolicies(chain)
  for (const check of chain.checks) check(used, where, route)
}

function removesNothing({ label }: CheckedPolicy, { policies }: Chain, where: string): WeirError {
  const names = policies.map(({ policy }) => policy).filter((policy) => policy.name !== null && hasHooks(policy))
  const known =
    names.length === 0
      ? 'no policy around it has a name'
      : `those with a name are ${names.map(({ label }) => JSON.stringify(label)).join(', ')}`
  const hint = label.startsWith('auth') ? '; what opens a route is auth.open' : ''
  return new WeirError(
    'WEIR_ROUTE_DECLARATION',
    `${where}: the policy { name: ${JSON.stringify(label)} } would remove an outer one with this name, and there is none: ${known}${hint}`,
  )
}

/** The innermost level that contains all of them. @param scopes at least one */
export function commonScope(scopes: readonly Scope[]): Scope {
  const [first, ...others] = scopes.map(({ lineage }) => lineage)
  let depth = first!.length
  for (const other of others) {
    let shared = 0
    while (shared < depth && other[shared] === first![shared]) shared++
    depth = shared
  }
  return first![depth - 1]!
}

function gatesOf(policies: readonly PlacedPolicy[]): Gate[] {
  return gatedPolicies(policies).map(({ gate }) => gate!)
}

/** The policies that have a gate, in the order in which these run. */
export function gatedPolicies(policies: readonly PlacedPolicy[]): CheckedPolicy[] {
  const gated = policies.map(({ policy }) => policy).filter(({ gate }) => gate !== null)
  return [...gated.filter(({ runsFirst }) => runsFirst), ...gated.filter(({ runsFirst }) => !runsFirst)]
}

function settingsOf(parent: Scope | null, level: Level, options: CheckedOptions): Settings {
  const settings: Record<string, Setting<unknown>> = { ...parent?.settings }
  for (const name of SETTINGS) if (options[name] !== undefined) settings[name] = { value: options[name], level }
  return Object.freeze(settings) as Settings
}

/** The hook of `etag: true`. It runs before the hooks of modules, so that the tag is computed from the content without a coding. */
const sendTag: BeforeSend = (session, response) => applyContentTag(exchangeOf(session).head, outgoingOf(response))

const refuseToCompose: Composer = () => () => {
  throw new TypeError('a chain was used before composeWith')
}
