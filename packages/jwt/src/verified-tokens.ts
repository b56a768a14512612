// Remembers verified tokens, so that the next request with the same token costs a digest instead of the check of a signature.

import { hash } from 'node:crypto'
import type { AnyPrincipal } from 'weirjs/auth'

interface Entry<P> {
  readonly principal: P
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** The revision of the keys. */
  readonly generation: number
}

/** Holds a bounded number of tokens; when full, the oldest is forgotten. Only the SHA-256 of a token is kept. */
export class VerifiedTokens<P extends AnyPrincipal> {
  readonly #entries = new Map<string, Entry<P>>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** Null for a token that is not known, has expired, or was verified with keys that have changed since. */
  get(digest: string, generation: number, wallTime: number): P | null {
    const entry = this.#entries.get(digest)
    if (entry === undefined) return null
    if (entry.expiresAt > wallTime && entry.generation === generation) return entry.principal
    this.#entries.delete(digest)
    return null
  }

  add(digest: string, principal: P, expiresAt: number, generation: number): void {
    this.#entries.set(digest, { principal, expiresAt, generation })
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#most) return
      this.#entries.delete(oldest)
    }
  }
}

export function digestOf(token: string): string {
  return hash('sha256', token, 'base64')
}
