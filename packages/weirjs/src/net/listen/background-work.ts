// Work that continues after its response. A stop of the server waits for it.

import { Countdown } from '../time/countdown.ts'

export class BackgroundWork {
  readonly #running = new Set<Promise<void>>()
  /** While a stop is waiting. */
  #limit: Countdown | null = null

  get isEmpty(): boolean {
    return this.#running.size === 0
  }

  /** @param onError called if it fails; must not throw */
  add(work: Promise<unknown>, onError: (error: unknown) => void): void {
    const ended = Promise.resolve(work).then(
      () => void this.#running.delete(ended),
      (error: unknown) => {
        this.#running.delete(ended)
        onError(error)
      },
    )
    this.#running.add(ended)
  }

  /** A stop begins, which waits no longer than this. */
  limit(graceMs: number): void {
    this.#limit = new Countdown(graceMs)
  }

  shorten(graceMs: number): void {
    this.#limit?.shorten(graceMs)
  }

  /** Resolves when all work has ended, including work that is added meanwhile, or at the limit. @returns the number of promises that have not settled */
  async ended(): Promise<number> {
    let isOver = false
    const over = this.#limit?.over.then(() => void (isOver = true))
    while (!isOver && !this.isEmpty) await Promise.race([Promise.all(this.#running), over])
    this.#limit?.shorten(0)
    this.#limit = null
    return this.#running.size
  }
}
