// The events of a channel in one process: one subscription for all of its clients, as long as there are any. Each event is encoded once.

import type { Clock } from '../../base/clock.ts'
import type { Relay, RelayMessage, RelaySubscription } from '../relay/relay-option.ts'
import { readyOrLate } from '../relay/relay-ready.ts'
import type { ClientQueue } from './client-queue.ts'
import { ClientQueues, type QueueSettings } from './client-queues.ts'
import { costOf, EncodedEvent } from './event.ts'
import { decodeEnvelope } from './event-envelope.ts'
import { MissedEvents } from './event-history.ts'
import { PageRequest, type PageSource } from './page-request.ts'
import { RecentEvents } from './recent-events.ts'
import { ResumingClient, type ResumingHost } from './resuming-client.ts'
import { SharedEvents } from './shared-events.ts'

interface LiveFeedSettings {
  readonly relay: Relay
  /** Of the channel. */
  readonly name: string
  readonly queues: QueueSettings
  /** What clients get for a gap. */
  readonly gap: EncodedEvent
  readonly onError: (error: unknown) => void
  readonly clock: Clock
  /** How much of the latest events is kept here for clients that reconnect. Default 1 MiB. */
  readonly recentBytes?: number
  /** Called when its last client has left. */
  readonly onUnused?: () => void
}

export class LiveFeed implements PageSource, ResumingHost {
  readonly relay: Relay
  readonly name: string
  readonly gap: EncodedEvent
  readonly #onError: (error: unknown) => void
  readonly #clock: Clock
  readonly #onUnused: () => void
  readonly #live: ClientQueues
  readonly #resuming = new Set<ResumingClient>()
  readonly #recent: RecentEvents
  /** The requests for pages, by id. Clients that continue after the same id share them: after a restart, most have seen the same event last. */
  readonly #requests = new Map<string, PageRequest>()
  readonly #shared = new SharedEvents()
  #subscription: RelaySubscription | null = null
  #opened: Promise<void> | null = null
  /** Clients that wait until the subscription is ready, to know where they begin. */
  readonly #waiting = new Set<ClientQueue>()
  /** Whether the relay keeps no messages. It is unknown before the first one. */
  #keepsNone = false
  #hasReported = false
  #isClosed = false

  /** @throws WEIR_OPTION_INVALID */
  constructor({ relay, name, queues, gap, onError, clock, recentBytes, onUnused = () => {} }: LiveFeedSettings) {
    this.relay = relay
    this.name = name
    this.gap = gap
    this.#onError = onError
    this.#clock = clock
    this.#recent = new RecentEvents(recentBytes)
    this.#onUnused = onUnused
    this.#live = new ClientQueues(queues, () => this.#endIfUnused())
  }

  get size(): number {
    return this.#live.size + this.#resuming.size
  }

  listen(lastEventId: string | null, clientAddress: string): ClientQueue | ResumingClient {
    if (!this.#isClosed) this.#begin()
    if (lastEventId === null || this.#isClosed) {
      const client = this.#live.add(null, this.#opened)
      if (this.#isClosed) client.finish()
      else if (this.#opened === null) client.start = this.#position
      else this.#waiting.add(client)
      return client
    }
    const client = this.join(lastEventId)
    if (client !== null) return client
    const resuming = new ResumingClient(this, lastEventId, clientAddress)
    this.#resuming.add(resuming)
    return resuming
  }

  finish(): void {
    this.#live.finish()
    for (const client of this.#resuming) client.finish()
  }

  close(): void {
    this.#isClosed = true
    this.finish()
  }

  join(after: string): ClientQueue | null {
    if (this.#keepsNone)
      return this.#live.add(new MissedEvents([{ events: [this.gap], bytes: costOf(this.gap), isForgotten: false }], 0, 1))
    if (after === this.#position) return this.#live.add(null)
    return this.#recent.has(after) ? this.#live.add(this.#recent.after(after)) : null
  }

  requestPage(after: string, clientAddress: string): PageRequest {
    let request = this.#requests.get(after)
    if (request === undefined) {
      request = new PageRequest(this, after, clientAddress)
      if (!request.hasEnded) this.#requests.set(after, request)
    }
    return request
  }

  leave(client: ResumingClient): void {
    this.#resuming.delete(client)
    this.#endIfUnused()
  }

  decode(message: RelayMessage): EncodedEvent | null {
    const { id } = message
    return id === null ? this.#decoded(message) : this.#shared.take(id, () => this.#decoded(message))
  }

  #decoded({ id, data }: RelayMessage): EncodedEvent | null {
    try {
      return decodeEnvelope(data, id)
    } catch (error) {
      if (!this.#hasReported)
        this.#onError(new Error(`a message of the channel ${JSON.stringify(this.name)} is not an event`, { cause: error }))
      this.#hasReported = true
      return null
    }
  }

  isRecent(id: string): boolean {
    return this.#recent.has(id)
  }

  onMissingId(): void {
    this.#keepsNone = true
  }

  onEnd({ after }: PageRequest): void {
    this.#requests.delete(after)
  }

  get #position(): string | null {
    return this.#subscription?.position ?? null
  }

  #begin(): void {
    if (this.#subscription !== null) return
    const subscription = this.relay.subscribe(this.name, (message) => this.#hear(message), { onGap: () => this.#tellGap() })
    this.#subscription = subscription
    const opened = readyOrLate(subscription.ready, this.#clock, () => {
      this.#tellGap()
      const { position: id = null } = subscription
      if (id !== null) this.#live.push(new EncodedEvent({ id })) // connected clients have no position
    })
    this.#opened = opened
    void opened.then(() => {
      if (this.#opened !== opened) return
      this.#opened = null
      for (const client of this.#waiting) if (!client.hasHeard) client.start = this.#position
      this.#waiting.clear()
    })
  }

  #endIfUnused(): void {
    if (this.size > 0) return
    this.#subscription?.close()
    this.#subscription = null
    this.#opened = null
    this.#waiting.clear()
    this.#recent.clear()
    this.#shared.clear()
    this.#onUnused()
  }

  #hear(message: RelayMessage): void {
    const event = this.#decoded(message)
    const { id } = message
    if (id === null) this.#keepsNone = true
    else this.#recent.add(id, event)
    if (event !== null) this.#live.push(event)
    if (id === null) for (const request of this.#requests.values()) request.finish()
    else this.#requests.get(id)?.finish() // the events that its clients wait for come through here
  }

  #tellGap(): void {
    this.#recent.clear()
    this.#live.push(this.gap)
  }
}
