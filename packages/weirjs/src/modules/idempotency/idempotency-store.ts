// Where the outcomes of requests are kept: in memory, or in Redis.

import type { Clock } from '../../base/clock.ts'

import type { Owner } from './shares.ts'

/**
 * What `begin` has found:
 *
 * - `begun`: nothing. The key is reserved now.
 * - `unavailable`: the store does not reply, and was not asked again. Nothing is reserved, so nothing has to be abandoned. The request is refused.
 * - `running`: the request with this key is in progress.
 * - `unknown`: it was in progress, and it is not known how it ended.
 * - `done`: it is complete; `outcome` is what `finish` was given.
 */
export type Begun =
  | { readonly state: 'begun' }
  | { readonly state: 'unavailable'; readonly cause: unknown }
  | { readonly state: 'running'; readonly fingerprint: string }
  | { readonly state: 'unknown'; readonly fingerprint: string }
  | { readonly state: 'done'; readonly fingerprint: string; readonly outcome: string }

/** What a key is reserved for. */
export interface Attempt {
  /** The sender: the principal, or the network of the client. */
  readonly owner: Owner
  /** Of the request: another request has another one. */
  readonly fingerprint: string
  /** Of this attempt. */
  readonly token: string
  /** How long the reservation holds unless it is prolonged. */
  readonly leaseMs: number
  /** How long the key is remembered. */
  readonly ttlMs: number
  /** Whether an attempt whose outcome is unknown is made again, if the request is the same. */
  readonly retriesUnknown: boolean
}

/** Made by `memoryIdempotency` or `redisIdempotency`. All functions may reject: then requests are refused. */
export interface IdempotencyStore {
  /** Whether the store does not reply. For readiness checks. */
  readonly isDegraded: boolean
  /** Reserves a key, in one step. @param clock of the server; a store that processes share has its own */
  begin(key: string, attempt: Attempt, clock: Clock): Promise<Begun>
  /** Prolongs the reservation, if it has this token. */
  extend(key: string, token: string, leaseMs: number): Promise<void>
  /** Keeps the outcome, if the reservation has this token. */
  finish(key: string, token: string, outcome: string, ttlMs: number, clock: Clock): Promise<void>
  /** Ends the reservation. `forget`: as if there had been no request. `unknown`: it is not known how it ended. */
  abandon(key: string, token: string, as: 'forget' | 'unknown'): Promise<void>
}
