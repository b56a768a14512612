// The timeout of a Node socket: it reports each period of silence until it is stopped.

import type { Clock } from '../base/clock.ts'

/** For a socket without a timeout. */
export const NO_TIMEOUT = 0

export class IdleTimer {
  readonly #clock: Clock
  readonly #onIdle: () => void
  #stop: (() => void) | null = null
  #activeAt = 0
  /** Milliseconds of silence. */
  timeout = NO_TIMEOUT

  constructor(clock: Clock, onIdle: () => void) {
    this.#clock = clock
    this.#onIdle = onIdle
  }

  /** @param msecs of silence; 0 for no timeout */
  start(msecs: number): void {
    this.stop()
    this.timeout = msecs
    if (!(msecs > 0)) return
    const clock = this.#clock
    this.#activeAt = clock.now()
    this.#stop = clock.every(Math.max(1, msecs), () => {
      if (clock.now() - this.#activeAt < msecs) return
      this.#activeAt = clock.now()
      this.#onIdle()
    })
  }

  /** Something was received or sent. */
  touch(): void {
    if (this.#stop !== null) this.#activeAt = this.#clock.now()
  }

  stop(): void {
    this.#stop?.()
    this.#stop = null
  }
}

/** As `setTimeout` of a socket of Node does. */
export function listenForTimeout(socket: NodeJS.EventEmitter, msecs: number, callback: (() => void) | undefined): void {
  if (callback === undefined) return
  if (msecs > 0) socket.once('timeout', callback)
  else socket.removeListener('timeout', callback)
}
