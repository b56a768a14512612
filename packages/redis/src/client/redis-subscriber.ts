// A connection for subscriptions, which weir opens in addition to the program's own client: Redis sends messages only to a connection that does
// nothing else (unless it speaks RESP3), and the program's client may not allow for that.

import { invalid } from 'weirjs/kit'
import { type RedisClient, senderOf } from './redis-client.ts'

/** A client or a cluster of the package `redis` (4, 5 or 6) or `ioredis` (5.7 or later, or 6) that can be copied, with its addresses and passwords. */
export type RedisSubscribingClient = RedisClient & { duplicate(): unknown }

interface SubscriberEvents {
  onMessage(channel: string, text: string): void
  /** Called when it is connected, for the first time or again: subscriptions may have been lost, so `subscribe` has to be called again. */
  onReady(): void
  onLost(error: unknown): void
}

export interface RedisSubscriber {
  readonly isReady: boolean
  /** Whether the client has given up for good. */
  readonly hasEnded: boolean
  /** Resolves when Redis has confirmed the subscription on the current connection. */
  subscribe(channel: string): Promise<void>
  unsubscribe(channel: string): Promise<void>
  close(): void
}

export interface SubscriberSource {
  /** Whether it is a cluster. There, a channel belongs to the node of its hash slot, and messages are published with SPUBLISH. */
  readonly isSharded: boolean
  /** The prefix that the client adds to keys, but not to the names of channels in scripts. */
  readonly keyPrefix: string
  open(events: SubscriberEvents): RedisSubscriber
}

/** @param owner whose argument it is, such as `redisRelay()` @throws WEIR_OPTION_INVALID */
export function subscriberSourceOf(owner: string, client: RedisSubscribingClient): SubscriberSource {
  senderOf(owner, client) // the checks that all clients get
  const { duplicate, subscribe, sSubscribe, call } = client as Partial<NodeRedis & IoRedis>
  if (typeof duplicate !== 'function' || typeof subscribe !== 'function')
    throw invalid(owner, 'client cannot subscribe (it has no duplicate() or subscribe()): pass a client or a cluster, not a pool')
  if (typeof call === 'function') {
    const own = client as unknown as IoRedis
    const keyPrefix = String(own.options?.keyPrefix ?? own.options?.redisOptions?.keyPrefix ?? '')
    const isSharded = own.isCluster === true
    return { isSharded, keyPrefix, open: (events) => new IoRedisSubscriber(own, isSharded, events) }
  }
  const own = client as unknown as NodeRedis
  const isSharded = 'getSlotRandomNode' in client
  if (isSharded && typeof sSubscribe !== 'function')
    throw invalid(owner, 'client is a cluster without sSubscribe(): it needs redis 4.6 or later')
  return { isSharded, keyPrefix: '', open: (events) => new NodeRedisSubscriber(own, isSharded, events) }
}

/** The members of the package `redis` that are used. */
interface NodeRedis {
  readonly isReady?: boolean
  duplicate(options?: object): NodeRedis
  connect(): Promise<unknown>
  on(event: string, listener: (...args: unknown[]) => void): unknown
  subscribe(channel: string, listener: NodeRedisListener): Promise<void>
  unsubscribe(channel: string, listener: NodeRedisListener): Promise<void>
  sSubscribe(channel: string, listener: NodeRedisListener): Promise<void>
  sUnsubscribe(channel: string, listener: NodeRedisListener): Promise<void>
  /** Since version 5. Before, `disconnect`. */
  destroy?(): unknown
  disconnect?(): unknown
}
type NodeRedisListener = (message: string, channel: string) => void

class NodeRedisSubscriber implements RedisSubscriber {
  hasEnded = false
  readonly #connection: NodeRedis
  readonly #isSharded: boolean
  readonly #listener: NodeRedisListener
  #isClosed = false
  #isOpen = false

  constructor(client: NodeRedis, isSharded: boolean, { onMessage, onReady, onLost }: SubscriberEvents) {
    this.#isSharded = isSharded
    this.#listener = (message, channel) => onMessage(channel, message)
    this.#connection = client.duplicate()
    let lastError: unknown = null
    this.#connection.on('error', (error) => {
      lastError = error
    })
    // After a reconnection, the client has subscribed again when it says that it is ready.
    const ready = (): void => {
      if (!this.#isClosed) onReady()
    }
    const lost = (): void => {
      if (!this.#isClosed) onLost(lastError)
    }
    const ended = (error: unknown): void => {
      this.hasEnded = true
      lastError = error ?? lastError
      lost()
    }
    const connecting = this.#connection.connect()
    if (isSharded) {
      const opened = (): void => {
        if (this.#isClosed) {
          this.close() // it was closed while it connected
          return
        }
        this.#isOpen = true
        ready()
        this.#connection.on('node-ready', ready)
      }
      connecting.then(opened, ended)
      return
    }
    connecting.catch(ended)
    this.#connection.on('ready', ready)
    this.#connection.on('reconnecting', lost)
    this.#connection.on('end', () => ended(null))
  }

  get isReady(): boolean {
    return !this.#isClosed && !this.hasEnded && (this.#isSharded ? this.#isOpen : this.#connection.isReady === true)
  }

  subscribe(channel: string): Promise<void> {
    return this.#isSharded ? this.#connection.sSubscribe(channel, this.#listener) : this.#connection.subscribe(channel, this.#listener)
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#isSharded ? this.#connection.sUnsubscribe(channel, this.#listener) : this.#connection.unsubscribe(channel, this.#listener)
  }

  close(): void {
    this.#isClosed = true
    closeQuietly(() => (this.#connection.destroy === undefined ? this.#connection.disconnect?.() : this.#connection.destroy()))
  }
}

/** The members of the package `ioredis` that are used. */
interface IoRedis {
  readonly isCluster?: boolean
  readonly status?: string
  readonly options?: { readonly keyPrefix?: unknown; readonly redisOptions?: { readonly keyPrefix?: unknown } }
  call(...args: string[]): Promise<unknown>
  duplicate(...args: unknown[]): IoRedis
  connect(): Promise<unknown>
  on(event: string, listener: (...args: unknown[]) => void): unknown
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  ssubscribe(channel: string): Promise<unknown>
  sunsubscribe(channel: string): Promise<unknown>
  disconnect(): void
}

class IoRedisSubscriber implements RedisSubscriber {
  readonly #connection: IoRedis
  readonly #isSharded: boolean
  #isClosed = false

  constructor(client: IoRedis, isSharded: boolean, { onMessage, onReady, onLost }: SubscriberEvents) {
    this.#isSharded = isSharded
    // The owner subscribes again on `onReady`, because it needs the confirmation. The prefix is only for keys, see `keyPrefix`.
    const own = { lazyConnect: true, autoResubscribe: false, keyPrefix: '' }
    this.#connection = isSharded
      ? client.duplicate([], { lazyConnect: true, keyPrefix: '', shardedSubscribers: true, redisOptions: { keyPrefix: '' } })
      : client.duplicate(own)
    let lastError: unknown = null
    this.#connection.on('error', (error) => {
      lastError = error
    })
    this.#connection.on('ready', () => {
      if (!this.#isClosed) onReady()
    })
    this.#connection.on('close', () => {
      if (!this.#isClosed) onLost(lastError)
    })
    this.#connection.on(isSharded ? 'smessage' : 'message', (channel, text) => {
      if (!this.#isClosed) onMessage(channel as string, text as string)
    })
    this.#connection.connect().catch(() => {}) // it tries again by itself, or ends
  }

  get isReady(): boolean {
    return !this.#isClosed && this.#connection.status === 'ready'
  }

  get hasEnded(): boolean {
    return this.#connection.status === 'end'
  }

  async subscribe(channel: string): Promise<void> {
    await (this.#isSharded ? this.#connection.ssubscribe(channel) : this.#connection.subscribe(channel))
  }

  async unsubscribe(channel: string): Promise<void> {
    await (this.#isSharded ? this.#connection.sunsubscribe(channel) : this.#connection.unsubscribe(channel))
  }

  close(): void {
    this.#isClosed = true
    closeQuietly(() => this.#connection.disconnect())
  }
}

/** A client that is closed already, or not open yet, may throw or reject. */
function closeQuietly(close: () => unknown): void {
  void (async () => close())().catch(() => {})
}
