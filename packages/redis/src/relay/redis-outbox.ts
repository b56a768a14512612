// The messages that wait to be published through Redis. A channel has one batch in flight: messages stay in order, a batch that is sent again can
// be recognized by its number, and many messages cost one command.

import { Buffer } from 'node:buffer'
import { WeirError } from 'weirjs'
import type { Clock } from 'weirjs/kit'
import { isInstance } from 'weirjs/kit'

import type { RedisAccess } from '../client/redis-access.ts'

interface OutboxOptions {
  readonly access: RedisAccess
  readonly clock: Clock
  /** How long publishing a message may take, with all attempts. */
  readonly timeoutMs: number
  /** Whether a message that has failed is tried again. */
  readonly retries: boolean
  readonly maxQueuedSize: number
  /**
   * Publishes a batch, and returns the ids of its messages.
   * @param number greater than the number of every batch before @param once the program's own ids of the messages
   */
  send(channel: string, number: number, batch: readonly string[], once: readonly (string | null)[]): Promise<readonly (string | null)[]>
}

interface Waiting {
  readonly data: string
  readonly once: string | null
  readonly bytes: number
  readonly deadline: number
  resolve(id: string | null): void
  reject(error: WeirError): void
}

const MOST_IN_BATCH = 100
const MOST_BATCH_BYTES = 256 * 1024
/** What a message takes in addition to its bytes: empty ones must not wait in any number. */
const MESSAGE_BYTES = 200
const PAUSE_MS = 50
/** Replies that another attempt would not change. */
const FINAL = /^(?:NOPERM |WRONGTYPE |ERR The user executing the script )/

export class RedisOutbox {
  readonly #options: OutboxOptions
  readonly #queues = new Map<string, Waiting[]>()
  /** The batches that are being sent. */
  readonly #sending = new Set<readonly Waiting[]>()
  #bytes = 0
  #number = 0
  #isClosed = false

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  /** @throws (rejects) WEIR_RELAY_UNAVAILABLE */
  publish(channel: string, data: string, once: string | null = null): Promise<string | null> {
    const { clock, maxQueuedSize, timeoutMs } = this.#options
    if (this.#isClosed) return Promise.reject(unavailable('it is closed: the message was not published'))
    const bytes = Buffer.byteLength(data) + MESSAGE_BYTES
    if (this.#bytes + bytes > maxQueuedSize)
      return Promise.reject(unavailable(`more than maxQueuedSize (${maxQueuedSize}) would wait for Redis: the message was not published`))
    this.#bytes += bytes
    return new Promise((resolve, reject) => {
      const message: Waiting = { data, once, bytes, deadline: clock.now() + timeoutMs, resolve, reject }
      const queue = this.#queues.get(channel)
      if (queue !== undefined) {
        queue.push(message)
        return
      }
      const opened = [message]
      this.#queues.set(channel, opened)
      queueMicrotask(() => void this.#drain(channel, opened))
    })
  }

  /** Rejects what waits, and what is on its way. */
  close(): void {
    this.#isClosed = true
    for (const batch of this.#sending) this.#refuse(batch, 'it was closed: the message may have been published', undefined)
    for (const queue of this.#queues.values()) this.#refuse(queue.splice(0), 'it was closed: the message was not published', undefined)
  }

  async #drain(channel: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const batch = take(queue)
      this.#sending.add(batch)
      await this.#send(channel, queue, batch)
      this.#sending.delete(batch)
    }
    this.#queues.delete(channel)
  }

  async #send(channel: string, queue: Waiting[], given: Waiting[]): Promise<void> {
    const { access, clock, retries, send } = this.#options
    const number = ++this.#number
    let batch = given
    let sent = given
    let error: unknown
    let isUncertain = false
    for (;;) {
      // Asking also finds out whether Redis replies again.
      if (access.isDegraded) error = access.lastError
      else {
        try {
          // A batch that may have been published has to be sent again unchanged, because Redis recognizes it by its number.
          if (!isUncertain) sent = batch
          const texts = sent.map(({ data }) => data)
          const ids = await send(
            channel,
            number,
            texts,
            sent.map(({ once }) => once),
          )
          for (const message of batch) message.resolve(ids[sent.indexOf(message)] ?? null)
          this.#forget(batch)
          return
        } catch (failure) {
          error = failure
          isUncertain ||= !isReply(failure)
        }
      }
      const outcome = `${describe(error)}: the message ${isUncertain ? 'may have been' : 'was not'} published`
      const isOver = !retries || this.#isClosed || FINAL.test(causeOf(error))
      const now = clock.now()
      const hasExpired = ({ deadline }: Waiting): boolean => isOver || deadline <= now
      this.#refuse(batch.filter(hasExpired), outcome, error)
      batch = batch.filter((message) => !hasExpired(message))
      // Removes all of them at once, because `shift` moves the whole queue.
      const fresh = queue.findIndex((message) => !(message.deadline <= now))
      this.#refuse(queue.splice(0, fresh === -1 ? queue.length : fresh), `${describe(error)}: the message was not published`, error)
      if (batch.length === 0) return
      await pause(clock)
    }
  }

  #refuse(messages: readonly Waiting[], why: string, error: unknown): void {
    this.#forget(messages)
    for (const { reject } of messages) reject(unavailable(why, (error as Error | undefined)?.cause ?? error))
  }

  #forget(messages: readonly Waiting[]): void {
    for (const { bytes } of messages) this.#bytes -= bytes
  }
}

/** At least one message, whatever its size. */
function take(queue: Waiting[]): Waiting[] {
  let count = 0
  let bytes = 0
  while (count < Math.min(queue.length, MOST_IN_BATCH)) {
    bytes += queue[count]!.bytes
    if (count > 0 && bytes > MOST_BATCH_BYTES) break
    count++
  }
  return queue.splice(0, count)
}

export function unavailable(why: string, cause?: unknown): WeirError {
  return new WeirError('WEIR_RELAY_UNAVAILABLE', `relay: ${why}`, { cause })
}

function pause(clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.every(PAUSE_MS, () => {
      stop()
      resolve()
    })
  })
}

/** Whether Redis has replied with an error, so that it has not run the command. The errors of a connection have no code in front. */
function isReply(error: unknown): boolean {
  return /^[A-Z]{2,} /.test(causeOf(error))
}

function causeOf(error: unknown): string {
  const cause: unknown = (error as Error | null)?.cause
  return isInstance(cause, Error) ? cause.message : ''
}

function describe(error: unknown): string {
  return isInstance(error, Error) ? error.message : 'Redis is away'
}
