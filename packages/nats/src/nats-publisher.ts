// Publishes messages to JetStream in order, sends them again after a lost connection, and never stores them twice.

import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { WeirError } from 'weirjs'
import type { Clock } from 'weirjs/kit'
import { isInstance } from 'weirjs/kit'
import { onceName } from 'weirjs/relay'

import type { NatsJetStream } from './nats-client.ts'
import { type NatsLink, unavailable } from './nats-link.ts'
import { turn } from './nats-turns.ts'

interface NatsPublisherOptions {
  readonly jetstream: NatsJetStream
  readonly link: NatsLink
  readonly clock: Clock
  readonly timeoutMs: number
  readonly maxQueuedSize: number
  /** Finds out whether messages can be sent, on each new connection and when JetStream does not accept them. */
  readonly prepare: () => Promise<void>
}

interface Waiting {
  readonly subject: string
  readonly data: string
  readonly bytes: number
  /** The id by which the server recognizes a message that was sent again. */
  readonly token: string
  readonly deadline: number
  isSent: boolean
  resolve(seq: number): void
  reject(error: WeirError): void
}

const PAUSE_MS = 100
const TICK_MS = 100
/** What a message takes in addition to its data. */
const OVERHEAD_BYTES = 200

/** What a message takes of `maxQueuedSize`. */
export function queuedSize(data: string): number {
  return Buffer.byteLength(data) + OVERHEAD_BYTES
}

export function queueFull(maxQueuedSize: number, cause?: unknown): WeirError {
  return unavailable(`more than maxQueuedSize (${maxQueuedSize}) would wait for NATS`, cause)
}

export class NatsPublisher {
  readonly #options: NatsPublisherOptions
  /** The unconfirmed messages, oldest first: all are sent again together, so that they stay in order. */
  readonly #waiting = new Set<Waiting>()
  readonly #tokens = randomBytes(12).toString('base64url')
  #count = 0
  #bytes = 0
  /** `closed` until everything that waits can be sent. */
  #gate: 'closed' | 'opening' | 'open' = 'closed'
  /** Counts the rounds in which everything that waits is sent: a message that was sent in an earlier round and fails now is sent again. */
  #round = 0
  #trouble: unknown
  #stopTicks: (() => void) | null = null
  #isClosed = false

  constructor(options: NatsPublisherOptions) {
    this.#options = options
  }

  /** @throws (rejects) WEIR_RELAY_UNAVAILABLE */
  publish(subject: string, data: string, once: string | null): Promise<number> {
    const { clock, link, maxQueuedSize, timeoutMs } = this.#options
    if (this.#isClosed || link.isOver) return Promise.reject(link.error())
    const bytes = queuedSize(data)
    if (this.#bytes + bytes > maxQueuedSize) return Promise.reject(queueFull(maxQueuedSize, this.#trouble))
    return new Promise((resolve, reject) => {
      const token = once === null ? `${this.#tokens}${(this.#count++).toString(36)}` : onceName(subject, once)
      const message: Waiting = { subject, data, bytes, token, deadline: clock.now() + timeoutMs, isSent: false, resolve, reject }
      this.#bytes += bytes
      this.#waiting.add(message)
      this.#stopTicks ??= clock.every(TICK_MS, () => this.#expire())
      if (this.#gate === 'open') this.#send(message)
      else this.open()
    })
  }

  /** The connection is lost: unconfirmed messages are sent again on the next one. */
  onDown(): void {
    this.#round++
    if (this.#gate === 'open') this.#gate = 'closed'
  }

  /** Sends everything that waits, in order, as soon as there is a connection and a stream. */
  open(): void {
    if (this.#gate !== 'closed' || !this.#options.link.isUp) return
    this.#gate = 'opening'
    void this.#open()
  }

  close(error: WeirError): void {
    this.#isClosed = true
    this.#refuse(error)
  }

  #refuse(error: WeirError): void {
    for (const message of this.#waiting) {
      this.#settle(message)
      message.reject(error)
    }
  }

  async #open(): Promise<void> {
    while (this.#waiting.size > 0 && this.#options.link.isUp) {
      try {
        await this.#options.prepare()
      } catch (error) {
        this.#trouble = error
        if (isInstance(error, WeirError) && error.code === 'WEIR_OPTION_INVALID') this.#refuse(error)
        else if (isFinal(error)) this.#refuse(unavailable('the server does not allow to use JetStream', error))
        else await pause()
        continue
      }
      if (!this.#options.link.isUp) break
      if (await this.#sendAll(++this.#round)) {
        this.#gate = 'open'
        return
      }
      await pause()
    }
    this.#gate = 'closed'
  }

  /** Sends what waits, also what comes meanwhile. @returns false if the round is over */
  async #sendAll(round: number): Promise<boolean> {
    for (const message of this.#waiting) {
      await turn()
      if (round !== this.#round) return false
      if (this.#waiting.has(message)) this.#send(message)
    }
    return round === this.#round
  }

  #send(message: Waiting): void {
    const { clock, jetstream } = this.#options
    const round = this.#round
    const timeout = Math.max(message.deadline - clock.now(), 1)
    message.isSent = true
    jetstream.publish(message.subject, message.data, { msgID: message.token, timeout }).then(
      ({ seq }) => {
        if (this.#settle(message)) message.resolve(seq)
      },
      (error: unknown) => {
        if (!this.#waiting.has(message)) return
        if (isFinal(error)) {
          this.#settle(message)
          message.reject(unavailable('the message was refused', error))
        } else if (round === this.#round) void this.#retry(error)
      },
    )
  }

  async #retry(error: unknown): Promise<void> {
    this.#trouble = error
    this.#round++
    if (this.#gate !== 'open') return // those that send the rest begin again
    this.#gate = 'opening'
    await pause()
    await this.#open()
  }

  #expire(): void {
    const { clock, timeoutMs } = this.#options
    const now = clock.now()
    for (const message of this.#waiting) {
      if (message.deadline > now) return
      this.#settle(message)
      const outcome = message.isSent ? 'may have been' : 'was not'
      message.reject(unavailable(`NATS did not confirm it within ${timeoutMs} ms: the message ${outcome} published`, this.#trouble))
    }
  }

  /** @returns whether the message was waiting */
  #settle(message: Waiting): boolean {
    if (!this.#waiting.delete(message)) return false
    this.#bytes -= message.bytes
    if (this.#waiting.size > 0) return true
    this.#trouble = undefined
    this.#stopTicks?.()
    this.#stopTicks = null
    return true
  }
}

/** Whether another attempt would fail as well: the server or the client refuse the message itself. */
function isFinal(error: unknown): boolean {
  const { cause, name, status } = Object(error) as { readonly cause?: unknown; readonly name?: unknown; readonly status?: unknown }
  if (typeof status === 'number') return status >= 400 && status < 500
  if (typeof name === 'string' && FINAL_NAMES.has(name)) return true
  return cause !== undefined && isFinal(cause)
}

const FINAL_NAMES: ReadonlySet<string> = new Set([
  'ClosedConnectionError',
  'DrainingConnectionError',
  'InvalidArgumentError',
  'PermissionViolationError',
])

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS).unref())
}
