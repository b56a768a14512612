// The tokens of a session: kept with it in the store, and refreshed by one request at a time, whichever process it is in.

import { WeirError } from 'weirjs'
import type { Clock } from 'weirjs/kit'
import { isInstance } from 'weirjs/kit'
import type { OpenedSession, StoredObject } from 'weirjs/sessions'
import type { Provider, TokenResponse } from './provider.ts'

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
}

/** An access token that expires sooner is refreshed. */
const REFRESHED_BEFORE_MS = 30_000
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
  /** How long a request may take to refresh, before another one tries. */
  readonly #patienceMs: number

  constructor(provider: Provider, client: string, timeoutMs: number) {
    this.#provider = provider
    this.#client = client
    this.#patienceMs = 2 * timeoutMs
  }

  /** Tokens that are valid for some time. Null: the principal has to sign in again. @throws WEIR_OIDC_UNAVAILABLE, WEIR_STORE_UNAVAILABLE */
  async tokensOf(open: OpenedSession, clock: Clock): Promise<Tokens | null> {
    let kept = keptIn(open.extra, this.#client)
    if (kept === null) return null
    if (isFresh(kept, clock)) return tokensOf(kept)
    for (;;) {
      if (kept.refresh === null) return isValid(kept, clock) ? tokensOf(kept) : null
      const mine = { is: false }
      kept = keptIn(await open.changeExtra((extra) => this.#claim(extra, clock, mine)), this.#client)
      if (kept === null) return null // signed out, or signed in again, in the meantime
      if (mine.is) return this.#refresh(open, clock, kept)
      if (isFresh(kept, clock)) return tokensOf(kept)
      await wait(clock)
    }
  }

  /** The request that notes this first refreshes. */
  #claim(extra: StoredObject, clock: Clock, mine: { is: boolean }): StoredObject | undefined {
    const kept = keptIn(extra, this.#client)
    const now = clock.wallTime()
    mine.is = kept !== null && kept.refresh !== null && !isFresh(kept, clock) && kept.refreshingUntil <= now
    return mine.is ? { ...extra, refreshingUntil: now + this.#patienceMs } : undefined
  }

  async #refresh(open: OpenedSession, clock: Clock, kept: Kept): Promise<Tokens | null> {
    let fresh: Kept | null
    try {
      fresh = keptTokens(this.#client, await this.#provider.refresh(clock, kept.refresh!), clock.wallTime(), kept)
    } catch (error) {
      const isRefused = isInstance(error, WeirError) && error.code === 'WEIR_OIDC_RESPONSE'
      const rest = isRefused ? { ...kept, refresh: null, refreshingUntil: 0 } : { ...kept, refreshingUntil: 0 }
      await open.changeExtra((extra) => (keptIn(extra, this.#client)?.access === kept.access ? rest : undefined))
      if (!isRefused && isValid(kept, clock)) return tokensOf(kept)
      if (!isRefused) throw error
      fresh = null
    }
    if (fresh === null) return isValid(kept, clock) ? tokensOf(kept) : null
    const stored = await open.changeExtra((extra) => (keptIn(extra, this.#client)?.access === kept.access ? fresh : undefined))
    return stored === null ? null : tokensOf(fresh)
  }
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

function wait(clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.every(WAIT_MS, () => {
      stop()
      resolve()
    })
  })
}
