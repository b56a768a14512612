// `weirjs/cache`: a policy that keeps responses by the rules of HTTP (RFC 9111, RFC 5861), and runs the handler once for all requests that wait for
// the same response.
//
// It works inside the gates and outer middleware of a route, so that authentication and limits apply to every request, and before the hooks that
// run on every response. What it keeps is what the handler returned: fields that others set for each request are not kept.

import type { Next } from '../../app/policies/middleware.ts'
import type { Policy, UsedPolicy } from '../../app/policies/policy.ts'
import type { Clock } from '../../base/clock.ts'
import { LimitError, WeirError } from '../../base/errors.ts'
import { isPromise } from '../../base/is-promise.ts'
import { anything } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import { ownText } from '../../base/own-text.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'
import { accessOf } from '../auth/plan.ts'
import { type ExchangeHandle, exchange as handleOf } from '../kit/exchange.ts'
import { rerun } from '../kit/rerun.ts'
import { responseHandle } from '../kit/response.ts'

import { ageMs, type CacheEntry, isVariantOf } from './cache-entry.ts'
import { type CacheOptions, type CacheSettings, checkedOptions, checkedTag, OWNER } from './cache-options.ts'
import { type CacheRequest, isIdle, isSafe, readRequest, useOf } from './cache-request.ts'
import { punctual } from './cache-store.ts'
import { Flight } from './flight.ts'
import { Invalidations } from './invalidations.ts'
import { type Found, MemoryEntries } from './memory-entries.ts'
import { type Keeper, namedTag, pathTag, type Run, runHandler, statusMember } from './run-handler.ts'
import { sendEntry } from './send-entry.ts'
import { LONGEST_RUN_MS } from './shared-entries.ts'
import { SharedRuns } from './shared-runs.ts'

/** What a cache has done. Frozen at the time of reading. */
export interface CacheCounts {
  /** Requests that got a fresh response from the cache. */
  readonly hit: number
  /** Requests that got a stale one while a new one was made. */
  readonly stale: number
  /** Requests that waited for another one and got its response. */
  readonly collapsed: number
  /** Requests for which the handler ran. */
  readonly miss: number
  /** Requests that were passed on without a look into the cache, such as a POST. */
  readonly bypass: number
  /** Responses that were put into the cache. */
  readonly stored: number
  /** Responses that were dropped to make room. */
  readonly evicted: number
  /** Runs of a handler in the background. */
  readonly refreshes: number
  /** Commands to the store that have failed. */
  readonly storeErrors: number
  /** Entries in memory now. A URL whose responses depend on request fields has one more. */
  readonly entries: number
  /** Bytes that they take, as `maxSize` counts them. */
  readonly bytes: number
}

/** @internal */
export const INVALIDATE_RULES = rules<{ readonly tag?: unknown; readonly path?: unknown }>('invalidate()')({
  tag: anything().optional(),
  path: anything().optional(),
})
/** How often a request waits for others before it runs the handler itself. */
const MOST_FLIGHTS = 4
/** For how long requests for a response that cannot be kept do not wait for each other. */
const PASS_MS = 5_000
const MOST_PASSES = 1_000
/** How many handlers run in the background at a time. No request waits for them, so nothing else keeps a client from starting more. */
const MOST_REFRESHES = 64

/** A run of the handler in the background. */
interface Refresh {
  readonly primary: string
  readonly flight: Flight
  readonly stale: CacheEntry
  /** Of the request that found the stale response. */
  readonly clock: Clock
}

/**
 * Returns a policy that keeps responses and sends them again, by the rules of HTTP for a cache that clients share. Use it on the routes, or on
 * the group of routes, whose responses may be kept.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function cache(options: CacheOptions = {}): Cache {
  return new Cache(options)
}

/** A cache, made by `cache`. It is a policy; routes that use the same one share its memory. */
export class Cache implements Policy {
  readonly name: string = OWNER
  readonly #settings: CacheSettings
  readonly #memory: MemoryEntries
  readonly #sharing: SharedRuns | null
  readonly #flights = new Map<string, Flight>()
  /** All runs of handlers, also those in the background. */
  readonly #running = new Set<Flight>()
  /** Runs whose response is complete later. */
  readonly #unfinished = new Set<Flight>()
  readonly #refreshes = new Map<object, Refresh>()
  /** How many are under way, those included that wait for the store. */
  #refreshing = 0
  readonly #invalidations = new Invalidations()
  /** By key: until when requests do not wait for each other. */
  readonly #passes = new Map<string, number>()
  readonly #keeper: Keeper
  readonly #counts = { hit: 0, stale: 0, collapsed: 0, miss: 0, bypass: 0, stored: 0, refreshes: 0, storeErrors: 0 }

  /** @throws WEIR_OPTION_INVALID */
  constructor(options: CacheOptions) {
    this.#settings = checkedOptions(options)
    this.#memory = new MemoryEntries(this.#settings.maxSize)
    const { store, maxWait } = this.#settings
    const noteError = (error: unknown): void => this.#noteStoreError(error)
    this.#sharing = store === null ? null : new SharedRuns(punctual(store), this.#memory, maxWait, noteError)
    this.#keeper = {
      settings: this.#settings,
      keep: (run, entry) => this.#keep(run, entry),
      isInvalidated: ({ flight }, tags) => flight.isGivenUp || this.#invalidations.areSince(flight.since, tags),
      mayCollect: () => (this.#unfinished.size + 1) * this.#settings.maxEntrySize <= this.#settings.maxSize,
      awaitEnd: ({ flight }, end) => {
        this.#unfinished.add(flight)
        void end.finally(() => this.#unfinished.delete(flight))
      },
      notePass: ({ exchange, clock, request }) => this.#notePass(this.#memory.find(request.primary, exchange).key, clock),
      drop: (entry, { request, exchange }) => {
        const found = this.#memory.find(request.primary, exchange)
        if (found.entry === entry) this.#memory.drop(found.key)
      },
    }
  }

  get counts(): CacheCounts {
    return Object.freeze({
      ...this.#counts,
      evicted: this.#memory.evicted,
      entries: this.#memory.count,
      bytes: this.#memory.bytes,
    })
  }

  /** Whether the store does not reply, so that this process works as without it. For readiness checks. */
  get isDegraded(): boolean {
    return this.#sharing?.isDegraded === true
  }

  /**
   * Drops responses: those with a tag, or those to requests with a path, decoded as in `request.path`, whatever their queries and hosts. What
   * handlers are making now is not kept either. Await it: with a store, other processes notice within `recheckAfter`.
   *
   * @throws (rejects) WEIR_OPTION_INVALID; WEIR_STORE_UNAVAILABLE: this process has dropped them, others may still send them
   */
  async invalidate(what: { readonly tag: string } | { readonly path: string }): Promise<void> {
    if (typeof what === 'string') throw invalid('invalidate()', 'either { path } or { tag } is needed, not a string')
    INVALIDATE_RULES.read(what)
    if (Object.keys(what).length !== 1) throw invalid('invalidate()', 'either tag or path is needed')
    if ('tag' in what) return this.#invalidate(namedTag(checkedTag('tag', what.tag)))
    if (typeof what.path !== 'string' || !what.path.startsWith('/')) throw invalid('invalidate()', 'path is not a path that begins with /')
    return this.#invalidate(pathTag(what.path))
  }

  /** @internal */
  describe(): unknown {
    const { times, key } = this.#settings
    return { ...times, key: typeof key === 'function' ? 'function' : key }
  }

  /** @internal */
  check(policies: readonly UsedPolicy[], where: string, route: Parameters<NonNullable<Policy['check']>>[2]): void {
    if (route !== null && isIdle(route.method) && policies.some(({ name, depth }) => name === OWNER && depth === route.depth))
      throw invalid(OWNER, `${where} uses it, and it keeps only responses to GET: leave it out`)
    if (this.#settings.key !== null || route === null || (route.method !== null && route.method !== 'GET')) return
    const access = accessOf(policies.map(({ description }) => description))
    if (access === null || access.isOpen) return
    throw invalid(
      OWNER,
      `${where} requires a principal, so state for whom its responses are: key: 'principal', key: 'all' or a function. Or remove the cache from it with { name: 'cache' }`,
    )
  }

  /** @internal */
  middleware(session: HttpSession, next: Next): unknown {
    const exchange = handleOf(session)
    const { method } = exchange
    if (method !== 'GET' && method !== 'HEAD') return isSafe(method) ? next() : this.#write(exchange, next)
    const request = readRequest(exchange, this.#settings)
    if (typeof request === 'string') return this.#bypass(next, `fwd=bypass; detail=${request}`)
    const refresh = this.#refreshes.size === 0 ? null : this.#refreshOf(exchange, request)
    if (refresh !== null) return this.#run({ ...refresh, exchange, next, request, isForAll: true, forward: 'stale' })
    const found = this.#memory.find(request.primary, exchange)
    return this.#sendFound(exchange, next, request, found) ?? this.#forward(exchange, next, request, found)
  }

  /** Null: there is nothing that may be sent. */
  #sendFound(
    exchange: ExchangeHandle,
    next: Next,
    request: CacheRequest,
    { key, entry }: Found,
  ): HttpResponse | Promise<HttpResponse> | null {
    if (entry === null) return null
    const clock = this.#clockOf(exchange)
    const now = clock.now()
    const use = useOf(entry, request, now)
    if (use !== 'fresh' && use !== 'while-revalidating') return null
    if (this.#sharing !== null && now - entry.checkedAt >= this.#settings.recheckAfter)
      return this.#recheck(exchange, next, request, key, entry)
    if (use === 'fresh') this.#counts.hit++
    else {
      this.#counts.stale++
      this.#refresh(exchange, request, key, entry)
    }
    return sendEntry(exchange, clock, entry, this.#hit(entry, now))
  }

  #hit(entry: CacheEntry, now: number, more = ''): string | null {
    const { statusName } = this.#settings
    if (statusName === null) return null
    return `${statusName}; hit; ttl=${Math.floor((entry.lifetime.freshMs - ageMs(entry, now)) / 1_000)}${more}`
  }

  /** Asks the store whether the entry was invalidated. If the store fails, the entry is sent. */
  async #recheck(exchange: ExchangeHandle, next: Next, request: CacheRequest, key: string, entry: CacheEntry): Promise<HttpResponse> {
    entry.checking ??= this.#sharing!.isValid(entry).finally(() => {
      entry.checkedAt = this.#clockOf(exchange).now()
      entry.checking = null
    })
    const isValid = await exchange.inTurn(entry.checking)
    const found = this.#memory.find(request.primary, exchange)
    if (!isValid && found.entry === entry) this.#memory.drop(key)
    const current = this.#memory.find(request.primary, exchange)
    return this.#sendFound(exchange, next, request, current) ?? this.#forward(exchange, next, request, current)
  }

  #forward(exchange: ExchangeHandle, next: Next, request: CacheRequest, found: Found): HttpResponse | Promise<HttpResponse> {
    if (request.wants?.has('only-if-cached') === true) {
      exchange.response.sendProblem({ title: 'Gateway Timeout', status: 504, detail: 'only-if-cached' })
      return exchange.session.response
    }
    const why = this.#whyForward(exchange, request, found)
    // Their responses differ from that of a GET, and a client that wants a part of a large body should not wait for all of it.
    if (exchange.method === 'HEAD' || exchange.field('range') !== null) return this.#bypass(next, `fwd=${why}`)
    return this.#wait(exchange, next, request, found)
  }

  #whyForward(exchange: ExchangeHandle, request: CacheRequest, { entry, mark }: Found): string {
    if (entry === null) return mark === null ? 'uri-miss' : 'vary-miss'
    return useOf(entry, { ...request, wants: null }, this.#clockOf(exchange).now()) === 'fresh' ? 'request' : 'stale'
  }

  /** Waits for another request that runs the handler, or runs it. */
  async #wait(exchange: ExchangeHandle, next: Next, request: CacheRequest, first: Found): Promise<HttpResponse> {
    const clock = this.#clockOf(exchange)
    let found = first
    for (let i = 0; i < MOST_FLIGHTS && !this.#passesBy(found.key, clock); i++) {
      const flight = this.#flights.get(found.key)
      if (flight === undefined) {
        if (i > 0 && exchange.session.signal.aborted) throw new WeirError('WEIR_CLIENT_GONE')
        return this.#lead(exchange, next, request, found)
      }
      const end = await exchange.inTurn(flight.wait(clock, this.#settings.maxWait))
      const now = clock.now()
      if (end.kind === 'kept' && isVariantOf(end.entry.vary, exchange)) {
        const use = useOf(end.entry, request, now)
        if (use === 'fresh' || use === 'while-revalidating') {
          this.#counts.collapsed++
          return sendEntry(exchange, clock, end.entry, this.#hit(end.entry, now, '; collapsed'))
        }
      }
      found = this.#memory.find(request.primary, exchange)
      if (end.kind === 'alone' || end.kind === 'late') break
      if (end.kind === 'failed') {
        const { entry } = found
        if (entry === null || useOf(entry, request, now) === 'no') break
        this.#counts.stale++
        return sendEntry(exchange, clock, entry, statusMember(this.#settings, 'fwd=stale; collapsed; detail=stale-if-error'))
      }
      const sent = this.#sendFound(exchange, next, request, found)
      if (sent !== null) return sent
    }
    const forward = this.#whyForward(exchange, request, found)
    return this.#run({ exchange, clock, next, request, stale: found.entry, flight: new Flight(), isForAll: false, forward })
  }

  /** Runs the handler for all requests that arrive from now on. */
  async #lead(exchange: ExchangeHandle, next: Next, request: CacheRequest, found: Found): Promise<HttpResponse> {
    const clock = this.#clockOf(exchange)
    const flight = new Flight()
    this.#flights.set(found.key, flight)
    try {
      const shared = this.#sharing === null ? null : await this.#sharing.obtain(request, clock, flight, true)
      if (shared !== null) {
        const now = clock.now()
        flight.end({ kind: 'kept', entry: shared })
        this.#counts.hit++
        return await sendEntry(exchange, clock, shared, this.#hit(shared, now))
      }
      const forward = this.#whyForward(exchange, request, found)
      return await this.#run({ exchange, clock, next, request, stale: found.entry, flight, isForAll: true, forward })
    } catch (error) {
      if (exchange.session.signal.aborted) flight.end({ kind: 'again' })
      throw error
    } finally {
      this.#endFlight(found.key, flight)
    }
  }

  #endFlight(key: string, flight: Flight): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key)
    flight.end({ kind: 'failed' })
  }

  /** Runs the handler for one request. */
  async #run(run: Omit<Run, 'addressReads'>): Promise<HttpResponse> {
    const { flight } = run
    this.#counts.miss++
    this.#running.add(flight)
    flight.since = this.#invalidations.now
    try {
      return await runHandler(this.#keeper, { ...run, addressReads: run.exchange.addressReads })
    } finally {
      this.#running.delete(flight)
      this.#sharing?.release(flight, !flight.isUnknown && !run.exchange.session.signal.aborted)
    }
  }

  #noteStoreError(error: unknown): void {
    this.#counts.storeErrors++
    this.#settings.onError(error)
  }

  #keep({ exchange, clock, request, flight }: Run, entry: CacheEntry): void {
    this.#counts.stored++
    const { key, mark } = this.#memory.put(request.primary, exchange, entry)
    this.#passes.delete(key)
    this.#sharing?.publish(flight, request.primary, key, mark, entry, clock)
  }

  /** Makes a new response in the background, after the stale one has been sent. */
  #refresh(exchange: ExchangeHandle, request: CacheRequest, key: string, stale: CacheEntry): void {
    if (this.#flights.has(key) || this.#refreshing >= MOST_REFRESHES) return
    const flight = new Flight()
    this.#flights.set(key, flight)
    this.#refreshing++
    setImmediate(() => {
      this.#renewLater(exchange, request, flight, stale)
        .catch(this.#settings.onError)
        .finally(() => {
          this.#refreshing--
          this.#endFlight(key, flight)
        })
    })
  }

  async #renewLater(exchange: ExchangeHandle, request: CacheRequest, flight: Flight, stale: CacheEntry): Promise<void> {
    if (this.#sharing !== null) {
      if ((await this.#sharing.obtain(request, this.#clockOf(exchange), flight, false)) !== null) return
      if (!this.#sharing.mayRun(flight)) return // another process runs the handler
    }
    const mark = {}
    const clock = this.#clockOf(exchange)
    this.#refreshes.set(mark, { primary: request.primary, flight, stale, clock })
    this.#counts.refreshes++
    const late = new AbortController()
    const stop = clock.every(LONGEST_RUN_MS, () => {
      flight.isGivenUp = true
      this.#running.delete(flight)
      late.abort(new LimitError('WEIR_REQUEST_TIMEOUT', 'the time of a run in the background', LONGEST_RUN_MS))
    })
    try {
      await rerun(exchange.session, mark, () => flight.hasEnded && !this.#running.has(flight), late.signal)
    } finally {
      stop()
      this.#refreshes.delete(mark)
      this.#sharing?.release(flight, false)
    }
  }

  #refreshOf({ mark }: ExchangeHandle, { primary }: CacheRequest): Refresh | null {
    const refresh = mark === null ? undefined : this.#refreshes.get(mark)
    return refresh?.primary === primary ? refresh : null
  }

  #bypass(next: Next, what: string): HttpResponse | Promise<HttpResponse> {
    this.#counts.bypass++
    const member = statusMember(this.#settings, what)
    const response = next()
    if (member === null) return response
    if (isPromise(response)) return (response as Promise<HttpResponse>).then((later) => later.appendHeader('Cache-Status', member))
    return response.appendHeader('Cache-Status', member)
  }

  /** RFC 9111 §4.4: a request that has changed a resource invalidates the responses of that resource, and of the resources that its response names. */
  async #write(exchange: ExchangeHandle, next: Next): Promise<HttpResponse> {
    this.#counts.bypass++
    const response = await next()
    const outgoing = responseHandle(response)
    if (outgoing.statusCode >= 400) return response
    const paths = new Set([exchange.path])
    for (const name of ['Location', 'Content-Location']) {
      const path = pathAt(outgoing.getHeader(name), exchange.session.origin, exchange.url)
      if (path !== null) paths.add(path)
    }
    try {
      await Promise.all([...paths].map((path) => this.#invalidate(pathTag(path))))
    } catch (error) {
      this.#noteStoreError(error)
    }
    const member = statusMember(this.#settings, 'fwd=method')
    return member === null ? response : response.appendHeader('Cache-Status', member)
  }

  async #invalidate(tag: string): Promise<void> {
    if (this.#running.size + this.#unfinished.size > 0) this.#invalidations.add(tag)
    this.#memory.dropTagged(tag)
    await this.#sharing?.invalidate(tag)
  }

  #clockOf({ clock }: ExchangeHandle): Clock {
    return this.#settings.clock ?? clock
  }

  #passesBy(key: string, clock: Clock): boolean {
    const until = this.#passes.get(key)
    return until !== undefined && clock.now() < until
  }

  #notePass(key: string, clock: Clock): void {
    if (this.#passes.size >= MOST_PASSES) this.#passes.clear()
    this.#passes.set(ownText(key), clock.now() + PASS_MS)
  }
}

/** The path of a URL with the same origin; null for another. */
function pathAt(reference: string | null, origin: string, url: string): string | null {
  if (reference === null) return null
  try {
    const target = new URL(reference, origin + url)
    if (target.origin !== new URL(origin).origin) return null
    return decodeURIComponent(target.pathname.replace(/%2f/gi, '%252F')) // %2F stays, as in `request.path`
  } catch {
    return null
  }
}
