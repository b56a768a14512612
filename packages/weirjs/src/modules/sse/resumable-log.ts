// The state that results from the messages of one key. It depends only on their order, so every process that reads them gets the same state.

import { keepNewest } from '../../base/keep-newest.ts'
import { costOf, EncodedEvent } from './event.ts'
import type { Claim, End, RunMessage, Said } from './resumable-message.ts'

/** The most runs of which a claim that is read again is recognized as old. */
const MOST_RUNS = 100

/** One run of the work, and its events so far. */
export class KeptRun {
  readonly id: string
  readonly events: EncodedEvent[] = []
  /** The size of `events`, as a queue counts it. */
  bytes = 0
  /** The event after all others. Null: the work continues. */
  end: EncodedEvent | null = null
  /** Wall time. */
  endedAt = 0
  /** Whether another run has replaced it, because the relay has lost this one. */
  isLost = false

  constructor(id: string) {
    this.id = id
  }

  /** @returns the number of the event after the event with this id; null for an id of something else */
  positionAfter(id: string): number | null {
    const prefix = `${this.id}-`
    if (!id.startsWith(prefix)) return null
    const number = /^(?:0|[1-9]\d{0,8})$/.exec(id.slice(prefix.length))
    return number === null ? null : Number(number[0]) + 1
  }
}

/** Whether it is the id of the end of a run. A client that has seen the end has seen everything. */
export function isEndId(id: string): boolean {
  return /^[\w-]{22}-end$/.test(id)
}

export class RunLog {
  run: KeptRun | null = null
  epoch = 0
  /** The process that works; null for none. */
  owner: string | null = null
  /** Whether the relay has dropped the beginning of the run whose messages have arrived. */
  isHeadless = false
  readonly #seen = new Set<string>()
  /** The first attempt of the worker in which nothing was missing so far. Messages after a missing event do not count, for any reader at any time. */
  #attempt = 0

  /** @returns whether it changed anything: a message that is out of place or repeated does not */
  apply(message: RunMessage): boolean {
    if (message.kind === 'claim') return this.#claim(message)
    const { run } = this
    if (message.kind === 'cancel') {
      if (run === null || run.end !== null) return false
      this.#end(run, { reason: 'cancelled', at: message.at })
      return true
    }
    if (run === null && !this.#seen.has(message.run)) this.isHeadless = true
    if (run === null || run.end !== null || message.run !== run.id || message.epoch !== this.epoch) return false
    if (message.kind === 'release') {
      this.owner = null
      return true
    }
    if (message.attempt < this.#attempt || message.n < run.events.length) return false
    if (message.n > run.events.length) {
      this.#attempt = message.attempt + 1
      return false
    }
    if (message.kind === 'end') this.#end(run, message)
    else this.#add(run, message)
    return true
  }

  /** Whether the worker has to send this again, because something before it is missing. */
  isTooEarly(message: RunMessage): boolean {
    if (message.kind !== 'event' && message.kind !== 'end') return false
    const { run } = this
    return run !== null && run.end === null && message.run === run.id && message.epoch === this.epoch && message.n > run.events.length
  }

  #claim({ run: id, epoch, by, from }: Claim): boolean {
    const { run } = this
    const isNext = this.epoch > 0 && epoch === this.epoch + 1
    const isNew = from === 0 && (this.epoch === 0 || epoch === 1) && !this.#seen.has(id)
    const goesOn = run !== null && run.end === null
    if (!isNew && (!isNext || goesOn !== (id === run?.id))) return false
    if (!goesOn || id !== run.id) {
      if (goesOn) run.isLost = true
      this.run = new KeptRun(id)
      this.#seen.add(id)
      keepNewest(this.#seen, MOST_RUNS)
    }
    this.#attempt = 0
    this.epoch = epoch
    this.owner = by
    this.isHeadless = false
    return true
  }

  #add(run: KeptRun, { n, data, event }: Said): void {
    const encoded = new EncodedEvent({
      id: `${run.id}-${n}`,
      ...(event === undefined ? {} : { event }),
      ...(data === undefined ? {} : { data }),
    })
    run.events.push(encoded)
    run.bytes += costOf(encoded)
  }

  #end(run: KeptRun, { reason, problem, at }: Pick<End, 'reason' | 'problem' | 'at'>): void {
    const data = `{"reason":${JSON.stringify(reason)}${problem === undefined ? '' : `,"problem":${problem}`}}`
    run.end = new EncodedEvent({ id: `${run.id}-end`, event: 'end', data })
    run.endedAt = at
    this.owner = null
  }
}
