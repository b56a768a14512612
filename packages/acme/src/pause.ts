// Waits by a clock, which a test can move. Waiting does not keep the process alive.

import type { Clock } from 'weirjs/kit'

/** Rejects with the reason of the signal. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error)
    const end = clock.now() + ms
    const done = (): void => {
      stop()
      signal.removeEventListener('abort', onAbort)
    }
    const onAbort = (): void => {
      done()
      reject(signal.reason as Error)
    }
    const stop = clock.every(Math.max(1, ms), () => {
      if (clock.now() < end) return // a timer may be shorter than asked for
      done()
      resolve()
    })
    signal.addEventListener('abort', onAbort)
  })
}
