// How long a client that connects waits until it would hear messages of other processes.

import type { Clock } from '../../base/clock.ts'

/** A relay needs a round trip or two. While it is away, clients are served without it. */
const MOST_MS = 1_000

/**
 * Resolves when clients may connect: when the subscription is ready, and after a second at the latest. Never rejects.
 *
 * @param ready of the subscription
 * @param onLate called when it becomes ready after that second: clients that have connected meanwhile may have missed messages
 */
export function readyOrLate(ready: Promise<void>, clock: Clock, onLate: () => void): Promise<void> {
  return new Promise((resolve) => {
    let isLate = false
    const stopTimer = clock.every(MOST_MS, () => {
      isLate = true
      stopTimer()
      resolve()
    })
    const settle = (): void => {
      stopTimer()
      resolve()
    }
    ready.then(() => (isLate ? onLate() : settle()), settle)
  })
}
