// `weirjs/idempotency`: a request that a client repeats, because it does not know whether the first one arrived, has its effect once
// (draft-ietf-httpapi-idempotency-key-header-07).

import { createHash, randomUUID } from 'node:crypto'
import type { Next } from '../../app/policies/middleware.ts'
import type { Policy, UsedPolicy } from '../../app/policies/policy.ts'
import { isToken } from '../../base/ascii.ts'
import type { Clock } from '../../base/clock.ts'
import type { Duration } from '../../base/duration.ts'
import { WeirError } from '../../base/errors.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { duration, flag, forTests, having, listener, oneOf, oneOfOr, size, text, tokens } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { Size } from '../../base/size.ts'
import { networkOf } from '../../formats/client-network.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'
import { principalKey, shortKey } from '../auth/principal-key.ts'
import { type ExchangeHandle, exchange } from '../kit/exchange.ts'
import { KeptResponse } from '../kit/kept-response.ts'
import { responseHandle } from '../kit/response.ts'

import { Forgetting } from './forgetting.ts'
import { fingerprintOf, readKey, SHORTEST_OPEN_KEY, storeKey } from './idempotency-key.ts'
import type { Begun, IdempotencyStore } from './idempotency-store.ts'
import { memoryIdempotency, NOT_KEPT } from './memory-idempotency.ts'
import type { Owner } from './shares.ts'

/**
 * What an idempotency store was asked to do when it failed:
 *
 * - `extend`: to note that this process is alive. The handler is running.
 * - `finish`: to keep the outcome. The handler has run, and repeated requests are refused with 409.
 * - `abandon`: to give up the reservation of a request that is refused. Its handler has failed, or has not run. It is tried again.
 */
type IdempotencyOperation = 'extend' | 'finish' | 'abandon'

export interface IdempotencyOptions {
  /** Name of the request field. Default `Idempotency-Key`. */
  readonly header?: string
  /** Whether a request without a key is refused with 400. Default false: such a request is served as without this policy. */
  readonly required?: boolean
  /** Which methods it applies to. Default POST and PATCH. */
  readonly methods?: readonly string[]
  /** How long a key and its response are kept. Default 24 hours. */
  readonly ttl?: Duration
  /** Where they are kept. Default `memoryIdempotency()`, for a single process. */
  readonly store?: IdempotencyStore
  /**
   * Who shares keys. Default `principal`: keys of one principal are unknown to all others, and requests without a principal need keys of at least
   * 16 characters. A function returns a text.
   */
  readonly scope?: 'principal' | ((session: HttpSession) => string)
  /** How long after the last sign of life a process counts as dead. Default 10 seconds, at least 1. It gives a sign three times as often. */
  readonly lease?: Duration
  /**
   * What happens with a request whose first attempt has not ended in a known way: its process has died, or its handler has stopped because the
   * client had left.
   *
   * - `refuse`: 409 with `WEIR_IDEMPOTENCY_UNKNOWN`. The default.
   * - `retry`: the handler runs again. Only for handlers that may run twice.
   */
  readonly whenUnknown?: 'refuse' | 'retry'
  /** Whether responses with a status from 500 on are kept as well. Default false: the client may repeat the request, and the handler runs again. */
  readonly keepServerErrors?: boolean
  /** Largest body of a response that is kept. Default 256 KiB. For a larger one, a repeated request gets 409. */
  readonly maxResponseSize?: Size
  /**
   * Called with errors of the store that the client does not see, and with the operation that failed. It is not called for `begin`: the client gets
   * that error, and its handler does not run. Default: they are ignored.
   */
  readonly onError?: (error: unknown, operation: IdempotencyOperation) => void
  /** For tests: the clock of a memory store and of the signs of life. Default: the server's clock. */
  readonly clock?: Clock
}

const OWNER = 'idempotency'
const STORE_FUNCTIONS = ['begin', 'extend', 'finish', 'abandon']
/** @internal */
export const IDEMPOTENCY_RULES = rules<IdempotencyOptions>(OWNER)({
  header: text('the name of a field', isToken).or('Idempotency-Key'),
  required: flag(false),
  methods: tokens().filled().or(['POST', 'PATCH'], 'POST and PATCH'),
  ttl: duration({ leastNumber: 1_000 }).or('24h'),
  store: having(STORE_FUNCTIONS, 'for a client of Redis, write redisIdempotency(client)').optional('in memory'),
  scope: oneOfOr('principal').or('principal'),
  lease: duration({ least: 1_000 }).or('10s'),
  whenUnknown: oneOf('refuse', 'retry').or('refuse'),
  keepServerErrors: flag(false),
  maxResponseSize: size().or('256KiB'),
  onError: listener<[error: unknown, operation: IdempotencyOperation]>().or(() => {}, 'none'),
  clock: forTests(),
})
const SAFE = /^(?:GET|HEAD|OPTIONS|QUERY|TRACE)$/
const MARKER = 'Idempotent-Replayed'
/** Fields that belong to one exchange and must not be sent again. */
const NEVER_KEPT = /^(?:set-cookie|server-timing)$/i

/**
 * Returns a policy under which a request with a key has its effect once: when it is repeated with the same key, the client gets the first
 * response again, with `Idempotent-Replayed: true`. The body of the request is buffered.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function idempotency(options: IdempotencyOptions = {}): Idempotency {
  return new Idempotency(options)
}

/** A policy, made by `idempotency`. */
export class Idempotency implements Policy {
  readonly name: string = OWNER
  readonly #header: string
  readonly #headerName: string
  readonly #isRequired: boolean
  readonly #methods: ReadonlySet<string>
  readonly #ttlMs: number
  readonly #leaseMs: number
  readonly #store: IdempotencyStore
  readonly #scope: 'principal' | ((session: HttpSession) => string)
  readonly #retriesUnknown: boolean
  readonly #keepsServerErrors: boolean
  readonly #maxResponseSize: number
  readonly #onError: (error: unknown, operation: IdempotencyOperation) => void
  readonly #forgetting: Forgetting
  readonly #clock: Clock | undefined
  readonly #labelOf = KeptResponse.serverLabels()

  /** @throws WEIR_OPTION_INVALID */
  constructor(options: IdempotencyOptions) {
    const { header, methods, ttl, lease, store, scope, ...settings } = IDEMPOTENCY_RULES.read(options)
    this.#headerName = header
    this.#header = header.toLowerCase()
    this.#isRequired = settings.required
    this.#methods = new Set(methods)
    for (const method of this.#methods)
      if (method !== method.toUpperCase())
        throw invalid(OWNER, `methods: the names of methods are case-sensitive: write "${method.toUpperCase()}", not "${method}"`)
    this.#ttlMs = ttl
    this.#leaseMs = lease
    if (ttl < lease) throw invalid(OWNER, `ttl is ${shown(options.ttl)}, less than lease: make it at least as long`)
    this.#scope = scope
    this.#retriesUnknown = settings.whenUnknown === 'retry'
    this.#keepsServerErrors = settings.keepServerErrors
    this.#maxResponseSize = settings.maxResponseSize
    this.#onError = settings.onError
    this.#store = store ?? memoryIdempotency()
    this.#forgetting = new Forgetting(this.#store, this.#ttlMs, (error) => this.#onError(error, 'abandon'))
    this.#clock = settings.clock
  }

  /** Whether the store does not reply, so that requests with a key are refused. For readiness checks. */
  get isDegraded(): boolean {
    return this.#store.isDegraded
  }

  /** @internal */
  describe(): unknown {
    return { idempotencyHeader: this.#headerName, isRequired: this.#isRequired, methods: [...this.#methods] }
  }

  /** @internal */
  check(policies: readonly UsedPolicy[], where: string, route: Parameters<NonNullable<Policy['check']>>[2]): void {
    if (route === null) return
    const { method, bodyMode, depth } = route
    if (method !== null && !this.#methods.has(method)) {
      // A list of policies that several routes share may have it, and a repeated request that changes nothing does no harm.
      if (SAFE.test(method) || !policies.some((policy) => policy.name === OWNER && policy.depth === depth)) return
      const methods = JSON.stringify([...this.#methods, method])
      throw invalid(OWNER, `${where} uses it, and ${method} is not among its methods: write methods: ${methods}, or leave it out`)
    }
    if (bodyMode !== 'stream') return
    throw invalid(
      OWNER,
      `${where} streams its body, which cannot be compared with that of a repeated request: remove body: 'stream', or the policy with { name: 'idempotency' }`,
    )
  }

  /** Before the body is read. @internal */
  gate(session: HttpSession): void {
    const handle = exchange(session)
    if (this.#methods.has(handle.method) && readKey(handle, this.#header) === null && this.#isRequired)
      throw new WeirError('WEIR_IDEMPOTENCY_KEY_MISSING', `send ${this.#headerName}, with another value for each request`)
  }

  /** @internal */
  middleware(session: HttpSession, next: Next): unknown {
    const handle = exchange(session)
    if (!this.#methods.has(handle.method) || !handle.isRouted) return next()
    const key = readKey(handle, this.#header)
    return key === null ? next() : this.#once(session, next, key)
  }

  async #once(session: HttpSession, next: Next, key: string): Promise<HttpResponse> {
    const handle = exchange(session)
    const scope = this.#scopeOf(session, key)
    // A form is streamed to its handler unless it was buffered.
    if (!handle.isBodyWhole) await session.request.bufferBody()
    const fingerprint = fingerprintOf(session, handle)
    const clock = this.#clock ?? handle.clock
    const id = storeKey(this.#labelOf(session.server) + scope, handle, key)
    const token = randomUUID()
    const owner = ownerOf(session, scope)
    const attempt = { owner, fingerprint, token, leaseMs: this.#leaseMs, ttlMs: this.#ttlMs, retriesUnknown: this.#retriesUnknown }
    const begun = await this.#store.begin(id, attempt, clock).catch((cause: unknown) => {
      void this.#forgetting.forget(id, token, clock) // the handler may have begun without telling
      throw new WeirError('WEIR_STORE_UNAVAILABLE', 'idempotency', { cause })
    })
    if (begun.state === 'unavailable') throw new WeirError('WEIR_STORE_UNAVAILABLE', 'idempotency', { cause: begun.cause })
    if (begun.state !== 'begun') return this.#repeat(session, begun, fingerprint)
    const stopSigns = clock.every(Math.floor(this.#leaseMs / 3), () => {
      this.#store.extend(id, token, this.#leaseMs).catch((error: unknown) => this.#onError(error, 'extend'))
    })
    try {
      return await this.#run(session, next, id, token, clock)
    } finally {
      stopSigns()
    }
  }

  /** The scope in which the key may be used again. */
  #scopeOf(session: HttpSession, key: string): string {
    if (this.#scope !== 'principal') {
      const own: unknown = this.#scope(session)
      if (typeof own !== 'string') throw invalid(OWNER, `a scope is ${kindOf(own)}, not a string`)
      return `scope ${own}`
    }
    const principal = principalKey(OWNER, session)
    if (principal !== null) return principal
    if (key.length < SHORTEST_OPEN_KEY)
      throw new WeirError(
        'WEIR_IDEMPOTENCY_KEY_INVALID',
        `it has ${key.length} characters, and needs ${SHORTEST_OPEN_KEY} so that nobody guesses it`,
      )
    return `anonymous ${createHash('sha256')
      .update(exchange(session).field('authorization') ?? '', 'utf16le')
      .digest('base64url')}`
  }

  #repeat(session: HttpSession, begun: Exclude<Begun, { state: 'begun' | 'unavailable' }>, fingerprint: string): HttpResponse {
    if (begun.fingerprint !== fingerprint) throw new WeirError('WEIR_IDEMPOTENCY_MISMATCH')
    if (begun.state === 'running') throw new WeirError('WEIR_IDEMPOTENCY_RUNNING')
    if (begun.state === 'unknown') throw new WeirError('WEIR_IDEMPOTENCY_UNKNOWN')
    const kept = readOutcome(begun.outcome)
    if (kept === null) throw new WeirError('WEIR_IDEMPOTENCY_NOT_KEPT')
    return kept.send(session).header(MARKER, 'true')
  }

  async #run(session: HttpSession, next: Next, id: string, token: string, clock: Clock): Promise<HttpResponse> {
    const handle = exchange(session)
    const { fields } = handle.response
    const before = fields === null ? null : [...fields]
    const isOpen = this.#scope === 'principal' && session.principal === null
    let response: HttpResponse
    try {
      response = await next()
    } catch (error) {
      // A handler that was told to stop, because the client has left or the request timed out, may have had its effect or not. Any other error
      // means that it had none, and so does a handler that was never called because inner middleware has refused.
      const isUnknown = handle.hasReachedRoute && session.signal.aborted
      await (isUnknown ? this.#leaveUnknown(id, token) : this.#forgetting.forget(id, token, clock))
      throw error
    }
    if (responseHandle(response).statusCode >= 500 && !this.#keepsServerErrors) {
      await this.#forgetting.forget(id, token, clock)
      return response
    }
    const outcome = await this.#outcomeOf(handle, response, before, isOpen).catch(async (error: unknown) => {
      await this.#leaveUnknown(id, token)
      throw error
    })
    // The client gets its response afterwards, so that it can have it again from then on.
    await this.#store.finish(id, token, outcome, this.#ttlMs, clock).catch((error: unknown) => this.#onError(error, 'finish'))
    return response
  }

  /** Notes that it is not known whether the handler had its effect. If the store fails, the end of the lease has the same meaning. */
  async #leaveUnknown(id: string, token: string): Promise<void> {
    await this.#store.abandon(id, token, 'unknown').catch((error: unknown) => this.#onError(error, 'abandon'))
  }

  /** @param isOpen whether any client without a principal may use the key */
  async #outcomeOf(exchange: ExchangeHandle, response: HttpResponse, before: readonly string[] | null, isOpen: boolean): Promise<string> {
    const outgoing = responseHandle(response)
    // The server has answered in the meantime, because time was up, and has dropped the response of the handler.
    if (outgoing.isTaken || exchange.isAnswered || outgoing.trailers?.areAnnounced === true) return NOT_KEPT
    const gathered = await KeptResponse.gather(outgoing, this.#maxResponseSize, () => false)
    if (gathered === null || 'later' in gathered || outgoing.trailers?.areUnannounced === true) return NOT_KEPT
    // Code inside has found out who the client is.
    if (isOpen && exchange.session.principal !== null) return NOT_KEPT
    const kept = KeptResponse.of(outgoing, before, gathered.whole)
    const fields = kept.fields.flatMap((name, i) => (i % 2 === 1 || NEVER_KEPT.test(name) ? [] : [name, kept.fields[i + 1]!]))
    return JSON.stringify(kept.with({ fields }).pack())
  }
}

/** Anyone can send another Authorization, and without a principal no one has checked it. */
function ownerOf({ principal, clientAddress }: HttpSession, scope: string): Owner {
  if (principal !== null) return { key: shortKey(scope), isKnown: true }
  return { key: `address ${networkOf(clientAddress)}`, isKnown: false }
}

function readOutcome(outcome: string): KeptResponse | null {
  try {
    return KeptResponse.unpack(JSON.parse(outcome))
  } catch {
    return null
  }
}
