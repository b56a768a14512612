// The rooms of a route across machines: passes its broadcasts to a relay, and those of other processes to its clients.
//
// The relay may be away, slow, full or fed by other programs. None of it reaches those who broadcast here: clients of this process get
// every message at once.

import { randomBytes } from 'node:crypto'

import { type Clock, systemClock } from '../../base/clock.ts'
import { isPromise } from '../../base/is-promise.ts'
import type { Relay, RelaySubscription } from '../relay-option.ts'
import { readyOrLate } from '../relay-ready.ts'
import { addShutdownListener } from '../shutdown-listeners.ts'
import type { WebSocketData } from './data.ts'
import { type Broadcast, decodeBroadcast, encodeBroadcast } from './envelope.ts'

/** What the relay of a route does. */
export interface WebSocketRelayState {
  /** Whether broadcasts reach other processes at this moment. */
  readonly isConnected: boolean
  /** How many broadcasts other processes did not get, because the relay was away or too slow. */
  readonly unpublished: number
  /**
   * How many messages of the relay no client got: those that are not broadcasts, such as messages of other programs, and those larger than
   * `maxQueuedBytes`.
   */
  readonly ignored: number
}

/** A route, as its relay sees it. */
export interface RelayedRoute {
  /** The name of its channel. */
  readonly channel: string
  readonly maxQueuedBytes: number
  /** Sends to clients of this process. */
  deliver(broadcast: Broadcast): void
  /** Broadcasts of other processes may have been lost. */
  onGap?: (() => unknown) | undefined
  log(message: string, error: unknown): void
}

/** How much may be on its way to the relay. The relay has a limit of its own; this one holds for a relay that never answers. */
const MOST_BYTES_IN_FLIGHT = 16 * 1024 * 1024
/** What a message takes in addition to its characters. */
const MESSAGE_BYTES = 512
/** A relay that fails now and then is not reported more often. */
const REPORT_INTERVAL_MS = 10_000

export class RelayedRooms implements WebSocketRelayState {
  readonly #relay: Relay
  readonly #route: RelayedRoute
  readonly #clock: Clock
  readonly #origin = randomBytes(16).toString('base64url')
  /** The signals of the servers on which the route has clients. */
  readonly #servers = new Set<AbortSignal>()
  #subscription: RelaySubscription | null = null
  /** Resolves when clients may connect. */
  #opened: Promise<void> = Promise.resolve()
  #bytesInFlight = 0
  #reportedAt = Number.NEGATIVE_INFINITY
  #hasFailed = false
  unpublished = 0
  ignored = 0

  constructor(relay: Relay, route: RelayedRoute, clock: Clock = systemClock) {
    this.#relay = relay
    this.#route = route
    this.#clock = clock
  }

  get isConnected(): boolean {
    return this.#relay.isConnected
  }

  /**
   * Listens to the relay until the server stops. A process whose route has no clients needs no messages, and a client that is connected
   * before the subscription is ready would miss some.
   *
   * @param stopping of the server to which a client connects
   * @returns resolves when it may be connected
   */
  listen(stopping: AbortSignal): Promise<void> {
    if (!this.#servers.has(stopping) && !stopping.aborted) {
      this.#servers.add(stopping)
      addShutdownListener(stopping, { stop: () => this.#leave(stopping) })
    }
    if (this.#subscription === null && this.#servers.size > 0) this.#subscribe()
    return this.#opened
  }

  /** Never throws, and never waits. */
  publish(room: string | null, data: WebSocketData): void {
    const message = encodeBroadcast(this.#origin, room, data)
    const bytes = 2 * message.length + MESSAGE_BYTES
    if (this.#bytesInFlight + bytes > MOST_BYTES_IN_FLIGHT) {
      this.#fail(new Error(`${this.#bytesInFlight} bytes of broadcasts wait for it, of at most ${MOST_BYTES_IN_FLIGHT}`))
      return
    }
    this.#bytesInFlight += bytes
    const publish = async (): Promise<void> => void (await this.#relay.publish(this.#route.channel, message))
    publish()
      .then(
        () => {
          this.#hasFailed = false
        },
        (error: unknown) => this.#fail(error),
      )
      .finally(() => {
        this.#bytesInFlight -= bytes
      })
  }

  #subscribe(): void {
    try {
      this.#subscription = this.#relay.subscribe(this.#route.channel, ({ data }) => this.#hear(data), { onGap: () => this.#tellGap() })
      this.#opened = readyOrLate(this.#subscription.ready, this.#clock, () => this.#tellGap())
    } catch (error) {
      this.#route.log('hears nothing of other processes: the relay refuses subscriptions', error)
    }
  }

  #leave(stopping: AbortSignal): void {
    this.#servers.delete(stopping)
    if (this.#servers.size > 0) return
    this.#subscription?.close()
    this.#subscription = null
    this.#opened = Promise.resolve()
  }

  #hear(message: string): void {
    try {
      const broadcast = decodeBroadcast(message, this.#origin)
      if (broadcast === null) return
      const { maxQueuedBytes } = this.#route
      if (broadcast.bytes.length > maxQueuedBytes)
        throw new Error(`${broadcast.bytes.length} bytes, more than maxQueuedBytes = ${maxQueuedBytes}`)
      this.#route.deliver(broadcast)
    } catch (error) {
      if (this.ignored++ === 0) this.#route.log('ignores messages of the relay that are not broadcasts', error)
    }
  }

  #tellGap(): void {
    try {
      const result = this.#route.onGap?.()
      if (isPromise(result)) Promise.resolve(result).catch((error: unknown) => this.#route.log('failed: onGap', error))
    } catch (error) {
      this.#route.log('failed: onGap', error)
    }
  }

  /** Reports the first failure of an outage. */
  #fail(error: unknown): void {
    this.unpublished++
    const now = this.#clock.now()
    if (!this.#hasFailed && now - this.#reportedAt >= REPORT_INTERVAL_MS) {
      this.#reportedAt = now
      this.#route.log('reaches only clients of this process: the relay does not take its broadcasts', error)
    }
    this.#hasFailed = true
  }
}
