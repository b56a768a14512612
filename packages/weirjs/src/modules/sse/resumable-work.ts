// The work of one run in the process that does it: takes its events one by one, and puts them into the log in order.

import { AsyncResource } from 'node:async_hooks'
import { Buffer } from 'node:buffer'

import type { Clock } from '../../base/clock.ts'
import { WeirError } from '../../base/errors.ts'
import { FairQueue } from '../../base/fair-queue.ts'
import { problemFor } from '../../http/response/error-problem.ts'
import { madeEvents } from './event.ts'
import type { RelayEvent } from './event-envelope.ts'
import { RELAY_EVENT_RULES } from './relay-channel.ts'
import { type End, type EndReason, type Said, storedEvent } from './resumable-message.ts'

/** How many events may wait for the relay. The work is not asked for more. */
const MOST_PENDING = 256
/** How long to wait before trying again after the relay has refused a message. */
const RETRY_MS = 1_000
/** What an event costs in addition to its text, about as in a queue of a client. */
const ENTRY_BYTES = 128
/** How many events all works take from sources that never really wait in one turn of the event loop. A KiB counts as one more. */
const EVENTS_PER_TURN = 512

const turns = FairQueue.turns(EVENTS_PER_TURN)

export type Start = (signal: AbortSignal, kept: number) => AsyncIterable<RelayEvent | string>

interface WorkSettings {
  /** Who has begun it: clients take turns. */
  readonly client: string
  readonly run: string
  readonly epoch: number
  /** How many events there are already, and their size. */
  readonly kept: number
  readonly keptBytes: number
  readonly maxEvents: number
  readonly maxSize: number
  readonly maxTime: number
  readonly clock: Clock
  readonly onError: (error: unknown) => void
  /** Rejects, or throws, if the message may not be in the log. */
  readonly publish: (message: Said | End) => Promise<unknown> | null
}

type Unsent = Omit<Said, 'attempt'> | Omit<End, 'attempt'>

export class Work {
  readonly #settings: WorkSettings
  readonly #ending = new AbortController()
  #abort: () => void = () => this.#ending.abort()
  /** The messages that are not in the log yet. */
  #pending: Unsent[] = []
  #next: number
  #bytes: number
  #isBroken = false
  #attempt = 0
  #isOver = false
  #stopTimer: (() => void) | null = null
  #stopRetry: (() => void) | null = null
  #onRoom: (() => void) | null = null

  constructor(settings: WorkSettings) {
    this.#settings = settings
    this.#next = settings.kept
    this.#bytes = settings.keptBytes
  }

  begin(start: Start): void {
    const { maxTime, clock } = this.#settings
    this.#stopTimer = clock.every(maxTime, () =>
      this.fail(new Error(`the work of a resumable stream takes longer than maxTime, ${maxTime} ms`)),
    )
    this.#abort = AsyncResource.bind(this.#abort) // for what listens to the signal, whoever ends the work
    void this.#run(start)
  }

  /** The log has this many events now. */
  heard(count: number): void {
    let known = 0
    while (known < this.#pending.length && this.#pending[known]!.kind === 'event' && this.#pending[known]!.n < count) known++
    if (known > 0) this.#pending.splice(0, known)
    if (this.#pending.length < MOST_PENDING) this.#giveRoom()
  }

  /** Sends the messages again that are not in the log. */
  repeat(): void {
    this.#isBroken = false
    this.#attempt++
    for (const message of [...this.#pending]) this.#publish(message)
  }

  /** The work no longer matters. */
  stop(): void {
    this.#isOver = true
    this.#pending = []
    this.#stopTimer?.()
    this.#stopRetry?.()
    this.#abort()
    this.#giveRoom()
  }

  /** Ends the run for everyone. */
  end(reason: EndReason, problem?: string): void {
    if (this.#isOver) return
    const { run, epoch, clock } = this.#settings
    this.#isOver = true
    this.#stopTimer?.()
    this.#abort()
    this.#giveRoom()
    const at = clock.wallTime()
    this.#send({ kind: 'end', run, epoch, n: this.#next, reason, at, ...(problem === undefined ? {} : { problem }) })
  }

  fail(error: unknown): void {
    if (this.#isOver) return
    this.#settings.onError(error)
    this.end('failed', JSON.stringify(problemFor(error, false)))
  }

  async #run(start: Start): Promise<void> {
    const { kept, client } = this.#settings
    try {
      for await (const event of madeEvents('resumable', start(this.#ending.signal, kept))) {
        if (this.#isOver) return
        this.#say(typeof event === 'string' ? { data: event } : event)
        if (this.#pending.length >= MOST_PENDING) await new Promise<void>((resolve) => (this.#onRoom = resolve))
        await turns.take(client, 1) // for the next event
        if (this.#isOver) return
      }
      this.end('done')
    } catch (error) {
      this.fail(error) // not after its end: the work may throw because it was aborted
    }
  }

  #say(event: RelayEvent): void {
    const { run, epoch, maxEvents, maxSize } = this.#settings
    RELAY_EVENT_RULES.read(event, 'an event of a resumable stream')
    if (event.event === 'end')
      throw new WeirError('WEIR_RESULT_UNSENDABLE', '"event" of a resumable stream is "end", which tells of its end')
    const stored = storedEvent(event)
    const size = Buffer.byteLength(`${stored.data ?? ''}${stored.event ?? ''}`)
    this.#bytes += size + ENTRY_BYTES
    turns.spend(size / 1024)
    if (this.#next >= maxEvents) throw new Error(`a resumable stream has more events than maxEvents, ${maxEvents}`)
    if (this.#bytes > maxSize) throw new Error(`the events of a resumable stream have more bytes than maxSize, ${maxSize}`)
    this.#send({ kind: 'event', run, epoch, n: this.#next++, ...stored })
  }

  #send(message: Unsent): void {
    this.#pending.push(message)
    if (!this.#isBroken) this.#publish(message)
  }

  #publish(message: Unsent): void {
    try {
      this.#settings.publish({ ...message, attempt: this.#attempt })?.catch(() => this.retryLater())
    } catch {
      this.retryLater()
    }
  }

  /** Every process ignores messages after a missing one until that one is sent again. */
  retryLater(): void {
    this.#isBroken = true
    this.#stopRetry ??= this.#settings.clock.every(RETRY_MS, () => {
      this.#stopRetry?.()
      this.#stopRetry = null
      this.repeat()
    })
  }

  #giveRoom(): void {
    const onRoom = this.#onRoom
    this.#onRoom = null
    onRoom?.()
  }
}
