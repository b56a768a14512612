// `weirjs/health`: whether the server lives, is ready for requests, and has started, for orchestrators and load balancers.

import type { Module, ModuleHost } from '../../app/module-host.ts'
import type { Policy, Usable, UsedPolicy } from '../../app/policies/policy.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { Duration } from '../../base/duration.ts'
import { WeirError } from '../../base/errors.ts'
import { shown } from '../../base/kind-of.ts'
import { alias, duration, flag, func, list, matching, nested, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'

import { exchange } from '../kit/exchange.ts'
import { Check, type CheckResult, type HealthCheck } from './check.ts'

/** A check with options of its own. */
interface HealthCheckOptions {
  readonly check: HealthCheck
  /**
   * For checks of `ready`: whether requests need what it checks. Default true. If false, and nothing else has failed, `/readyz` responds with
   * 200 and `degraded` when it fails.
   */
  readonly required?: boolean
  /** Default: the timeout of the module. */
  readonly timeout?: Duration
  /** @deprecated another name of `timeout` */
  readonly timeoutMs?: Duration
}

/** Checks by name. */
type HealthChecks = Readonly<Record<string, HealthCheck | HealthCheckOptions>>

export interface HealthOptions {
  /** Checks of what must work before requests are sent here, such as a database. `/readyz` runs them. */
  readonly ready?: HealthChecks
  /** Checks that must have succeeded once since the start. Until then, `/startupz` and `/readyz` fail. */
  readonly startup?: HealthChecks
  /**
   * Checks for failures that only a restart can fix. `/livez` runs them. Never check services of other programs: their failure would restart this
   * one.
   */
  readonly live?: HealthChecks
  /** Default `/livez`, `/readyz` and `/startupz`. Null: there is no such route. */
  readonly paths?: { readonly live?: string | null; readonly ready?: string | null; readonly startup?: string | null }
  /** How long a check may take. Default 1 s. */
  readonly timeout?: Duration
  /** The least time between two runs of a check, however many clients ask. Default 1 s. */
  readonly interval?: Duration
  /** @deprecated another name of `timeout` */
  readonly timeoutMs?: Duration
  /** Whether a client may see the names and results of checks. Default: none may. */
  readonly detail?: (session: HttpSession) => boolean
  /** The routes answer only at endpoints with this name in `listen`. Default: at every endpoint. */
  readonly endpoint?: string
  /** Policies of the routes, for example one that lets in clients that are not logged in. */
  readonly use?: readonly Usable[]
  /** The name of the module, for a server that installs several. Default `health`. */
  readonly name?: string
}

interface NamedCheck {
  readonly name: string
  readonly check: HealthCheck
  readonly required: boolean
  readonly timeout: number | undefined
}

/** What the routes answer with. */
type State = 'ok' | 'degraded' | 'failed' | 'starting' | 'stopping'

interface Verdict {
  readonly state: State
  readonly results: readonly CheckResult[]
}

const PATHS = { live: '/livez', ready: '/readyz', startup: '/startupz' } as const
const KINDS = ['live', 'ready', 'startup'] as const
type Kind = (typeof KINDS)[number]
const OWNER = 'health'
const CHECKS = matching<HealthChecks>(
  'an object with a check for each name',
  (given) => typeof given === 'object' && given !== null && !Array.isArray(given),
).or({}, 'none')
/** @internal */
export const HEALTH_PATH_RULES = rules<NonNullable<HealthOptions['paths']>>('health: paths')({
  live: text().nullable().or(PATHS.live),
  ready: text().nullable().or(PATHS.ready),
  startup: text().nullable().or(PATHS.startup),
})
/** @internal */
export const HEALTH_RULES = rules<HealthOptions>(OWNER)(
  {
    ready: CHECKS,
    startup: CHECKS,
    live: CHECKS,
    paths: nested(HEALTH_PATH_RULES).or({}, 'as above'),
    timeout: duration().or('1s'),
    interval: duration({ least: 0 }).or('1s'),
    detail: func({ decides: true }).optional('nobody'),
    endpoint: text().optional('every endpoint'),
    use: list<Usable>().optional(),
    name: text().or(OWNER),
    timeoutMs: alias('timeout'),
  },
  { elsewhere: { check: 'ready', checks: 'ready' } },
)
/** @internal */
export const HEALTH_CHECK_RULES = rules<HealthCheckOptions>(OWNER)({
  check: func(),
  required: flag(true),
  timeout: duration().optional(),
  timeoutMs: alias('timeout'),
})
/** Orchestrators ask for its routes, and no client of the API does. */
const NOT_DOCUMENTED: Policy = { name: `${OWNER} route`, describe: () => ({ isDocumented: false }), check: refuseInheritedAuth }
const NOTHING: readonly CheckResult[] = Object.freeze([])

/**
 * Returns a module that maps `/livez`, `/readyz` and `/startupz`. They answer with 200 or 503 and a word, and no cache keeps the response.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function health(options: HealthOptions = {}): Module {
  return healthOn(systemClock, options)
}

/** @internal The clock is for tests. */
/**
 * Behind an `auth` of the server, every orchestrator would get 401. Where that is meant, the routes have a requirement of their own.
 * @throws WEIR_AUTH_SETUP
 */
function refuseInheritedAuth(policies: readonly UsedPolicy[], where: string): void {
  const own = policies.findIndex(({ name }) => name === `${OWNER} route`)
  const isClosed = policies.slice(0, own).some(({ name, description }) => name === 'auth' && closes(description))
  if (!isClosed || policies.slice(own).some(({ name }) => name.startsWith('auth'))) return
  throw new WeirError(
    'WEIR_AUTH_SETUP',
    `${where} is behind auth, so that an orchestrator gets 401: write health({ use: [auth.open] }), or use: [auth.required()] if it has credentials`,
  )
}

/** Whether an `auth` refuses requests without a principal on routes that require nothing. */
function closes(description: unknown): boolean {
  return (description as { readonly anonymous?: unknown } | null)?.anonymous === 'refused'
}

export function healthOn(clock: Clock, options: HealthOptions): Module {
  const { paths, name, endpoint, use, detail, timeout, interval, ...given } = HEALTH_RULES.read(options)
  const checks = { live: checksOf('live', given.live), ready: checksOf('ready', given.ready), startup: checksOf('startup', given.startup) }
  return {
    name,
    install(host: ModuleHost): void {
      const onChange = ({ name, isOk, reason }: CheckResult): void => {
        if (isOk) host.logger?.warn?.(`weir: health check ${JSON.stringify(name)} is fine again`)
        else host.logger?.error(`weir: health check ${JSON.stringify(name)} failed`, reason)
      }
      const made = (kind: Kind): Check[] =>
        checks[kind].map(({ name, check, required, timeout: own }) => {
          return new Check({ name, check, isRequired: required, timeoutMs: own ?? timeout, intervalMs: interval, onChange }, clock)
        })
      const server = new ServerHealth(host, { live: made('live'), ready: made('ready'), startup: made('startup') })
      const declaration = {
        metadata: { priority: 'critical' }, // `shed` of weirjs/limits never refuses them
        ...(endpoint === undefined ? {} : { endpoint }),
        use: [NOT_DOCUMENTED, ...(use ?? [])],
      }
      for (const kind of KINDS) {
        const path = paths[kind]
        if (path === null) continue
        host.mapGet(path, declaration, async (_, session) => {
          const verdict = await exchange(session).inTurn(server.verdictOf(kind))
          return answer(session.response, verdict, detail?.(session) === true)
        })
      }
    },
  }
}

/** Runs the checks of one server. */
class ServerHealth {
  readonly #host: ModuleHost
  readonly #checks: Readonly<Record<Kind, readonly Check[]>>
  #hasStarted: boolean

  constructor(host: ModuleHost, checks: Readonly<Record<Kind, readonly Check[]>>) {
    this.#host = host
    this.#checks = checks
    this.#hasStarted = checks.startup.length === 0
  }

  async verdictOf(kind: Kind): Promise<Verdict> {
    if (kind === 'live') return this.#run('live', 'failed')
    if (!this.#hasStarted) {
      const startup = await this.#run('startup', 'starting')
      if (startup.state !== 'ok') return startup
      this.#hasStarted = true
      if (kind === 'startup') return startup
    }
    if (kind === 'startup') return { state: 'ok', results: NOTHING }
    if (this.#isStopping) return { state: 'stopping', results: NOTHING }
    const verdict = await this.#run('ready', 'failed')
    return this.#isStopping ? { state: 'stopping', results: verdict.results } : verdict
  }

  /** A server without endpoints is called by `fetch` or `inject`, and is ready. */
  get #isStopping(): boolean {
    const { isReady, endpoints, stopping } = this.#host
    return !isReady && (endpoints.length > 0 || stopping.aborted)
  }

  async #run(kind: Kind, bad: State): Promise<Verdict> {
    const checks = this.#checks[kind]
    if (checks.length === 0) return { state: 'ok', results: NOTHING }
    const results = await Promise.all(checks.map((check) => check.result()))
    const failed = results.filter(({ isOk }) => !isOk)
    return { state: failed.length === 0 ? 'ok' : failed.some(({ isRequired }) => isRequired) ? bad : 'degraded', results }
  }
}

function answer(response: HttpResponse, { state, results }: Verdict, isDetailed: boolean): HttpResponse {
  response.status(state === 'ok' || state === 'degraded' ? 200 : 503).header('Cache-Control', 'no-store')
  if (!isDetailed) return response.text(`${state}\n`)
  return response.json({
    state,
    checks: results.map(({ name, isOk, reason, durationMs }) => ({ name, state: isOk ? 'ok' : 'failed', reason, durationMs })),
  })
}

function checksOf(kind: Kind, checks: HealthChecks): NamedCheck[] {
  return Object.entries<unknown>(checks).map(([name, given]) => {
    const where = `${kind}.${name}`
    if (typeof given !== 'function' && (typeof given !== 'object' || given === null || !('check' in given)))
      throw invalid(OWNER, `${where} is ${shown(given)}, not a function or { check }: write () => …, which is called for each check`)
    const options = typeof given === 'function' ? { check: given as HealthCheck } : (given as HealthCheckOptions)
    const checked = HEALTH_CHECK_RULES.read(options, OWNER, where)
    if (!checked.required && kind !== 'ready') throw invalid(OWNER, `${where}.required is false: only a check of ready can be optional`)
    return { name, ...checked }
  })
}
