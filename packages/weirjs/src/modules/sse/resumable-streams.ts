// Streams that outlive the requests that watch them: the work runs once for each key, and its events are kept.

import { randomBytes } from 'node:crypto'
import { onStop } from '../../app/shutdown-listeners.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { Duration } from '../../base/duration.ts'
import { isInstance, RetryLaterError } from '../../base/errors.ts'
import { keepNewest } from '../../base/keep-newest.ts'
import { shown } from '../../base/kind-of.ts'
import { count, duration, flag, forTests, listener, object, size, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import { ownText } from '../../base/own-text.ts'
import type { Size } from '../../base/size.ts'
import { networkOf } from '../../formats/client-network.ts'
import type { HttpSession } from '../../http/session.ts'
import { principalKey } from '../auth/principal-key.ts'
import { checkedRelay, type Relay, type RelaySubscription } from '../relay/relay-option.ts'
import { checkKey } from './channels.ts'
import { EncodedEvent } from './event.ts'
import type { RelayEvent } from './event-envelope.ts'
import { SseFeed } from './feed.ts'
import { keyedChannel } from './keyed-channel.ts'
import { type KeyHost, type Owner, ResumableKey } from './resumable-key.ts'
import { isEndId } from './resumable-log.ts'
import { encodeMessage } from './resumable-message.ts'
import type { Start } from './resumable-work.ts'

export interface ResumableOptions {
  /**
   * A relay that keeps messages: then any process that has the same relay and `name` serves a key, whichever does its work. It has to keep
   * more messages of a channel than `maxEvents`. Default: the memory of this process.
   */
  readonly relay?: Relay
  /** Distinguishes these streams from others over the same relay. Default `'resumable'`. */
  readonly name?: string
  /** How long a stream is replayed after its end. Then its key is free, and the next request begins the work again. Default 5 min. */
  readonly keep?: Duration
  /** How many events one run of the work may have. More are an error of the work. Default 20,000. */
  readonly maxEvents?: number
  /** How many bytes the events of one run may have, and 128 more for each. More are an error of the work. Default 1 MiB. */
  readonly maxSize?: Size
  /**
   * How many keys this process has at a time. Those that have ended, and that no client watches, make room. If there are none, `resumable` throws.
   * Default 10,000.
   */
  readonly maxStreams?: number
  /**
   * How many bytes the events of all keys of this process may have, with the same way to make room. Default 64 MiB. The work of one principal gets
   * at most 38 % of it, and that of one network without a principal 17 %.
   */
  readonly maxMemory?: Size
  /** How long one process may work on a key. More is an error of the work. Default 1 h. */
  readonly maxTime?: Duration
  /**
   * Whether another process continues the work of one that stops or dies. `start` is then called with the number of events that there are already,
   * and yields those that follow. Needs `relay`. Default false: the stream ends with the reason `interrupted`.
   */
  readonly handOver?: boolean
  /** How long a working process may be silent before it counts as dead. Default 15 s. */
  readonly lease?: Duration
  /** Called with what the work throws, and with errors of the relay. Default: it becomes a warning of the process. */
  readonly onError?: (error: unknown) => void
}

const OWNER = 'ResumableStreams'
/** @internal */
export const RESUMABLE_RULES = rules<ResumableOptions & { readonly clock?: Clock }>(OWNER)({
  relay: object().optional('memory'),
  name: text('a name', (name) => name !== '').or('resumable'),
  keep: duration().or('5m'),
  maxEvents: count({ least: 1 }).or(20_000),
  maxSize: size({ least: 1 }).or('1MiB'),
  maxStreams: count({ least: 1 }).or(10_000),
  maxMemory: size({ least: 1 }).or('64MiB'),
  maxTime: duration().or('1h'),
  handOver: flag(false),
  lease: duration({ least: 1_000 }).or('15s'),
  onError: listener().or(warn, 'a warning of the process'),
  clock: forTests(),
})

const NONE: ReadonlySet<ResumableKey> = new Set()
/** Retry-After for a client when all streams are in use. */
const RETRY_MS = 5_000
/** Anyone can be a client without a principal. */
const UNKNOWN_PART = 1 / 4
/** Processes whose signs of life are remembered. */
const MOST_PROCESSES = 1_000

/** What the keys of one client have. */
interface Owned {
  keys: number
  bytes: number
  readonly idle: Set<ResumableKey>
  idleBytes: number
}

/** Forgets those that have been idle for the longest time. @returns whether it was enough */
function dropIdle(idle: ReadonlySet<ResumableKey>, isEnough: () => boolean): boolean {
  if (isEnough()) return true
  for (const key of idle) {
    key.close()
    if (isEnough()) return true
  }
  return false
}

function warn(error: unknown): void {
  process.emitWarning(isInstance(error, Error) ? error : `the work of a resumable stream threw ${String(error)}`)
}

/**
 * Event streams that outlive the requests that watch them, such as the output of a model: `sse(session, streams.resumable(key, start))`. The work
 * runs once for each key, however many clients ask, and its events are kept. Clients come and go with Last-Event-ID. One that leaves does not end
 * the work: `cancel` does. Create it once, not for each request. Who may see a key is for the handler to check.
 *
 * The last event of a stream is `end`, whose data is `{"reason"}`: `done`, `failed` with a `problem`, `cancelled`, or `interrupted` because the
 * process has stopped or died. A client that has seen it and returns gets 204, so that it does not return again.
 */
export class ResumableStreams {
  readonly #id = randomBytes(16).toString('base64url')
  readonly #settings: ReturnType<(typeof RESUMABLE_RULES)['read']>
  readonly #relay: Relay | null
  readonly #clock: Clock
  readonly #host: KeyHost
  readonly #keys = new Map<string, ResumableKey>()
  #bytes = 0
  /** What each owner has of them. */
  readonly #owned = new Map<string, Owned>()
  /** The keys that are idle, first the one that has been so for the longest time. Clients decide how many others there are, so none is looked for. */
  readonly #idle = new Set<ResumableKey>()
  #idleBytes = 0
  /** When each process was last heard of. */
  readonly #seen = new Map<string, number>()
  /** When the relay was last away, or this process was blocked, so that it could not hear other processes. */
  #deafAt = 0
  #tickedAt = 0
  #life: RelaySubscription | null = null
  /** While there are keys. */
  #stopTimer: (() => void) | null = null
  readonly #servers = new WeakSet<AbortSignal>()

  /** @throws WEIR_OPTION_INVALID */
  constructor(options: ResumableOptions = {}) {
    const settings = RESUMABLE_RULES.read(options)
    this.#settings = settings
    const { relay, handOver, clock } = settings
    this.#relay = relay === undefined ? null : checkedRelay(relay as Relay, OWNER)
    if (handOver && this.#relay === null)
      throw invalid(OWNER, 'handOver needs a relay: nobody else knows what is in the memory of this process')
    this.#clock = (clock as Clock | undefined) ?? systemClock
    this.#host = {
      id: this.#id,
      relay: this.#relay,
      clock: this.#clock,
      gap: new EncodedEvent({ event: 'gap', data: '' }),
      settings,
      onError: settings.onError,
      lastSeen: (process) => Math.max(this.#deafAt, this.#seen.get(process) ?? 0),
      grow: (owner, by) => this.#grow(owner, by),
      note: (key) => this.#note(key),
      forget: (key) => this.#forget(key),
    }
  }

  /** The number of keys that this process has in memory: keys of its clients and of its work, and without a relay the keys that are kept. */
  get size(): number {
    return this.#keys.size
  }

  /**
   * Returns a source for `sse`. The work of the key begins with the first client, and other clients get the same events from the first on, or from
   * the event after their Last-Event-ID. A client whose id is of a run that is gone gets the event `gap` first.
   *
   * @param start does the work: returns the events, without ids. The signal aborts when nothing more is needed: after `cancel`, at a limit,
   * and when the server stops. `kept` is the number of events that there are already, more than 0 only with `handOver`
   * @throws WEIR_OVERLOADED if this process has `maxStreams` keys, as does `sse` if the client has its part of them; WEIR_OPTION_INVALID
   */
  resumable(key: string, start: (signal: AbortSignal, kept: number) => AsyncIterable<RelayEvent | string>): SseFeed {
    checkKey(OWNER, key)
    if (typeof start !== 'function') throw invalid(OWNER, `resumable: start is ${shown(start)}, not a function`)
    if (!this.#keys.has(key) && this.#keys.size - this.#idle.size >= this.#settings.maxStreams) throw this.#refusal()
    return new ResumableFeed(
      (session) => {
        if (!this.#keys.has(key)) this.#makeRoom(ownerOf(session))
      },
      (lastEventId, session) => this.#watch(key, start, lastEventId, session),
      () => this.#keys.get(key)?.size ?? 0,
    )
  }

  /**
   * Ends the work of a key, on whichever machine it runs, and the streams of all that watch, with the reason `cancelled`. Does nothing if the key
   * has no work.
   *
   * @throws (rejects) WEIR_RELAY_UNAVAILABLE
   */
  async cancel(key: string): Promise<void> {
    const known = this.#keys.get(key)
    if (known !== undefined) await known.cancel()
    else if (this.#relay !== null)
      await this.#relay.publish(this.#channelOf(key), encodeMessage({ kind: 'cancel', at: this.#clock.wallTime() }))
  }

  #watch(name: string, start: Start, lastEventId: string | null, session: HttpSession): ReturnType<ResumableKey['watch']> {
    const { stopping } = session.server
    let key = this.#keys.get(name)
    if (key === undefined) {
      const owner = ownerOf(session)
      this.#makeRoom(owner)
      const own = ownText(name)
      key = new ResumableKey(this.#host, own, this.#channelOf(own), owner, stopping)
      this.#keys.set(own, key)
      this.#ownedBy(owner).keys++
      session.waitUntil(key.settled)
      this.#begin()
    }
    if (!this.#servers.has(stopping)) {
      this.#servers.add(stopping)
      onStop(stopping, () => {
        for (const one of [...this.#keys.values()]) one.stop(stopping)
      })
    }
    return key.watch(lastEventId, start, stopping)
  }

  #channelOf(key: string): string {
    return keyedChannel('resumable events', this.#settings.name, key)
  }

  /** For one more key of the owner, as in `#grow`. @throws WEIR_OVERLOADED */
  #makeRoom(owner: Owner): void {
    const { maxStreams } = this.#settings
    const own = this.#owned.get(owner.key)
    if (!dropIdle(own?.idle ?? NONE, () => this.#mayBegin(owner, own))) throw this.#refusal()
    dropIdle(this.#idle, () => this.#keys.size < maxStreams)
  }

  #mayBegin(owner: Owner, own: Owned | undefined): boolean {
    const { maxStreams } = this.#settings
    const free = maxStreams - this.#keys.size + this.#idle.size - (own?.idle.size ?? 0)
    return free > 0 && (own?.keys ?? 0) < Math.ceil(partOf(owner, free, maxStreams))
  }

  #refusal(): RetryLaterError {
    const detail = `${OWNER} has maxStreams keys, ${this.#settings.maxStreams}, or the client its part of them`
    return new RetryLaterError('WEIR_OVERLOADED', ['maxStreams'], RETRY_MS, detail)
  }

  /**
   * Streams that have ended make room, first those of the same owner. Those of others do only if the owner may have the room: whoever may not have it
   * does not end what others may still read.
   */
  #grow(owner: Owner, by: number): boolean {
    const own = this.#ownedBy(owner)
    const mayGrow = by <= 0 || dropIdle(own.idle, () => this.#mayTake(owner, own, by))
    this.#take(owner, by)
    if (mayGrow) dropIdle(this.#idle, () => this.#bytes <= this.#settings.maxMemory)
    return mayGrow
  }

  /** Streams of others that have ended are free. */
  #mayTake(owner: Owner, { bytes, idleBytes }: Owned, by: number): boolean {
    const { maxMemory } = this.#settings
    const free = maxMemory - this.#bytes + this.#idleBytes - idleBytes
    return by <= free && bytes + by <= partOf(owner, free, maxMemory)
  }

  #ownedBy({ key }: Owner): Owned {
    let owned = this.#owned.get(key)
    if (owned === undefined) this.#owned.set(key, (owned = { keys: 0, bytes: 0, idle: new Set(), idleBytes: 0 }))
    return owned
  }

  #take(owner: Owner, by: number): void {
    const owned = this.#ownedBy(owner)
    this.#bytes += by
    owned.bytes += by
    if (owned.keys === 0) this.#owned.delete(owner.key)
  }

  /** Its bytes do not change while it is idle. */
  #note(key: ResumableKey): void {
    const isIdle = key.isIdle && this.#keys.get(key.name) === key
    if (isIdle === this.#idle.has(key)) return
    const owned = this.#ownedBy(key.owner)
    const by = isIdle ? key.bytes : -key.bytes
    this.#idleBytes += by
    owned.idleBytes += by
    for (const idle of [this.#idle, owned.idle])
      if (isIdle) idle.add(key)
      else idle.delete(key)
  }

  #forget(key: ResumableKey): void {
    if (this.#keys.get(key.name) !== key) return
    this.#keys.delete(key.name)
    this.#note(key)
    this.#ownedBy(key.owner).keys--
    this.#take(key.owner, -key.bytes)
    if (this.#keys.size > 0) return
    this.#stopTimer?.()
    this.#life?.close()
    this.#stopTimer = this.#life = null
  }

  #begin(): void {
    if (this.#stopTimer === null) this.#tickedAt = this.#clock.now()
    this.#stopTimer ??= this.#clock.every(Math.floor(this.#settings.lease / 3), () => this.#tick())
    if (this.#relay === null) return
    this.#life ??= this.#relay.subscribe(this.#lifeChannel, ({ data }) => {
      this.#seen.delete(data)
      this.#seen.set(data, this.#clock.now())
      keepNewest(this.#seen, MOST_PROCESSES)
    })
  }

  get #lifeChannel(): string {
    return `resumable processes ${this.#settings.name}`
  }

  #tick(): void {
    const keys = [...this.#keys.values()]
    if (this.#relay !== null) {
      const now = this.#clock.now()
      // After a pause, this runs before the messages that have arrived meanwhile are read.
      if (!this.#relay.isConnected || now - this.#tickedAt > this.#settings.lease / 2) this.#deafAt = now
      this.#tickedAt = now
      if (keys.some(({ isWorking }) => isWorking)) this.#relay.publish(this.#lifeChannel, this.#id).catch(() => {})
    }
    for (const key of keys) key.tick()
  }
}

/** What one may have shrinks with the square of what is free: however many take all that they may, each leaves most of it to the next. */
function partOf({ isKnown }: Owner, free: number, all: number): number {
  return (free ** 2 / all) * (isKnown ? 1 : UNKNOWN_PART)
}

/** Who has begun a stream. */
function ownerOf(session: HttpSession): Owner {
  const principal = principalKey(OWNER, session)
  return { key: principal ?? networkOf(session.clientAddress), isKnown: principal !== null }
}

class ResumableFeed extends SseFeed {
  readonly #admit: (session: HttpSession) => void
  readonly #watch: (lastEventId: string | null, session: HttpSession) => AsyncIterable<EncodedEvent>
  readonly #count: () => number

  constructor(
    admit: (session: HttpSession) => void,
    watch: (lastEventId: string | null, session: HttpSession) => AsyncIterable<EncodedEvent>,
    count: () => number,
  ) {
    super()
    this.#admit = admit
    this.#watch = watch
    this.#count = count
  }

  get size(): number {
    return this.#count()
  }

  subscribe(lastEventId: string | null, session: HttpSession): AsyncIterable<EncodedEvent> {
    return this.#watch(lastEventId, session)
  }

  override admit(session: HttpSession): void {
    this.#admit(session)
  }

  override isOver(lastEventId: string): boolean {
    return isEndId(lastEventId)
  }
}
