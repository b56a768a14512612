// The keys that verify tokens: keys that never change, or the set of an issuer, which is fetched and may change.

import type { KeyObject } from 'node:crypto'
import type * as Jose from 'jose'
import { WeirError } from 'weirjs'
import { CredentialsError } from 'weirjs/auth'
import type { Clock, ExchangeHandle } from 'weirjs/kit'

/** `jose`, once it has been loaded. */
type JoseModule = typeof Jose

export type VerifyingKey = KeyObject | Uint8Array | Jose.CryptoKey

type LocalSet = ReturnType<typeof Jose.createLocalJWKSet>

export interface KeySource {
  /** Changes with every change of the keys, after which tokens have to be verified again. */
  readonly generation: number
  /**
   * Called for each request, cached or not.
   * @returns a promise if keys have to be fetched first
   * @throws WEIR_KEYS_UNAVAILABLE
   */
  prepare(clock: Clock): Promise<void> | undefined
  /**
   * @param isFresh whether keys were fetched for this very token
   * @throws CredentialsError if no key fits, WEIR_KEYS_UNAVAILABLE if the keys cannot be fetched
   */
  find(header: Jose.JWTHeaderParameters, jose: JoseModule, exchange: ExchangeHandle, isFresh: boolean): Promise<VerifyingKey>
}

/** A key, or a set of keys, that does not change. */
export class FixedKeys implements KeySource {
  readonly generation = 0
  readonly #key: KeyObject | Uint8Array | Jose.JSONWebKeySet
  #set: LocalSet | null = null

  constructor(key: KeyObject | Uint8Array | Jose.JSONWebKeySet) {
    this.#key = key
  }

  prepare(): undefined {}

  async find(header: Jose.JWTHeaderParameters, jose: JoseModule): Promise<VerifyingKey> {
    if (!('keys' in this.#key && Array.isArray(this.#key.keys))) return this.#key as KeyObject | Uint8Array
    this.#set ??= jose.createLocalJWKSet(this.#key as Jose.JSONWebKeySet)
    return (await keyIn(this.#set, header, jose)) ?? refuseKey()
  }
}

/** Fetches the set, as text. */
export type FetchSet = () => Promise<string>

/** Older keys are replaced in the background. */
const FRESH_MS = 10 * 60_000
/** Older keys are not used: by then, the issuer may have withdrawn one that was stolen. */
const LONGEST_MS = 60 * 60_000
/** How long further unknown values of `kid` cause no request to the issuer after one has. */
const UNKNOWN_MS = 30_000
/** How long to wait after a failure. */
const RETRY_MS = 5_000

/** The keys of an issuer, fetched when they are first needed. Requests at the same time share one fetch. */
export class FetchedKeys implements KeySource {
  generation = 0
  readonly #fetch: FetchSet
  readonly #onError: (error: unknown) => void
  #jose: JoseModule | null = null
  #text = ''
  #set: LocalSet | null = null
  #fetchedAt = 0
  #failedAt = Number.NEGATIVE_INFINITY
  /** Of the last request; null if it succeeded. */
  #failure: unknown = null
  #unknownAt = Number.NEGATIVE_INFINITY
  #fetching: Promise<void> | null = null

  constructor(fetch: FetchSet, onError: (error: unknown) => void) {
    this.#fetch = fetch
    this.#onError = onError
  }

  prepare(clock: Clock): Promise<void> | undefined {
    const now = clock.now()
    const age = this.#set === null ? Number.POSITIVE_INFINITY : now - this.#fetchedAt
    if (age <= FRESH_MS) return undefined
    const hasFailed = now - this.#failedAt < RETRY_MS
    if (age > LONGEST_MS) {
      if (hasFailed) throw unavailable(this.#failure)
      return this.#refresh(clock)
    }
    if (!hasFailed && this.#fetching === null) this.#refresh(clock).catch(() => {}) // the failure was reported; the current keys stay in use
    return undefined
  }

  async find(header: Jose.JWTHeaderParameters, jose: JoseModule, exchange: ExchangeHandle, isFresh: boolean): Promise<Jose.CryptoKey> {
    this.#jose = jose
    const known = await keyIn(this.#set!, header, jose)
    if (known !== null) return known
    const now = exchange.clock.now()
    if (isFresh) this.#unknownAt = now // this `kid` has caused its request
    if (this.#fetching === null) {
      if (now - this.#unknownAt < UNKNOWN_MS) throw this.#failure === null ? unknownKey() : unavailable(this.#failure)
      if (now - this.#failedAt < RETRY_MS) throw unavailable(this.#failure)
      this.#unknownAt = now
    }
    await exchange.inTurn(this.#refresh(exchange.clock))
    return (await keyIn(this.#set!, header, jose)) ?? refuseKey()
  }

  #refresh(clock: Clock): Promise<void> {
    this.#fetching ??= this.#replace(clock).finally(() => {
      this.#fetching = null
    })
    return this.#fetching
  }

  async #replace(clock: Clock): Promise<void> {
    try {
      const jose = (this.#jose ??= await import('jose'))
      const text = await this.#fetch()
      if (this.#set === null || text !== this.#text) {
        this.#set = jose.createLocalJWKSet(JSON.parse(text) as Jose.JSONWebKeySet)
        this.#text = text
        this.generation++
      }
      this.#fetchedAt = clock.now()
      this.#failure = null
    } catch (error) {
      this.#failedAt = clock.now()
      this.#failure = error
      this.#onError(error)
      throw unavailable(error)
    }
  }
}

/** Null if no key of the set fits. @throws CredentialsError if several fit, or the key that fits cannot be used */
async function keyIn(set: LocalSet, header: Jose.JWTHeaderParameters, jose: JoseModule): Promise<Jose.CryptoKey | null> {
  try {
    return await set(header)
  } catch (error) {
    if (error instanceof jose.errors.JWKSNoMatchingKey) return null
    if (error instanceof jose.errors.JWKSMultipleMatchingKeys) throw new CredentialsError('several keys fit the token, which names none')
    throw new CredentialsError('the key of the token cannot be used')
  }
}

function refuseKey(): never {
  throw unknownKey()
}

function unknownKey(): CredentialsError {
  return new CredentialsError('the key of the token is not known')
}

function unavailable(cause: unknown): WeirError {
  return new WeirError('WEIR_KEYS_UNAVAILABLE', undefined, { cause })
}
