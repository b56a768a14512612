// The source of time. It is passed in, so that a test can stop it.

/** The longest delay that Node's timers support, in milliseconds. They replace a longer one by 1. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1

/**
 * A source of time. The clock of a request is `exchange(session).clock`: the server's, which the test clock of `weirjs/testing` can move. All times are in
 * milliseconds.
 */
export interface Clock {
  /** Whole milliseconds since some fixed moment. Never runs backwards. */
  now(): number
  /** Milliseconds since 1970, for dates that people and caches read. */
  wallTime(): number
  /**
   * Calls `tick` about every `periodMs` milliseconds, or every 24.8 days if that is less, until the returned function is called. Never keeps the
   * process alive.
   */
  every(periodMs: number, tick: () => void): () => void
}

/** The time of this machine: the default of an option `clock`. It lives as long as the process. */
export const systemClock: Clock = {
  // Every fraction that a connection keeps would take an allocation of its own.
  now: () => Math.floor(performance.now()),
  wallTime: () => Date.now(),
  every(periodMs, tick) {
    const timer = setInterval(tick, Math.min(periodMs, LONGEST_TIMER_MS))
    timer.unref()
    return () => clearInterval(timer)
  },
}
