// Runs the handler for a request that the cache cannot answer, and keeps what it returns if that is allowed.

import type { Next } from '../../app/policies/middleware.ts'
import type { Clock } from '../../base/clock.ts'
import { HttpError, isInstance } from '../../base/errors.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { ExchangeHandle } from '../kit/exchange.ts'
import { KeptResponse } from '../kit/kept-response.ts'
import { type ResponseHandle, responseHandle } from '../kit/response.ts'
import { withoutBlanks } from './cache-control.ts'
import { type CacheEntry, newEntry, variantOf } from './cache-entry.ts'
import type { CacheSettings } from './cache-options.ts'
import { boundFieldsOf, type CacheRequest, isForAnother, useOf } from './cache-request.ts'
import type { Flight } from './flight.ts'
import { type JudgedResponse, judge, type Lifetime } from './freshness.ts'
import { MOST_VARY_NAMES } from './memory-entries.ts'
import { sendEntry } from './send-entry.ts'

/** What is known when the handler runs. */
export interface Run {
  /** How often the address of the client had been read before, by code outside the cache. */
  readonly addressReads: number
  readonly exchange: ExchangeHandle
  readonly clock: Clock
  readonly next: Next
  readonly request: CacheRequest
  /** A kept response that is no longer fresh, or that the client does not want; null for none. */
  readonly stale: CacheEntry | null
  /** The requests that wait for the response. */
  readonly flight: Flight
  /** Whether the handler is to return a complete response, whatever conditions the client has. */
  readonly isForAll: boolean
  /** Why the handler runs, in the form of `fwd` of Cache-Status. */
  readonly forward: string
}

/** What `runHandler` needs of the cache. */
export interface Keeper {
  readonly settings: CacheSettings
  /** Keeps an entry. Called once the response is complete, which may be after it has been sent. */
  keep(run: Run, entry: CacheEntry): void
  /** Whether a response with these tags may be out of date, because something was invalidated since the run began. */
  isInvalidated(run: Run, tags: readonly string[]): boolean
  /** Whether there is room for a body that is collected while it is sent. */
  readonly mayCollect: () => boolean
  /** The response is sent before it is complete. @param end never rejects */
  awaitEnd(run: Run, end: Promise<unknown>): void
  /** The next requests for it do not wait for each other. */
  notePass(run: Run): void
  /** The entry is out of date. */
  drop(entry: CacheEntry, run: Run): void
}

/** Fields that would change a complete response. With null they are hidden from the handler. */
const HIDDEN: readonly (readonly [string, null])[] = [
  ['if-none-match', null],
  ['if-modified-since', null],
  ['range', null],
  ['if-range', null],
]
const FAILURES: ReadonlySet<number> = new Set([500, 502, 503, 504])
/** Fields by which a handler states for whom its response is. */
const STATED = ['vary', 'cache-control', 'expires']

/** @throws what the handler throws, unless a stale response can be sent in its place */
export async function runHandler(keeper: Keeper, run: Run): Promise<HttpResponse> {
  const { exchange, next, isForAll, stale } = run
  const { fields } = exchange.response
  const before = fields === null ? null : [...fields]
  const startedAt = run.clock.now()
  let response: HttpResponse
  if (isForAll) exchange.showFields(conditionsOf(stale))
  try {
    response = await next()
  } catch (error) {
    exchange.showFields(null)
    const instead = insteadOf(keeper, run, before, error, failureStatus(error))
    if (instead === null) throw error
    return instead
  }
  exchange.showFields(null)
  const outgoing = responseHandle(response)
  // The server has answered in the meantime, because the request timed out, and has dropped what the handler returned.
  if (outgoing.isTaken || exchange.isAnswered) return response
  const { statusCode } = outgoing
  if (statusCode === 304 && isForAll && stale !== null) return renew(keeper, run, outgoing, before, startedAt)
  if (FAILURES.has(statusCode)) {
    const instead = insteadOf(
      keeper,
      run,
      before,
      new HttpError(statusCode, `${exchange.session.route} responded with ${statusCode}`),
      statusCode,
    )
    if (instead !== null) return instead
  }
  return finish(keeper, run, response, before, startedAt)
}

/** A handler that evaluates conditions may find that the kept response is still current, and save its work. */
function conditionsOf(stale: CacheEntry | null): ReadonlyMap<string, string | null> {
  const fields = new Map<string, string | null>(HIDDEN)
  if (stale === null) return fields
  for (const [name, value] of stale.kept.conditions) fields.set(name, value)
  return fields
}

function failureStatus(error: unknown): number | null {
  if (!isInstance(error, HttpError)) return 500
  return FAILURES.has(error.status) ? error.status : null
}

/** A stale response in place of a failure; null if there is none that may be sent. */
function insteadOf(
  { settings }: Keeper,
  { exchange, clock, request, stale }: Run,
  before: readonly string[] | null,
  error: unknown,
  status: number | null,
): HttpResponse | Promise<HttpResponse> | null {
  if (status === null || stale === null || exchange.isAnswered) return null
  const use = useOf(stale, { ...request, wants: null }, clock.now())
  if (use === 'no') return null
  settings.onError(error)
  exchange.startOver(before ?? [])
  return sendEntry(exchange, clock, stale, statusMember(settings, `fwd=stale; fwd-status=${status}; detail=stale-if-error`))
}

/** The handler has confirmed the kept response (RFC 9111 §4.3.4). */
function renew(
  keeper: Keeper,
  run: Run,
  outgoing: ResponseHandle,
  before: readonly string[] | null,
  startedAt: number,
): HttpResponse | Promise<HttpResponse> {
  const { exchange } = run
  const old = run.stale!
  const kept = old.kept.updatedBy(KeptResponse.of(outgoing, before, null))
  // With what outer code says of this request, as for a response that is kept for the first time.
  const field = (name: string): string | null => kept.field(name, before ?? [])
  const verdict = judgeFields(keeper, run, { status: kept.status, field })
  const tags = old.tags
  exchange.startOver(before ?? [])
  keeper.drop(old, run)
  const lifetime = typeof verdict === 'string' ? NO_LIFETIME : verdict
  const entry = newEntry(kept, lifetime, startedAt - lifetime.initialAgeMs, old.vary, tags)
  // A 304 that depends on more fields than the response did is only for this client.
  const names = new Set(old.vary.names)
  const isSame = (varyNames(field('vary')) ?? []).every((name) => names.has(name))
  const isKept = typeof verdict !== 'string' && isSame && !keeper.isInvalidated(run, tags)
  if (isKept) keeper.keep(run, entry)
  endFlight(run, isKept ? entry : null)
  return sendEntry(exchange, run.clock, entry, statusMember(keeper.settings, `fwd=${run.forward}; fwd-status=304`))
}

const NO_LIFETIME: Lifetime = {
  initialAgeMs: 0,
  freshMs: 0,
  staleWhileRevalidateMs: 0,
  staleIfErrorMs: 0,
  maySendStale: false,
  isForAuthorized: false,
}

async function finish(
  keeper: Keeper,
  run: Run,
  response: HttpResponse,
  before: readonly string[] | null,
  startedAt: number,
): Promise<HttpResponse> {
  const { exchange, flight, forward } = run
  const { settings } = keeper
  const outgoing = responseHandle(response)
  const verdict = judgeOutgoing(keeper, run, outgoing)
  const tags = typeof verdict === 'string' ? [] : tagsOf(keeper, run, response)
  const gathered = typeof verdict === 'string' ? null : await KeptResponse.gather(outgoing, settings.maxEntrySize, keeper.mayCollect)
  const tell = (what: string): HttpResponse => {
    const member = statusMember(settings, `fwd=${forward}; ${what}`)
    if (member !== null) outgoing.appendHeader('Cache-Status', member)
    if (run.isForAll && outgoing.statusCode === 200) exchange.settleConditions(outgoing, run.clock.wallTime())
    return response
  }
  if (typeof verdict === 'string' || gathered === null) {
    keeper.notePass(run)
    flight.end({ kind: 'alone' })
    return tell(`detail=${typeof verdict === 'string' ? verdict : 'too-large'}`)
  }
  const vary = variantOf(exchange, namesOf(keeper, run, outgoing))
  const bornAt = startedAt - verdict.initialAgeMs
  const facts = KeptResponse.of(outgoing, before, null)
  // Before it is sent: then trailers are dropped for a client that does not accept them, and code around the cache sets fields.
  const { trailers, statusCode: status } = outgoing
  const stated = new Map(STATED.map((name) => [name, outgoing.listHeader(name)]))
  const keep = (body: Uint8Array | null): CacheEntry | null => {
    // Checked again: code that produces a stream may have looked at its client since the head was sent.
    const why = whyForOne(keeper, run, { status, field: (name) => stated.get(name) ?? null })
    if (why !== null || keeper.isInvalidated(run, tags) || trailers?.areUnannounced === true) return null
    const entry = newEntry(facts.with({ body }), verdict, bornAt, vary, tags)
    keeper.keep(run, entry)
    return entry
  }
  if ('later' in gathered) {
    flight.end({ kind: 'alone' })
    keeper.awaitEnd(
      run,
      gathered.later.then((body) => (body === null ? null : keep(body))),
    )
    return tell('detail=streamed')
  }
  const entry = keep(gathered.whole)
  endFlight(run, entry)
  entry?.kept.lendForms(outgoing)
  if (entry !== null) return tell('stored')
  return tell(trailers?.areUnannounced === true ? 'detail=trailers' : 'detail=invalidated')
}

/** Waiting requests get the response, if it can be sent without asking the handler again. @param entry null if it is not kept */
function endFlight({ clock, request, flight }: Run, entry: CacheEntry | null): void {
  if (entry === null) {
    flight.end({ kind: 'again' })
    return
  }
  const use = useOf(entry, { ...request, wants: null }, clock.now())
  flight.end(use === 'fresh' || use === 'while-revalidating' ? { kind: 'kept', entry } : { kind: 'alone' })
}

function judgeOutgoing(keeper: Keeper, run: Run, response: ResponseHandle): Lifetime | string {
  if (response.content.kind === 'upgrade') return 'upgrade'
  if (response.trailers?.areAnnounced === true) return 'trailers'
  if (/^text\/event-stream\b/i.test(response.type ?? '')) return 'event-stream' // for one client, which listens from now on
  return judgeFields(keeper, run, { status: response.statusCode, field: (name) => response.listHeader(name) })
}

/** Code that gets all fields, such as a mounted application, must state itself that its response is for a cache. */
function mayHaveReadCookies({ cookieUse: use }: ExchangeHandle, response: JudgedResponse): boolean {
  return use === 'read' || (use === 'shown' && response.field('cache-control') === null && response.field('expires') === null)
}

function judgeFields(keeper: Keeper, run: Run, response: JudgedResponse): Lifetime | string {
  const why = whyForOne(keeper, run, response)
  if (why !== null) return why
  const { settings } = keeper
  const { clock, request } = run
  if (varyNames(response.field('vary')) === null) return 'vary'
  return judge(
    response,
    {
      hasAuthorization: request.hasAuthorization,
      isKeyStated: settings.key !== null,
      isForOne: settings.key === 'principal' && request.key !== '',
      now: clock.wallTime(),
    },
    settings.times,
  )
}

/** Why the response is only for its client, as far as is known by now; null if nothing speaks against others. */
function whyForOne({ settings }: Keeper, { exchange, request, addressReads }: Run, response: JudgedResponse): string | null {
  const why = whyPersonal(exchange, settings, request)
  if (why !== null) return why
  if (exchange.addressReads > addressReads && !statesClient(settings, request)) return 'address'
  // A handler that reads cookies must state that in Vary, or the program in its options. Otherwise, a response for one client would be sent to all.
  const names = varyNames(response.field('vary')) ?? []
  const statesCookies = names.includes('cookie') || settings.vary.includes('cookie') || statesClient(settings, request)
  return !statesCookies && mayHaveReadCookies(exchange, response) ? 'cookies' : null
}

function whyPersonal(exchange: ExchangeHandle, settings: CacheSettings, request: CacheRequest): string | null {
  const { personal, session } = exchange
  if (personal === 'nonce' || (personal === 'session' && !statesClient(settings, request))) return personal
  // Set by middleware inside the cache.
  return (session.principal !== null && settings.key === null) || isForAnother(exchange, settings, request) ? 'principal' : null
}

/** Whether the program has stated for whom the response is. Without a principal, 'principal' states nothing. */
function statesClient(settings: CacheSettings, { key }: CacheRequest): boolean {
  return settings.key !== null && settings.key !== 'all' && key !== ''
}

/** Null: nothing may be kept. */
function varyNames(field: string | null): readonly string[] | null {
  if (field === null) return []
  const names = field
    .toLowerCase()
    .split(',')
    .map(withoutBlanks)
    .filter((name) => name !== '')
  return names.includes('*') || names.length > MOST_VARY_NAMES ? null : names
}

/** In lower case, sorted. */
function namesOf({ settings }: Keeper, { exchange }: Run, response: ResponseHandle): readonly string[] {
  const coded = response.listHeader('Content-Encoding') === null ? [] : ['accept-encoding']
  return [...new Set([...(varyNames(response.listHeader('Vary')) ?? []), ...settings.vary, ...boundFieldsOf(exchange), ...coded])].sort()
}

/** Under its path, and under what the program names. */
function tagsOf({ settings }: Keeper, { exchange }: Run, response: HttpResponse): readonly string[] {
  const path = pathTag(exchange.path)
  return settings.tagsOf === null ? [path] : [path, ...settings.tagsOf(exchange.session, response).map(namedTag)]
}

/** @param path decoded */
export function pathTag(path: string): string {
  return `path ${path}`
}

export function namedTag(tag: string): string {
  return `tag ${tag}`
}

/** A member of Cache-Status (RFC 9211). */
export function statusMember({ statusName }: CacheSettings, parameters: string): string | null {
  return statusName === null ? null : `${statusName}; ${parameters}`
}
