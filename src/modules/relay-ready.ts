// How long a client that connects waits until it would hear messages of other processes.

import type { Clock } from '../base/clock.ts'

/** A relay needs a round trip. While it is away, clients are served without it. */
const MOST_MS = 1_000

/** Resolves when the relay is away, when a subscription is ready, and after a second at the latest. Never rejects. */
export function readyOrAway(relay: { readonly isConnected: boolean }, ready: Promise<void>, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    if (!relay.isConnected) return resolve()
    const done = (): void => {
      stopTimer()
      resolve()
    }
    const stopTimer = clock.every(MOST_MS, done)
    ready.then(done, done)
  })
}
