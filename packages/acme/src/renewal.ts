// When a certificate is to be renewed: at the moment that the CA suggests (RFC 9773), otherwise at two thirds of its life.

import { createHash } from 'node:crypto'

import { type Clock, isInstance } from 'weirjs/kit'

import { type CaClient, CaRefusal, objectIn, printable } from './ca-client.ts'
import type { StoredCertificate } from './stored-certificate.ts'

const MINUTE_MS = 60_000
const SHORTEST_INTERVAL_MS = MINUTE_MS
const LONGEST_INTERVAL_MS = 24 * 60 * MINUTE_MS
const USUAL_INTERVAL_MS = 6 * 60 * MINUTE_MS

export class RenewalTime {
  readonly #clock: Clock
  #asked: StoredCertificate | null = null
  /** The time that the CA has suggested; null for none. */
  #suggested: number | null = null
  /** The URL at which the CA explains its suggestion. */
  #explanation: string | null = null
  /** By the wall clock, in milliseconds. */
  #askedAt = 0
  #askAgainAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The URL of a page about the last suggestion, in which the CA may say more; null for none. */
  get explanation(): string | null {
    return this.#explanation
  }

  /**
   * Returns the time of renewal in milliseconds since 1970. While the CA cannot be asked, its last suggestion counts.
   *
   * @param client null: it cannot be asked now
   * @throws (rejects) the reason of the signal
   */
  async of(certificate: StoredCertificate, client: CaClient | null, signal: AbortSignal): Promise<number> {
    const now = this.#clock.wallTime()
    if (this.#asked?.pem !== certificate.pem) {
      this.#asked = certificate
      this.#suggested = this.#explanation = null
      this.#askAgainAt = 0
    }
    // A clock that was set back says nothing about the time since then.
    if (client !== null && (now >= this.#askAgainAt || now < this.#askedAt)) await this.#ask(certificate, client, signal)
    return this.#suggested ?? usualTime(certificate)
  }

  async #ask(certificate: StoredCertificate, client: CaClient, signal: AbortSignal): Promise<void> {
    const now = this.#clock.wallTime()
    this.#askedAt = now
    this.#askAgainAt = now + Math.min(USUAL_INTERVAL_MS, Math.max(SHORTEST_INTERVAL_MS, certificate.lifeMs / 24))
    const id = certificate.renewalId
    if (id === null) return
    try {
      const { renewalInfo } = await client.directory(signal)
      if (renewalInfo === undefined) {
        this.#suggested = this.#explanation = null
        return
      }
      const url = `${renewalInfo.replace(/\/$/, '')}/${id}`
      const { text, retryAfterMs } = await client.get(url, signal)
      const info = objectIn(text, url) as RenewalInfo
      this.#suggested = momentIn(info, certificate)
      this.#explanation = typeof info.explanationURL === 'string' ? printable(info.explanationURL) : null
      this.#askLater(now, retryAfterMs)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof Error)) throw error
      if (isInstance(error, CaRefusal)) this.#askLater(now, error.retryAfterMs)
    }
  }

  #askLater(now: number, retryAfterMs: number | null): void {
    if (retryAfterMs !== null) this.#askAgainAt = now + Math.min(LONGEST_INTERVAL_MS, Math.max(SHORTEST_INTERVAL_MS, retryAfterMs))
  }
}

interface RenewalInfo {
  readonly suggestedWindow?: { readonly start?: string; readonly end?: string }
  readonly explanationURL?: unknown
}

export function usualTime({ notBefore, lifeMs }: StoredCertificate): number {
  return notBefore + (lifeMs * 2) / 3
}

/**
 * A moment in the window, which differs for each certificate, but is the same for all processes and after each restart. Null if the window is
 * malformed, or begins when the certificate has expired.
 */
function momentIn({ suggestedWindow }: RenewalInfo, certificate: StoredCertificate): number | null {
  const start = Date.parse(suggestedWindow?.start ?? '')
  const end = Date.parse(suggestedWindow?.end ?? '')
  if (!(start < end) || start >= certificate.notAfter) return null
  const digest = createHash('sha256').update(`${certificate.pem}\n${start}\n${end}`).digest()
  return start + ((Math.min(end, certificate.notAfter) - start) * digest.readUInt32BE()) / 2 ** 32
}
