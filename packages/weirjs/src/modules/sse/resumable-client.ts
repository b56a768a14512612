// One client of a resumable stream. It reads what the run has kept at its own pace, so a slow one costs nothing.

import type { EncodedEvent } from './event.ts'
import type { KeptRun } from './resumable-log.ts'

/** The key, as a client sees it. */
export interface WatchedKey {
  /** The run that a client that connects now reads; null if it is not known yet. @throws the reason why there will be none */
  readonly current: KeptRun | null
  /** What clients get in place of events that they have seen, or missed, of a run that is gone. */
  readonly gap: EncodedEvent
  /** Called before the client waits for the key to wake it. @throws the reason why there will be no run */
  checkFailure(): void
  /** Whether the work ends with this server, with an event that says so. */
  endsWith(stopping: AbortSignal): boolean
  leave(client: ResumableClient): void
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** It has one reader, which waits for each event before it requests the next. */
export class ResumableClient implements AsyncIterableIterator<EncodedEvent> {
  readonly #key: WatchedKey
  readonly #lastEventId: string | null
  #run: KeptRun | null = null
  #next = 0
  /** Whether it has the end. */
  #isTold = false
  #hasLeft = false
  #wake: (() => void) | null = null

  constructor(key: WatchedKey, lastEventId: string | null) {
    this.#key = key
    this.#lastEventId = lastEventId
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<EncodedEvent>> {
    while (!this.#hasLeft) {
      if (this.#run === null) {
        this.#run = this.#key.current
        const position = this.#run?.positionAfter(this.#lastEventId ?? '') ?? 0
        this.#next = position
        if (this.#run !== null && position === 0 && this.#lastEventId !== null) return { value: this.#key.gap }
      }
      const { events = [], end = null, isLost = false } = this.#run ?? {}
      if (this.#next < events.length) return { value: events[this.#next++]! }
      if (end !== null && !this.#isTold) {
        this.#isTold = true
        return { value: end }
      }
      if (end !== null || isLost) break
      this.#key.checkFailure()
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    this.#leave()
    return DONE
  }

  /** Whether it has begun with no run yet. */
  get isWaiting(): boolean {
    return this.#run === null
  }

  /** Takes the next event if it waits already, and has at most `mostBytes`. */
  take(mostBytes: number): EncodedEvent | null {
    const next = this.#hasLeft ? undefined : this.#run?.events[this.#next]
    if (next === undefined || next.bytes.length > mostBytes) return null
    this.#next++
    return next
  }

  return(): Promise<IteratorResult<EncodedEvent>> {
    this.#leave()
    return Promise.resolve(DONE)
  }

  /** Something has changed. */
  wake(): void {
    const wake = this.#wake
    this.#wake = null
    wake?.()
  }

  /** Whether its stream ends by itself when this server stops, with an event that says so. */
  endsWith(stopping: AbortSignal): boolean {
    return (this.#run !== null && this.#run.end !== null) || this.#key.endsWith(stopping)
  }

  #leave(): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.wake()
    this.#key.leave(this)
  }
}
