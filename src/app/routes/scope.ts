// Where declarations and policies are in force: the server, in it groups, in those classes of controllers, and in all of them routes. Each
// level adds to what it inherits. The policies of a route are composed into one flat chain when it is mapped, and again when a level gets
// another one later.

import type { RouteMatch, RouteMetadata } from '../../http/route-info.ts'
import type { BeforeSend, Middleware, Pipeline } from '../policies/middleware.ts'
import { type CheckedPolicy, type Gate, isNameTaken } from '../policies/policy.ts'
import type { GroupOptions, Parameter } from './declaration.ts'
import type { SplitDeclaration } from './split-declaration.ts'

export type Level = 'server' | 'group' | 'class' | 'route'

/** A value, and which level has set it. */
export interface Setting<T> {
  readonly value: T
  readonly level: Level
}

/** A policy, and at which level it is used. */
export interface PlacedPolicy {
  readonly policy: CheckedPolicy
  readonly level: Level
  /** The levels of the policies whose place it has taken, the outermost first. */
  readonly replaces: readonly Level[]
}

/** What `beforeSend` has added, and at which level. */
export interface PlacedHook {
  readonly hook: BeforeSend
  readonly level: Level
}

/** What runs for the requests of a route, or of a level that has no route for them. From the outermost policy to the innermost. */
export interface Chain {
  readonly policies: readonly PlacedPolicy[]
  readonly gates: readonly Gate[]
  /** All middleware, and the route within. */
  readonly pipeline: Pipeline
  /** Those of policies first, then those that were added by `beforeSend`. */
  readonly hooks: readonly BeforeSend[]
}

/** Makes one function of a list of middleware and what runs within. */
export type Composer = (middlewares: readonly Middleware[]) => Pipeline

/** The match of a request that has no route. Its chain is that of a level. */
export interface NoRoute extends RouteMatch {
  readonly route: null
  readonly scope: Scope
}

/** Options of which the innermost value counts. */
const SETTINGS = ['host', 'endpoint', 'maxRequestBodySize', 'requestTimeout', 'writeTimeout'] as const
type Settings = { readonly [K in (typeof SETTINGS)[number]]?: Setting<NonNullable<GroupOptions[K]> | null> }

const NOTHING: SplitDeclaration = { bindings: Object.create(null), options: {}, policies: [] }
const NO_METADATA: RouteMetadata = Object.freeze({})
const NO_VALUES: readonly string[] = Object.freeze([])
const NO_LEVELS: readonly Level[] = Object.freeze([])

export class Scope {
  readonly level: Level
  /** Null for the server. */
  readonly parent: Scope | null
  /** Of groups and the server: the path before those of their routes. Empty for the server. */
  readonly prefix: string
  /** Inherited ones included, as is everything below. Without a prototype. */
  readonly bindings: Readonly<Record<string, Parameter>>
  readonly settings: Settings
  readonly metadata: RouteMetadata
  readonly tags: readonly string[]
  /** What a request is matched with that has no route, and to which this level's policies apply. */
  readonly noRoute: NoRoute
  readonly #policies: CheckedPolicy[]
  readonly #hooks: BeforeSend[] = []
  readonly #shared: { revision: number; compose: Composer }
  #chain: Chain | null = null
  #revision = -1

  constructor(parent: Scope | null, level: Level, prefix: string, declared: SplitDeclaration = NOTHING) {
    const { bindings, options, policies } = declared
    const { metadata = NO_METADATA, tags = [] } = options
    this.parent = parent
    this.level = level
    this.prefix = prefix
    this.bindings = Object.freeze(Object.assign(Object.create(null), parent?.bindings, bindings) as Record<string, Parameter>)
    this.settings = settingsOf(parent, level, options)
    this.metadata = metadata === NO_METADATA ? (parent?.metadata ?? NO_METADATA) : Object.freeze({ ...parent?.metadata, ...metadata })
    this.tags = Object.freeze([...new Set([...(parent?.tags ?? []), ...tags])])
    this.noRoute = Object.freeze({ route: null, values: NO_VALUES, scope: this })
    this.#policies = [...policies]
    this.#shared = parent === null ? { revision: 0, compose: refuseToCompose } : parent.#shared
  }

  /** How chains are made, of this level and all within. */
  composeWith(compose: Composer): void {
    this.#shared.compose = compose
    this.#shared.revision++
  }

  /** @returns false when this level has a policy of that name already */
  use(policy: CheckedPolicy): boolean {
    if (isNameTaken(policy, this.#policies)) return false
    this.#policies.push(policy)
    this.#shared.revision++
    return true
  }

  beforeSend(hook: BeforeSend): void {
    this.#hooks.push(hook)
    this.#shared.revision++
  }

  /** Made once, and again after `use` or `beforeSend` of any level. A level that adds nothing shares the chain of its parent. */
  get chain(): Chain {
    if (this.#chain === null || this.#revision !== this.#shared.revision) {
      this.#chain = this.#makeChain()
      this.#revision = this.#shared.revision
    }
    return this.#chain
  }

  #makeChain(): Chain {
    if (this.parent !== null && this.#policies.length === 0 && this.#hooks.length === 0) return this.parent.chain
    const policies = this.#placed()
    return {
      policies,
      gates: policies.map(({ policy }) => policy.gate).filter((gate) => gate !== null),
      pipeline: this.#shared.compose(policies.map(({ policy }) => policy.middleware).filter((middleware) => middleware !== null)),
      hooks: [
        ...policies.map(({ policy }) => policy.beforeSend).filter((hook) => hook !== null),
        ...this.addedHooks.map(({ hook }) => hook),
      ],
    }
  }

  #placed(): PlacedPolicy[] {
    const placed = this.parent === null ? [] : this.parent.#placed()
    for (const policy of this.#policies) {
      const at = policy.name === null ? -1 : placed.findIndex((other) => other.policy.name === policy.name)
      const outer = placed[at]
      // In the place of the outer one: an order such as authentication before rate limit is kept.
      if (outer === undefined) placed.push({ policy, level: this.level, replaces: NO_LEVELS })
      else placed[at] = { policy, level: this.level, replaces: [...outer.replaces, outer.level] }
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

/** The innermost level that is around all of them. @param scopes at least one */
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

function settingsOf(parent: Scope | null, level: Level, options: GroupOptions): Settings {
  const settings: Record<string, Setting<unknown>> = { ...parent?.settings }
  for (const name of SETTINGS) if (options[name] !== undefined) settings[name] = { value: options[name], level }
  return Object.freeze(settings) as Settings
}

const refuseToCompose: Composer = () => () => {
  throw new TypeError('a chain runs before somebody has said how')
}
