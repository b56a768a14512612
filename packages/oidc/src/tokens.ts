// The tokens of a session: kept with it in the store, and refreshed by one request at a time, whichever process it is in.

import { type HttpSession, WeirError } from 'weirjs'
import { type Clock, exchange, isInstance } from 'weirjs/kit'
import type { OpenedSession, StoredObject } from 'weirjs/sessions'
import { type Provider, type TokenResponse, unavailable } from './provider.ts'

/** The tokens that the provider has issued to a session. */
export interface Tokens {
  readonly accessToken: string
  /** Null if the provider has not stated it. */
  readonly expiresAt: Date | null
  readonly scopes: readonly string[]
  /** Null if the provider has issued none. */
  readonly idToken: string | null
}

/** As they are stored: not an interface, which could not be a `StoredObject`. */
type Kept = {
  /** The client that got the tokens: another client of the provider must not use them. */
  readonly client: string
  readonly access: string
  /** Milliseconds since 1970; null if the provider has not stated it. */
  readonly expiresAt: number | null
  readonly scope: string
  readonly refresh: string | null
  readonly id: string | null
  /** Until when other requests wait for the request that refreshes; 0 if no request does. */
  readonly refreshingUntil: number
  /** When a refresh failed, in milliseconds since 1970; 0 if none has since the tokens were issued. Until some time later, no request tries another. */
  readonly failedAt: number
}

/** A refresh that requests of this process wait for. It may be one of another process. */
interface Refreshing {
  tokens: Promise<Kept | null> | null
  /** How many requests wait. */
  waiting: number
}

/** An access token that expires sooner is refreshed. */
const REFRESHED_BEFORE_MS = 30_000
/** How long after a failure another refresh is tried. */
const RETRY_MS = 5_000
const WAIT_MS = 50

/** @param before the tokens that are refreshed: a provider states only what changes */
export function keptTokens(client: string, response: TokenResponse, now: number, before: Kept | null = null): Kept {
  return {
    client,
    access: response.access_token,
    expiresAt: response.expires_in === undefined ? null : now + response.expires_in * 1000,
    scope: response.scope ?? before?.scope ?? '',
    refresh: response.refresh_token ?? before?.refresh ?? null,
    id: response.id_token ?? before?.id ?? null,
    refreshingUntil: 0,
    failedAt: 0,
  }
}

function keptIn(extra: StoredObject | null, client: string): Kept | null {
  return extra?.['client'] === client && typeof extra['access'] === 'string' ? (extra as Kept) : null
}

/** The ID token of a session, for the logout at the provider. */
export function idTokenIn(open: OpenedSession, client: string): string | null {
  return keptIn(open.extra, client)?.id ?? null
}

export class TokenKeeper {
  readonly #provider: Provider
  readonly #client: string
  /** How long a process may take to refresh, before another one tries. */
  readonly #patienceMs: number
  /** By the key of the session. However many requests wait, the process asks the store and the provider once. */
  readonly #refreshing = new Map<string, Refreshing>()

  constructor(provider: Provider, client: string, timeoutMs: number) {
    this.#provider = provider
    this.#client = client
    this.#patienceMs = 2 * timeoutMs
  }

  /**
   * Tokens that are valid for some time. Null: the principal has to sign in again.
   * @throws (rejects) WEIR_OIDC_UNAVAILABLE, WEIR_STORE_UNAVAILABLE; the reason of `session.signal` if that aborts while the request waits
   */
  async tokensOf(session: HttpSession, open: OpenedSession): Promise<Tokens | null> {
    const handle = exchange(session)
    const { key } = open
    let kept = keptIn(open.extra, this.#client)
    if (kept === null) return null
    const known = withoutRefresh(kept, handle.clock)
    if (known !== undefined) kept = known
    else kept = key === null ? null : await handle.inTurn(this.#refreshed(session.signal, key, open, handle.clock))
    return kept === null ? null : tokensOf(kept)
  }

  async #refreshed(signal: AbortSignal, key: string, open: OpenedSession, clock: Clock): Promise<Kept | null> {
    let shared = this.#refreshing.get(key)
    if (shared === undefined) {
      this.#refreshing.set(key, (shared = { tokens: null, waiting: 0 }))
      shared.tokens = this.#refreshOnce(shared, key, open, clock)
    }
    shared.waiting++
    try {
      return await unlessAborted(signal, shared.tokens!)
    } finally {
      shared.waiting--
    }
  }

  /** Refreshes, or waits for the process that does. */
  async #refreshOnce(shared: Refreshing, key: string, open: OpenedSession, clock: Clock): Promise<Kept | null> {
    const until = clock.now() + this.#patienceMs
    try {
      for (;;) {
        const mine = { is: false }
        const kept = keptIn(await open.changeExtra((extra) => this.#claim(extra, clock, mine)), this.#client)
        if (kept === null) return null // signed out, or signed in again, in the meantime
        if (mine.is) return await this.#refresh(open, clock, kept)
        const known = withoutRefresh(kept, clock)
        if (known !== undefined) return known
        if (shared.waiting === 0 || clock.now() >= until) throw unavailable('another process refreshes the tokens of this session')
        await wait(clock)
      }
    } finally {
      this.#refreshing.delete(key)
    }
  }

  /** The process that notes this first refreshes. */
  #claim(extra: StoredObject, clock: Clock, mine: { is: boolean }): StoredObject | undefined {
    const kept = keptIn(extra, this.#client)
    const now = clock.wallTime()
    mine.is = kept !== null && withoutRefresh(kept, clock) === undefined && kept.refreshingUntil <= now
    return mine.is ? { ...extra, refreshingUntil: now + this.#patienceMs } : undefined
  }

  async #refresh(open: OpenedSession, clock: Clock, kept: Kept): Promise<Kept | null> {
    const note = (next: Kept): Promise<StoredObject | null> =>
      open.changeExtra((extra) => (keptIn(extra, this.#client)?.access === kept.access ? next : undefined))
    let fresh: Kept
    try {
      fresh = keptTokens(this.#client, await this.#provider.refresh(clock, kept.refresh!), clock.wallTime(), kept)
    } catch (error) {
      const isRefused = isInstance(error, WeirError) && error.code === 'WEIR_OIDC_RESPONSE'
      await note({ ...kept, refreshingUntil: 0, ...(isRefused ? { refresh: null } : { failedAt: clock.wallTime() }) })
      if (isValid(kept, clock)) return kept
      if (!isRefused) throw error
      return null
    }
    return (await note(fresh)) === null ? null : fresh
  }
}

/** What a request gets without another refresh. Undefined: one is due. @throws WEIR_OIDC_UNAVAILABLE soon after one has failed */
function withoutRefresh(kept: Kept, clock: Clock): Kept | null | undefined {
  if (isFresh(kept, clock)) return kept
  // Whichever way the clocks of two machines differ.
  const hasFailed = Math.abs(clock.wallTime() - kept.failedAt) < RETRY_MS
  if (kept.refresh !== null && !hasFailed) return undefined
  if (isValid(kept, clock)) return kept
  if (kept.refresh !== null) throw unavailable('it has just failed to refresh the tokens of this session')
  return null
}

function isFresh({ expiresAt }: Kept, clock: Clock): boolean {
  return expiresAt === null || expiresAt - clock.wallTime() > REFRESHED_BEFORE_MS
}

function isValid({ expiresAt }: Kept, clock: Clock): boolean {
  return expiresAt === null || expiresAt > clock.wallTime()
}

function tokensOf({ access, expiresAt, scope, id }: Kept): Tokens {
  return Object.freeze({
    accessToken: access,
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
    scopes: Object.freeze(scope === '' ? [] : scope.split(' ')),
    idToken: id,
  })
}

function unlessAborted<T>(signal: AbortSignal, shared: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error)
    const stay = (): void => signal.removeEventListener('abort', leave)
    signal.addEventListener('abort', leave)
    shared.then(resolve, reject).finally(stay)
    if (signal.aborted) leave()
  })
}

function wait(clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.every(WAIT_MS, () => {
      stop()
      resolve()
    })
  })
}
