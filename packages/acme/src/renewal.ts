// When a certificate is to be renewed: at the moment that the CA suggests (RFC 9773), otherwise at two thirds of its life.

import { createHash } from 'node:crypto'

import type { Clock } from 'weirjs/kit'

import { type CaClient, objectIn } from './ca-client.ts'
import type { StoredCertificate } from './stored-certificate.ts'

const MINUTE_MS = 60_000
const SHORTEST_INTERVAL_MS = MINUTE_MS
const LONGEST_INTERVAL_MS = 24 * 60 * MINUTE_MS
const USUAL_INTERVAL_MS = 6 * 60 * MINUTE_MS

export class RenewalTime {
  readonly #clock: Clock
  #asked: StoredCertificate | null = null
  /** What the CA has suggested; null: nothing. */
  #suggested: number | null = null
  /** By the wall clock, in milliseconds. */
  #askAgainAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Milliseconds since 1970. What the CA has said last counts while it cannot be asked. @throws (rejects) the reason of the signal */
  async of(certificate: StoredCertificate, client: CaClient, signal: AbortSignal): Promise<number> {
    const now = this.#clock.wallTime()
    if (this.#asked?.pem !== certificate.pem) {
      this.#asked = certificate
      this.#suggested = null
      this.#askAgainAt = 0
    }
    if (now >= this.#askAgainAt) await this.#ask(certificate, client, signal)
    return this.#suggested ?? usualTime(certificate)
  }

  async #ask(certificate: StoredCertificate, client: CaClient, signal: AbortSignal): Promise<void> {
    const now = this.#clock.wallTime()
    this.#askAgainAt = now + Math.min(USUAL_INTERVAL_MS, Math.max(SHORTEST_INTERVAL_MS, certificate.lifeMs / 24))
    const id = certificate.renewalId
    if (id === null) return
    try {
      const { renewalInfo } = await client.directory(signal)
      if (renewalInfo === undefined) {
        this.#suggested = null
        return
      }
      const url = `${renewalInfo.replace(/\/$/, '')}/${id}`
      const { text, retryAfterMs } = await client.get(url, signal)
      this.#suggested = momentIn(objectIn(text, url) as RenewalInfo, certificate)
      if (retryAfterMs !== null) this.#askAgainAt = now + Math.min(LONGEST_INTERVAL_MS, Math.max(SHORTEST_INTERVAL_MS, retryAfterMs))
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof Error)) throw error
    }
  }
}

interface RenewalInfo {
  readonly suggestedWindow?: { readonly start?: string; readonly end?: string }
}

export function usualTime({ notBefore, lifeMs }: StoredCertificate): number {
  return notBefore + (lifeMs * 2) / 3
}

/**
 * A moment in the window, which is another for each certificate, and the same for all processes and after each restart. Null if the window is
 * malformed.
 */
function momentIn({ suggestedWindow }: RenewalInfo, certificate: StoredCertificate): number | null {
  const start = Date.parse(suggestedWindow?.start ?? '')
  const end = Date.parse(suggestedWindow?.end ?? '')
  if (!(start < end)) return null
  const digest = createHash('sha256').update(`${certificate.pem}\n${start}\n${end}`).digest()
  return start + ((end - start) * digest.readUInt32BE()) / 2 ** 32
}
