// The source of time. It is passed in, so that a test can stop it.

export interface Clock {
  /** Whole milliseconds since some fixed moment. Never runs backwards. */
  now(): number
  /** Milliseconds since 1970, for dates that people and caches read. */
  wallTime(): number
  /** Calls `tick` about every `periodMs` milliseconds until the returned function is called. Never keeps the process alive. */
  every(periodMs: number, tick: () => void): () => void
}

export const systemClock: Clock = {
  // Every fraction that a connection keeps would take an allocation of its own.
  now: () => Math.floor(performance.now()),
  wallTime: () => Date.now(),
  every(periodMs, tick) {
    const timer = setInterval(tick, periodMs)
    timer.unref()
    return () => clearInterval(timer)
  },
}
