// Records that observers have yet to receive, about responses over HTTP/2 that are complete but may not have been sent.
//
// Frames of many responses leave with one write. Each response ends with the write that took its last frame, however much of other responses is
// written after that.

import { clientGone } from '../../base/errors.ts'
import { MOST_LOOKS } from '../observe/connection-records.ts'
import type { Observers, Unsent } from '../observe/observers.ts'
import type { Recording } from '../observe/recording.ts'

/** The state of the writes to the client. */
interface Sending {
  /** How many writes there have been. */
  readonly writes: number
  /** The write that takes the frames made last. */
  readonly lastWrite: number
  /** Whether the operating system has taken all of them. */
  readonly hasSentAll: boolean
  /** Whether the result of the last write is told in a later turn. */
  readonly awaitsResult: boolean
}

interface Waiting {
  readonly recording: Recording
  /** The write that takes its last frame. */
  readonly write: number
  /** Whether it had not been sent when it was last checked. */
  hasWaited: boolean
}

export class SentRecords implements Unsent {
  readonly #observers: Observers
  readonly #sending: Sending
  #waiting: Waiting[] = []
  /** In how many turns the result of the last write was not known. */
  #looks = 0

  constructor(observers: Observers, sending: Sending) {
    this.#observers = observers
    this.#sending = sending
  }

  /** All frames of a response have been made. */
  handOver(recording: Recording): void {
    this.#waiting.push({ recording, write: this.#sending.lastWrite, hasWaited: false })
  }

  /** Ends the records of what has been sent. Call it whenever something may have been. @param now by the clock of the durations, if it has been read */
  settle(now?: number): void {
    const waiting = this.#waiting
    if (waiting.length === 0) return
    const { writes, hasSentAll, awaitsResult } = this.#sending
    let done = 0
    if (hasSentAll && awaitsResult) {
      if (this.#looks++ < MOST_LOOKS) this.#observers.lookLater(this)
    } else if (hasSentAll) {
      this.#looks = 0
      for (; done < waiting.length && waiting[done]!.write <= writes; done++) {
        const { recording, hasWaited } = waiting[done]!
        if (hasWaited) recording.markEnd(now)
        this.#observers.end(recording)
      }
    }
    if (done > 0) this.#waiting = waiting.slice(done)
    for (const one of this.#waiting) one.hasWaited = true
  }

  /** Nothing more is sent. */
  close(error: Error | null): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { recording } of waiting) {
      recording.abort(error ?? clientGone())
      this.#observers.end(recording)
    }
  }
}
