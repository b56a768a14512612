// Which hosts are answered at one endpoint.

import type { HostRule } from '../../http/connection-info.ts'

/** A longer host is not remembered. */
const MAX_REMEMBERED_CHARS = 128

export class EndpointHosts implements HostRule {
  readonly answered: string
  readonly #isServed: (host: string) => boolean
  readonly #onRefused: (host: string) => void
  /** The last host that was served: the next one is usually the same. */
  #last: string | null = null

  /** @param onRefused is told about each refused request */
  constructor(answered: string, isServed: (host: string) => boolean, onRefused: (host: string) => void) {
    this.answered = answered
    this.#isServed = isServed
    this.#onRefused = onRefused
  }

  serves(host: string): boolean {
    if (host === this.#last) return true
    if (!this.#isServed(host)) return false
    if (host.length <= MAX_REMEMBERED_CHARS) this.#last = host
    return true
  }

  /** A request for this host has been refused. */
  tell(host: string): void {
    this.#onRefused(host)
  }
}
