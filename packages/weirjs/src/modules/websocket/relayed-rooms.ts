// The rooms of a route across machines: passes its broadcasts to a relay, and other processes' broadcasts to its clients.
//
// The relay may be away, slow, full or fed by other programs. None of this affects broadcasts in this process: its own clients get every message
// immediately.

import { randomBytes } from 'node:crypto'
import { addShutdownListener } from '../../app/shutdown-listeners.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { isPromise } from '../../base/is-promise.ts'
import { workTurns } from '../../http/work-turns.ts'
import type { Relay, RelaySubscription } from '../relay/relay-option.ts'
import { readyOrLate } from '../relay/relay-ready.ts'
import { HeardNumbers, LostNumbers, type Position } from './broadcast-numbers.ts'
import type { WebSocketData } from './data.ts'
import { type Broadcast, decodeEnvelope, encodeBeacon, encodeBroadcast } from './envelope.ts'

/** What the relay of a route does. */
export interface WebSocketRelayState {
  /** Whether broadcasts reach other processes at this moment. */
  readonly isConnected: boolean
  /** How many broadcasts the relay refused or did not pass on, because it was away or too slow. A broadcast that it delivers later is subtracted. */
  readonly unpublished: number
  /**
   * How many messages of the relay no client got: those that are not broadcasts, such as messages of other programs, and those larger than
   * `maxQueuedSize`.
   */
  readonly ignored: number
}

/** A route, as its relay sees it. */
export interface RelayedRoute {
  /** The name of its channel. */
  readonly channel: string
  readonly maxQueuedSize: number
  /** Sends to clients of this process. */
  deliver(broadcast: Broadcast): void
  /** Broadcasts of other processes may have been lost. */
  onGap?: (() => unknown) | undefined
  log(message: string, error: unknown): void
}

/**
 * How many bytes may be on their way to the relay, and how many may wait here. The relay has its own limit; this one is for a relay that never
 * replies.
 */
const MOST_BYTES_IN_FLIGHT = 16 * 1024 * 1024
/** What a message takes in addition to its characters. */
const MESSAGE_BYTES = 512
/** How often to check whether an outage is over. A relay that is too slow is not reported more often. */
const BEACON_MS = 500

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
  /** The number of the last broadcast. */
  #number = 0
  readonly #heard = new HeardNumbers()
  readonly #lost = new LostNumbers()
  #attempts = 0
  /** Received messages that wait for the next turn of the event loop, because one broadcast may go to thousands. Null is a gap. */
  #waiting: (string | null)[] = []
  #waitingBytes = 0
  /** While an outage lasts, which ends when the relay takes something that it was given after its last failure. */
  #outage: { isOver: boolean; lastFailure: number; isTrying: boolean; readonly stopTimer: () => void } | null = null
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
    const number = ++this.#number
    const message = encodeBroadcast(this.#position(false), room, data)
    const bytes = bytesOf(message)
    if (this.#bytesInFlight + bytes > MOST_BYTES_IN_FLIGHT) {
      this.#fail(number, new Error(`${this.#bytesInFlight} bytes of broadcasts wait for it, of at most ${MOST_BYTES_IN_FLIGHT}`))
      return
    }
    this.#bytesInFlight += bytes
    void this.#give(message).then((error) => {
      this.#bytesInFlight -= bytes
      if (error !== null) this.#fail(number, error.reason)
      // While more waits, it may be refused again and again: that is one outage.
      else if (this.#bytesInFlight === 0 && this.#outage?.isOver === true) this.#endOutage()
    })
  }

  #position(isBeacon: boolean): Position {
    return { origin: this.#origin, number: this.#number, isBeacon, isAfterLoss: this.#outage !== null }
  }

  /** @returns resolves with the reason why the relay has not taken the message; null if it has */
  async #give(message: string): Promise<{ readonly reason: unknown } | null> {
    const attempt = ++this.#attempts
    try {
      await this.#relay.publish(this.#route.channel, message)
    } catch (reason) {
      return { reason }
    }
    if (this.#outage !== null && attempt > this.#outage.lastFailure) this.#outage.isOver = true
    return null
  }

  #subscribe(): void {
    try {
      this.#subscription = this.#relay.subscribe(this.#route.channel, ({ data }) => this.#hear(data), { onGap: () => this.#hear(null) })
      const subscription = this.#subscription
      this.#opened = readyOrLate(subscription.ready, this.#clock, () => this.#hear(null))
      subscription.ready.then(
        () => {
          if (this.#subscription === subscription) this.#lost.begin(this.#number)
        },
        () => {}, // it was closed
      )
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
    this.#heard.clear()
    this.#waiting = []
    this.#lost.end()
    this.#endOutage()
  }

  #hear(message: string | null): void {
    if (this.#waiting.length === 0 && !workTurns.isOver) {
      this.#handle(message)
      return
    }
    if (this.#waiting.length === 0) {
      this.#waitingBytes = 0
      this.#goOnLater()
    }
    this.#waitingBytes += bytesOf(message)
    if (this.#waitingBytes <= MOST_BYTES_IN_FLIGHT) this.#waiting.push(message)
    else {
      this.#waiting = [null] // its clients broadcast more than this process can send
      this.#waitingBytes = 0
    }
  }

  #goOnLater(): void {
    workTurns.wait('', () => {
      const waiting = this.#waiting
      let taken = 0
      while (taken < waiting.length && !workTurns.isOver) {
        this.#waitingBytes -= bytesOf(waiting[taken]!)
        this.#handle(waiting[taken++]!)
      }
      waiting.splice(0, taken)
      if (this.#waiting.length > 0) this.#goOnLater()
    })
  }

  #handle(message: string | null): void {
    if (message === null) {
      this.#tellGap()
      return
    }
    try {
      const envelope = decodeEnvelope(message, this.#origin)
      const { origin, number, isBeacon, broadcast } = envelope
      if (origin === this.#origin) {
        if (number !== null) this.#lost.hear(number, isBeacon)
        this.unpublished = this.#lost.count
        return
      }
      if (this.#heard.isMissing(envelope)) this.#callOnGap()
      if (broadcast === null) return
      const { maxQueuedSize } = this.#route
      if (broadcast.bytes.length > maxQueuedSize)
        throw new Error(`${broadcast.bytes.length} bytes, more than maxQueuedSize = ${maxQueuedSize}`)
      this.#route.deliver(broadcast)
    } catch (error) {
      if (this.ignored++ === 0) this.#route.log('ignores messages of the relay that are not broadcasts', error)
    }
  }

  /** The relay reports a gap, in which broadcasts of any process may be missing. */
  #tellGap(): void {
    this.#heard.accept()
    this.#callOnGap()
  }

  #callOnGap(): void {
    try {
      const result = this.#route.onGap?.()
      if (isPromise(result)) Promise.resolve(result).catch((error: unknown) => this.#route.log('failed: onGap', error))
    } catch (error) {
      this.#route.log('failed: onGap', error)
    }
  }

  /** Reports the first failure of an outage. */
  #fail(number: number, error: unknown): void {
    this.#lost.refuse(number)
    this.unpublished = this.#lost.count
    if (this.#outage === null) {
      const stopTimer = this.#clock.every(BEACON_MS, () => void this.#try())
      this.#outage = { isOver: false, lastFailure: 0, isTrying: false, stopTimer }
      this.#route.log('reaches only clients of this process: the relay does not take its broadcasts', error)
    }
    this.#outage.isOver = false
    this.#outage.lastFailure = this.#attempts
  }

  /** Tells the other processes how many broadcasts there were, even if no other follows. */
  async #try(): Promise<void> {
    const outage = this.#outage
    if (outage === null || outage.isTrying) return
    if (outage.isOver) this.#endOutage()
    else if (this.#relay.isConnected) {
      outage.isTrying = true
      const error = await this.#give(encodeBeacon(this.#position(true)))
      outage.isTrying = false
      if (error === null && this.#outage === outage && outage.isOver) this.#endOutage()
    }
  }

  #endOutage(): void {
    this.#outage?.stopTimer()
    this.#outage = null
  }
}

function bytesOf(message: string | null): number {
  return 2 * (message?.length ?? 0) + MESSAGE_BYTES
}
