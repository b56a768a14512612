// One key in this process: its log, its clients, and the work if this process does it.

import { AsyncResource } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { isInstance, WeirError } from '../../base/errors.ts'
import { BEFORE_FIRST, type Relay, type RelaySubscription } from '../relay/relay-option.ts'
import type { EncodedEvent } from './event.ts'
import { ResumableClient, type WatchedKey } from './resumable-client.ts'
import { type KeptRun, RunLog } from './resumable-log.ts'
import { type Claim, decodeMessage, encodeMessage, type RunMessage } from './resumable-message.ts'
import { type Start, Work } from './resumable-work.ts'

/** The attempt of repaired messages, which processes that have read them before ignore. */
const REPAIR = 0

/** Whose memory the events of a key are. */
export interface Owner {
  readonly key: string
  /** Whether it is a principal, and no network. */
  readonly isKnown: boolean
}

/** All keys of this process, as one of them sees them. */
export interface KeyHost {
  /** This process. */
  readonly id: string
  readonly relay: Relay | null
  readonly clock: Clock
  readonly gap: EncodedEvent
  readonly settings: {
    readonly keep: number
    readonly maxEvents: number
    readonly maxSize: number
    readonly maxMemory: number
    readonly maxTime: number
    readonly lease: number
    readonly handOver: boolean
  }
  readonly onError: (error: unknown) => void
  /** When this process last heard of a process that works, or was last unable to hear of it. */
  lastSeen(process: string): number
  /** Makes room. @returns whether there is enough for the events of all keys of the owner */
  grow(owner: Owner, by: number): boolean
  /** `isIdle` of the key may have changed. */
  note(key: ResumableKey): void
  forget(key: ResumableKey): void
}

/** Begins the work in the asynchronous context of the client: what the relay tells comes in the context of its own connection. */
type Begin = (work: Work) => void

/** A claim of this process: its epoch, its run, and the work that it would begin. */
interface Claiming {
  readonly epoch: number
  readonly run: string
  readonly begin: Begin
  /** Since when the relay has had it without confirming it; null while it is on its way. */
  uncertainSince: number | null
}

export class ResumableKey implements WatchedKey {
  readonly name: string
  /** Who has begun it here. */
  readonly owner: Owner
  readonly #host: KeyHost
  readonly #channel: string
  readonly #log = new RunLog()
  /**
   * The clients, and how each of them would begin the work. The function may keep the whole request of its client in memory, so it is kept only
   * while the client stays.
   */
  readonly #clients = new Map<ResumableClient, Begin>()
  /** The server with which the work ends here. */
  #stopping: AbortSignal
  #work: Work | null = null
  #subscription: RelaySubscription | null = null
  /** Whether everything that the log had when it was opened has been read. */
  #isReady = false
  /** Whether the beginning of the run has arrived since the subscription began. */
  #hasReadClaim = false
  /** The claim of this process that is in progress; null for none. */
  #claiming: Claiming | null = null
  /** Since when it has had this owner, or no beginning. */
  #since: number
  #failure: Error | null = null
  #isClosed = false
  /** The size of its events. */
  bytes = 0
  /** Resolves when this process has nothing to do for it. */
  readonly settled: Promise<void>
  #settle: () => void = () => {}

  constructor(host: KeyHost, name: string, channel: string, owner: Owner, stopping: AbortSignal) {
    this.#host = host
    this.owner = owner
    this.name = name
    this.#channel = channel
    this.#stopping = stopping
    this.#since = host.clock.now()
    this.settled = new Promise((resolve) => (this.#settle = resolve))
  }

  get gap(): EncodedEvent {
    return this.#host.gap
  }

  get current(): KeptRun | null {
    if (this.#failure !== null) throw this.#failure
    return this.#isReady ? this.#kept : null
  }

  /** The number of clients here. */
  get size(): number {
    return this.#clients.size
  }

  get isWorking(): boolean {
    return this.#work !== null
  }

  /** Whether nothing is lost by forgetting it: no client watches, and the work is over or done elsewhere. */
  get isIdle(): boolean {
    return this.size === 0 && this.#work === null && this.#claiming === null
  }

  /** Whether its `keep` time is over. */
  get isGone(): boolean {
    return this.#isReady && this.#kept === null
  }

  watch(lastEventId: string | null, start: Start, stopping: AbortSignal): ResumableClient {
    if (this.#work === null) this.#stopping = stopping
    const client = new ResumableClient(this, lastEventId)
    this.#clients.set(
      client,
      AsyncResource.bind((work: Work) => work.begin(start)),
    )
    this.#host.note(this)
    if (this.#host.relay !== null && this.#subscription === null) this.#follow(this.#host.relay)
    else if (this.#host.relay === null) {
      this.#isReady = true
      this.#decide()
    }
    return client
  }

  checkFailure(): void {
    if (this.#failure !== null) throw this.#failure
  }

  leave(client: ResumableClient): void {
    this.#clients.delete(client)
    // Others can read it from the relay.
    if (this.isIdle && (this.#host.relay !== null || this.#log.run === null)) this.close()
    else this.#host.note(this)
  }

  endsWith(stopping: AbortSignal): boolean {
    return this.#work !== null && stopping === this.#stopping && !this.#host.settings.handOver
  }

  async cancel(): Promise<void> {
    await this.#publish({ kind: 'cancel', at: this.#host.clock.wallTime() })
  }

  /** The server of the work is stopping. */
  stop(stopping: AbortSignal): void {
    const work = this.#work
    if (work === null || stopping !== this.#stopping) return
    if (!this.#host.settings.handOver) {
      work.end('interrupted')
      return
    }
    this.#endWork()
    this.#host.note(this)
    const { epoch, run } = this.#log
    Promise.resolve(this.#publish({ kind: 'release', run: run!.id, epoch })).then(this.#settle, (error: unknown) => {
      this.#host.onError(error) // the others notice when the lease is over
      this.#settle()
    })
  }

  /** Does what is due at this time. */
  tick(): void {
    const { clock, settings, id } = this.#host
    if (!this.#isReady) return
    this.#giveUpClaim()
    if (this.isGone && this.isIdle) this.close()
    this.#decide()
    const { owner, isHeadless } = this.#log
    const now = clock.now()
    if (isHeadless && now - this.#since > settings.lease)
      this.fail(
        new Error(`the relay has dropped the beginning of ${JSON.stringify(this.name)}: it has to keep more than maxEvents messages`),
      )
    if (owner === null || owner === id || this.size === 0) return
    if (now - Math.max(this.#since, this.#host.lastSeen(owner)) > settings.lease) this.#claim()
  }

  /** Ends the streams here, and the work. */
  fail(error: Error): void {
    if (this.#work !== null) {
      this.#work.fail(error)
      return
    }
    this.#host.onError(error)
    this.#failure = error
    this.close()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#endWork()
    this.#subscription?.close()
    this.#wakeAll()
    this.#settle()
    this.#host.forget(this)
  }

  /** The run that may be read. One that ended longer ago than `keep` is gone. */
  get #kept(): KeptRun | null {
    const { run } = this.#log
    const { clock, settings } = this.#host
    return run === null || (run.end !== null && clock.wallTime() - run.endedAt >= settings.keep) ? null : run
  }

  #follow(relay: Relay): void {
    let isAtStart = true // where a gap is only what the relay keeps no longer
    let isMissing = false
    this.#hasReadClaim = false
    const subscription = relay.subscribe(
      this.#channel,
      ({ data }) => {
        if (isMissing) return // what follows a missing message would count as never written
        isAtStart = false
        const message = decodeMessage(data)
        if (message !== null) this.#hear(message)
      },
      {
        after: BEFORE_FIRST,
        onGap: () => {
          if (isAtStart || isMissing) return
          isMissing = true
          queueMicrotask(() => this.#readAgain(relay, subscription))
        },
      },
    )
    this.#subscription = subscription
    subscription.ready.then(
      () => {
        isAtStart = false
        if (this.#isClosed || this.#subscription !== subscription) return
        if (this.#work !== null) this.#repair(this.#work)
        this.#isReady = true
        this.#decide()
        this.#wakeAll()
      },
      () => {},
    )
  }

  /** Reads the log again, because messages may be missing. Messages that have been read before change nothing. */
  #readAgain(relay: Relay, subscription: RelaySubscription): void {
    if (this.#isClosed || this.#subscription !== subscription) return
    subscription.close()
    this.#follow(relay)
  }

  /** Publishes messages again that the relay has lost, for clients that come later. */
  #repair(work: Work): void {
    const { run, epoch } = this.#log
    if (!this.#hasReadClaim) {
      const claim: Claim = { kind: 'claim', run: run!.id, epoch, by: this.#host.id, from: 0 }
      this.#publish(claim)?.catch(this.#host.onError)
      for (const [n, event] of run!.events.entries())
        this.#publish({ kind: 'event', run: run!.id, epoch, n, attempt: REPAIR, ...fieldsOf(event) })?.catch(this.#host.onError)
    }
    work.repeat()
  }

  #decide(): void {
    const run = this.#kept
    if (this.#isClosed || this.#log.isHeadless || this.size === 0) return
    // A client that still reads a run that is gone needs no other.
    if (run === null ? this.#isAwaited : run.end === null && this.#isWithoutWorker) this.#claim()
  }

  /** Whether a client here waits for a run to begin. */
  get #isAwaited(): boolean {
    for (const client of this.#clients.keys()) if (client.isWaiting) return true
    return false
  }

  /** No process works, or this one is said to, and does not know with what. */
  get #isWithoutWorker(): boolean {
    const { owner } = this.#log
    return owner === null || (owner === this.#host.id && this.#work === null)
  }

  #claim(): void {
    const run = this.#kept
    const epoch = this.#log.epoch + 1
    const before = this.#claiming?.epoch === epoch ? this.#claiming : null
    if ((before !== null && before.uncertainSince === null) || this.#stopping.aborted) return
    const id = run?.id ?? before?.run ?? randomBytes(16).toString('base64url')
    const claiming: Claiming = { epoch, run: id, begin: [...this.#clients.values()].at(-1)!, uncertainSince: null }
    this.#claiming = claiming
    const message: Claim = { kind: 'claim', run: id, epoch, by: this.#host.id, from: run?.events.length ?? 0 }
    const given = (): number => (claiming.uncertainSince = this.#host.clock.now())
    this.#publish(message)?.then(
      given, // the claim arrives, unless the relay only remembers one that it has dropped since, and accepts this one later
      (error: unknown) => {
        // It may be in the log. The next tick tries again, unless the relay keeps nothing.
        given()
        if (isInstance(error, WeirError) && error.code === 'WEIR_OPTION_INVALID') this.fail(error)
        else this.#host.onError(error)
      },
    )
  }

  /** No client wants the work any more, and the relay has not confirmed the claim. */
  #giveUpClaim(): void {
    const since = this.#claiming?.uncertainSince ?? null
    if (since === null || this.size > 0 || this.#host.clock.now() - since <= this.#host.settings.lease) return
    this.#claiming = null
    if (this.isIdle) this.close()
  }

  /** @returns null if it was delivered immediately */
  #publish(message: RunMessage): Promise<string | null> | null {
    const { relay } = this.#host
    if (relay === null) {
      this.#hear(message)
      return null
    }
    if (message.kind !== 'claim') return relay.publish(this.#channel, encodeMessage(message))
    // Of several equal claims, only one is in the log. A claim to continue a run, and a claim to begin one after its end, are not equal.
    const once = `claim ${message.epoch}${message.run === this.#log.run?.id ? '' : ' for a new run'}`
    return relay.publish(this.#channel, encodeMessage(message), { once })
  }

  #hear(message: RunMessage): void {
    if (this.#isClosed) return
    const before = this.#log.run
    const isNews = this.#log.apply(message)
    const { run } = this.#log
    if (message.kind === 'claim' && message.run === run?.id) this.#hasReadClaim = true
    if (!isNews) {
      if (this.#log.isTooEarly(message)) this.#work?.retryLater()
      return
    }
    if (message.kind === 'event') this.#work?.heard(run!.events.length)
    else {
      this.#endWork()
      this.#since = this.#host.clock.now()
      if (message.kind === 'claim') this.#onClaim(message, before === run)
      else if (message.kind !== 'release') {
        this.#claiming = null // the claim of this run comes too late
        this.#settle()
      } else if (this.#isReady) this.#decide()
    }
    this.#count(run!.bytes)
    this.#wakeAll()
    if (this.isIdle && this.#host.relay !== null) this.close()
    else this.#host.note(this)
  }

  #onClaim({ by, epoch }: Claim, isTakenOver: boolean): void {
    const { id, settings, clock, onError } = this.#host
    const run = this.#log.run!
    const claiming = this.#claiming
    this.#claiming = null
    if (by !== id || claiming?.epoch !== epoch) return
    const { maxEvents, maxSize, maxTime } = settings
    const publish = (message: RunMessage): Promise<unknown> | null => this.#publish(message)
    const kept = run.events.length
    this.#work = new Work({
      client: this.owner.key,
      run: run.id,
      epoch,
      kept,
      keptBytes: run.bytes,
      maxEvents,
      maxSize,
      maxTime,
      clock,
      onError,
      publish,
    })
    if (this.#stopping.aborted) this.stop(this.#stopping)
    else if (isTakenOver && !settings.handOver) this.#work.end('interrupted')
    else claiming.begin(this.#work)
  }

  #count(bytes: number): void {
    if (this.#isClosed) return
    const by = bytes - this.bytes
    const { maxMemory } = this.#host.settings
    this.bytes = bytes
    if (!this.#host.grow(this.owner, by))
      this.fail(new Error(`resumable streams of one client have more than their part of maxMemory, ${maxMemory}`))
  }

  #endWork(): void {
    this.#work?.stop()
    this.#work = null
  }

  #wakeAll(): void {
    for (const client of this.#clients.keys()) client.wake()
  }
}

/** What was encoded. */
function fieldsOf({ bytes }: EncodedEvent): { data?: string; event?: string } {
  const lines = new TextDecoder().decode(bytes).split('\n')
  const [event] = lines.filter((line) => line.startsWith('event: '))
  const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6))
  return { ...(event === undefined ? {} : { event: event.slice(7) }), ...(data.length === 0 ? {} : { data: data.join('\n') }) }
}
