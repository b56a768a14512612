// Tells observers and subscribers of `node:diagnostics_channel` about exchanges.
//
// Ends are collected and reported in a later turn of the event loop, so that no response waits for an observer. Records are frozen, so that no
// observer can change what the next one sees.

import { AsyncResource } from 'node:async_hooks'
import { type Channel, channel } from 'node:diagnostics_channel'
import { setImmediate } from 'node:timers'

import { isPromise } from '../../base/is-promise.ts'
import { kindOf } from '../../base/kind-of.ts'
import { checkFunction, invalid } from '../../base/options.ts'
import type { ConnectionInfo } from '../../http/connection-info.ts'
import { type Exchange, exchangeOf } from '../../http/exchange.ts'
import type { ExchangeObserver, ExchangeStart, RecordKind } from '../../http/exchange-record.ts'
import { Recording } from './recording.ts'

/** How long the measured difference between the two clocks is used. */
const CLOCKS_AGREE_MS = 1000
/** The longest excerpt of a broken head. */
const FIRST_BYTES = 64

// Kept here, because Node discards channels that are not referenced.
const REQUEST_BEGIN = channel('weir.request.begin')
const UPGRADE_BEGIN = channel('weir.upgrade.begin')
const ENDS: Readonly<Record<RecordKind, Channel>> = {
  request: channel('weir.request.end'),
  upgrade: channel('weir.upgrade.end'),
  head: channel('weir.head.refused'),
  tls: channel('weir.tls.failed'),
  connection: channel('weir.connection.refused'),
}

/** A connection whose responses may not have been sent yet. */
export interface Unsent {
  /** Ends the recordings whose responses have been sent by `now`. */
  settle(now: number): void
}

/** The peer of a connection that was not accepted. */
export interface Stranger {
  readonly remoteAddress?: string | undefined
}

export class Observers {
  readonly #all: ExchangeObserver[] = []
  readonly #failed = new WeakSet<ExchangeObserver>()
  readonly #onError: (error: unknown) => void
  readonly #now: () => number
  /** Reads the clock, and keeps what it shows for records that begin in the same turn of the event loop. */
  readonly #read = (): number => {
    this.#latest = this.#now()
    this.#schedule() // which forgets it
    return this.#latest
  }
  /** The time read in this turn; -1 if the clock has not been read. */
  #latest = -1
  #ended: Recording[] = []
  /** Of the server: whoever schedules the reports of a turn, they are about others, too. */
  readonly #origin = new AsyncResource('weir.observers')
  #unsent: Unsent[] = []
  #isScheduled = false
  /** Wall time minus `#now()`, and when that was read. */
  #offset = 0
  #offsetAt = Number.NEGATIVE_INFINITY

  /**
   * @param onError called with what an observer throws, once for each observer
   * @param now milliseconds with fractions
   */
  constructor(onError: (error: unknown) => void, now: () => number = () => performance.now()) {
    this.#onError = onError
    this.#now = now
  }

  /** An observer may be an instance of a class with other members. @throws WEIR_OPTION_INVALID */
  add(observer: ExchangeObserver | null | undefined): void {
    if (typeof observer !== 'object' || observer === null || typeof observer.end !== 'function')
      throw invalid('observe()', `an observer is an object with a function end(record), not ${kindOf(observer)}`)
    checkFunction('observe()', 'started', observer.started)
    checkFunction('observe()', 'begin', observer.begin)
    checkFunction('observe()', 'stopped', observer.stopped)
    this.#all.push(observer)
  }

  /** Whether there are observers of records of `kind`. */
  hears(kind: RecordKind): boolean {
    if (this.#all.length > 0 || ENDS[kind].hasSubscribers) return true
    return kind === 'request' ? REQUEST_BEGIN.hasSubscribers : kind === 'upgrade' && UPGRADE_BEGIN.hasSubscribers
  }

  /** A request has begun. Call `hears` first. */
  begin(exchange: Exchange, connection: ConnectionInfo): Recording {
    const recording = this.#recordRequest(exchange, connection, this.#all.length)
    this.#tellBegin(recording, REQUEST_BEGIN)
    return recording
  }

  /** Only the listeners of the exchange itself are told when it is over. */
  beginUnheard(exchange: Exchange, connection: ConnectionInfo): Recording {
    return this.#recordRequest(exchange, connection, 0)
  }

  #recordRequest(exchange: Exchange, connection: ConnectionInfo, audience: number): Recording {
    const { session, head, match } = exchange
    const label = match.route?.label ?? null
    return this.#record(
      'request',
      label,
      head.method,
      head.protocol,
      (exchange.forwardedClient ?? connection).clientAddress,
      connection.connectionId,
      exchange.requestId,
      session,
      audience,
    )
  }

  /** The connection of `request` speaks another protocol from now on. */
  beginUpgrade(request: Recording, protocol: string): Recording {
    const { route, method, clientAddress, connectionId, requestId, session } = request
    if (session !== null) exchangeOf(session).hasSwitched = true
    const recording = this.#record('upgrade', route, method, protocol, clientAddress, connectionId, requestId, session)
    this.#tellBegin(recording, UPGRADE_BEGIN)
    return recording
  }

  /** A head has been refused, or was not completed. */
  head(error: Error, connection: ConnectionInfo, protocol: string | null): Recording {
    const { clientAddress, connectionId } = connection
    const recording = this.#record('head', null, null, protocol, clientAddress, connectionId, null, null)
    recording.answers(error)
    return recording
  }

  /** A connection was refused before it could be used. */
  refused(kind: 'tls' | 'connection', error: Error, from: Stranger): void {
    if (!this.hears(kind)) return
    const recording = this.#record(kind, null, null, null, from.remoteAddress ?? '', null, null, null)
    recording.abort(error)
    this.end(recording)
  }

  #record(
    kind: RecordKind,
    route: string | null,
    method: string | null,
    protocol: string | null,
    clientAddress: string,
    connectionId: string | null,
    requestId: string | null,
    session: Exchange['session'] | null,
    audience: number = this.#all.length,
  ): Recording {
    // All heads that are read in one turn have been waiting since it began. Reading the clock costs as much as the rest of a record.
    const now = this.#latest === -1 ? this.#read() : this.#latest
    const startedAt = Math.round(now + this.#offsetFor(now))
    return new Recording(
      kind,
      route,
      method,
      protocol,
      this.#read,
      now,
      startedAt,
      clientAddress,
      connectionId,
      requestId,
      session,
      audience,
    )
  }

  #offsetFor(now: number): number {
    if (now - this.#offsetAt > CLOCKS_AGREE_MS) {
      this.#offset = Date.now() - now
      this.#offsetAt = now
    }
    return this.#offset
  }

  // Reporting.

  /** The exchange is over: its observers are told soon. */
  end(recording: Recording): void {
    this.#ended.push(recording)
    this.#schedule()
  }

  /** A response is waiting in memory to be written in this turn, and is checked again after that. */
  lookLater(connection: Unsent): void {
    this.#unsent.push(connection)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#origin.runInAsyncScope(setImmediate, null, this.#onTurn)
  }

  readonly #onTurn = (): void => {
    this.#isScheduled = false
    this.#latest = -1
    const unsent = this.#unsent
    if (unsent.length > 0) {
      this.#unsent = []
      const now = this.#now() // read once for all of them: it costs more than the rest of a record
      for (let i = 0; i < unsent.length; i++) unsent[i]!.settle(now)
    }
    this.flush()
  }

  /** Reports everything that is over. */
  flush(): void {
    const ended = this.#ended
    if (ended.length === 0) return
    this.#ended = []
    for (let i = 0; i < ended.length; i++) this.#tellEnd(Object.freeze(ended[i]!))
  }

  /** The server has started. */
  started(): void {
    for (const observer of this.#all) {
      try {
        this.#watch(observer, observer.started?.())
      } catch (error) {
        this.#report(observer, error)
      }
    }
  }

  /** The server has stopped: reports everything that is over, then lets observers finish. */
  async finish(): Promise<void> {
    this.flush()
    for (const observer of this.#all) {
      try {
        await observer.stopped?.()
      } catch (error) {
        this.#report(observer, error)
      }
    }
  }

  #tellBegin(recording: Recording, to: Channel): void {
    let start: ExchangeStart | null = null
    for (let i = 0; i < recording.audience; i++) {
      const observer = this.#all[i]!
      if (observer.begin === undefined) continue
      start ??= recording.start
      try {
        this.#watch(observer, observer.begin(start))
      } catch (error) {
        this.#report(observer, error)
      }
    }
    if (to.hasSubscribers) to.publish(start ?? recording.start)
  }

  #tellEnd(recording: Readonly<Recording>): void {
    for (let i = 0; i < recording.audience; i++) {
      const observer = this.#all[i]!
      try {
        const result = observer.end(recording)
        if (result !== undefined) this.#watch(observer, result)
      } catch (error) {
        this.#report(observer, error)
      }
    }
    const to = ENDS[recording.kind]
    if (to.hasSubscribers) to.publish(recording)
    if (recording.session !== null) endExchange(recording.kind, exchangeOf(recording.session))
  }

  /** An observer may be asynchronous. It is not awaited, but its failure is reported as well. */
  #watch(observer: ExchangeObserver, result: unknown): void {
    if (isPromise(result)) Promise.resolve(result).catch((error: unknown) => this.#report(observer, error))
  }

  #report(observer: ExchangeObserver, error: unknown): void {
    if (this.#failed.has(observer)) return
    this.#failed.add(observer)
    this.#onError(error)
  }
}

/** A request that has switched to another protocol is over when that has ended. */
function endExchange(kind: RecordKind, exchange: Exchange): void {
  if (kind === 'upgrade' || !exchange.hasSwitched) exchange.end()
}

const ESCAPES: Readonly<Record<number, string>> = { 92: '\\\\', 13: '\\r', 10: '\\n', 9: '\\t' }

/** Keeps printable ASCII and escapes everything else, so that the result can be logged. */
export function escapedBytes(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes.subarray(0, FIRST_BYTES))
    text += ESCAPES[byte] ?? (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`)
  return text
}
