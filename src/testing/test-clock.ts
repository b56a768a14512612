// Time that stands still until a test moves it.

import type { Clock } from '../base/clock.ts'

interface Repeating {
  readonly periodMs: number
  readonly tick: () => void
  due: number
}

/** Beginning of its wall time: 1 January 2024, UTC. */
const EPOCH_MS = Date.UTC(2024, 0, 1)

/** The clock of the timeouts that weir keeps for a connection. Timers that a handler sets itself are not moved by it. */
export class TestClock implements Clock {
  #now = 0
  readonly #repeating = new Set<Repeating>()

  now(): number {
    return this.#now
  }

  wallTime(): number {
    return EPOCH_MS + this.#now
  }

  every(periodMs: number, tick: () => void): () => void {
    const one = { periodMs, tick, due: this.#now + periodMs }
    this.#repeating.add(one)
    return () => this.#repeating.delete(one)
  }

  /** How many timers run. */
  get running(): number {
    return this.#repeating.size
  }

  /** Resolves when `ms` have passed. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.every(ms, () => {
        stop()
        resolve()
      })
    })
  }

  /** Lets `ms` pass: every tick that is due on the way happens at its time. What it starts has run when this resolves. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    for (;;) {
      // Somebody else may have moved it further meanwhile.
      const next = Math.max(this.#now, Math.min(end, ...[...this.#repeating].map(({ due }) => due)))
      this.#now = next
      for (const one of this.#repeating) {
        if (one.due > next) continue
        one.due += one.periodMs
        one.tick()
        await settled()
      }
      if (next >= end) break
    }
    await settled()
  }
}

/** Everything that was only waiting for promises has run. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
