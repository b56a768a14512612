// Time, as weir sees it: a thing that is given, so that a test can hold it still.

export interface Clock {
  /** Whole milliseconds from some fixed moment, never running backwards. */
  now(): number
  /** Milliseconds since 1970, for dates that people and caches read. */
  wallTime(): number
  /** Calls `tick` about every `periodMs` until the returned function is called. Never keeps the process alive. */
  every(periodMs: number, tick: () => void): () => void
}

export const systemClock: Clock = {
  // Fractions would cost each connection a number of its own for every moment that it keeps.
  now: () => Math.floor(performance.now()),
  wallTime: () => Date.now(),
  every(periodMs, tick) {
    const timer = setInterval(tick, periodMs)
    timer.unref()
    return () => clearInterval(timer)
  },
}
