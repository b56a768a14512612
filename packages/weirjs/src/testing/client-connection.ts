// The client's end of a connection in memory. It performs one action after the other, keeps what it receives, and never waits longer than
// its patience.

import type { Duration } from '../base/duration.ts'
import { WeirError } from '../base/errors.ts'
import { anything, duration, flag, matching } from '../base/option-kinds.ts'
import { rules } from '../base/option-rules.ts'
import { type ArrivalOptions, arrivalOf } from '../net/connections/arrival.ts'
import type { ConnectionHost } from '../net/connections/connection-host.ts'
import { derivedHost } from '../net/connections/derived-host.ts'
import { Http1Connection } from '../net/http1/connection.ts'
import { ResponseReader } from '../net/inject/response-reader.ts'
import { Ticker } from '../net/time/ticker.ts'
import { MemoryTransport } from '../net/transport/memory-transport.ts'

import type { Action, Behave, Behaviour, StallTime } from './behaviours.ts'
import { settled, type TestClock } from './test-clock.ts'

export interface ClientOptions extends ArrivalOptions {
  /** One or several ways to misbehave, applied in order. Default: none. */
  readonly behaviour?: Behaviour | readonly Behaviour[]
  /** The clock for the timeouts of this connection, and for stalls. Default: the system's clock. */
  readonly clock?: TestClock
  /** How long to wait for anything, in real time. Default 5 s. When exceeded: WEIR_TEST_WAIT. */
  readonly patience?: Duration
  /** Whether the client sends back the cookies that responses set, by name alone, whatever their path. Default false. */
  readonly cookies?: boolean
}

/** How a connection ended: the server closed it, the server aborted it, or the client left. */
export type Ending = 'end' | 'reset' | 'left'

const ENDINGS: Readonly<Record<Ending, string>> = {
  end: 'the server ended its side',
  reset: 'the server aborted the connection',
  left: 'the client has left',
}
/** Why a server closes a connection on which nothing has arrived, in most tests. */
const IDLE = '; a connection that is idle ends after keepAliveTimeout, also by a TestClock: connect again'

/** @internal `arrivalOf` reads `endpoint` and `peer`. */
export const CONNECT_RULES = rules<ClientOptions>('connect()')({
  behaviour: matching<Behaviour | readonly Behaviour[]>('a way to misbehave such as slowSender(), or a list', areBehaviours).or([]),
  clock: anything().optional("the system's clock"),
  patience: duration().or('5s'),
  cookies: flag(false),
  endpoint: anything().optional(),
  peer: anything().optional(),
})

function areBehaviours(value: unknown): boolean {
  return [value].flat().every((one) => typeof one === 'function')
}

/** How many bytes of a response the client receives before the test reads them, and how many arrive at the server at a time. */
const WINDOW_BYTES = 64 * 1024
/** How many of the received bytes an error quotes. */
const SHOWN_BYTES = 300

export class ClientConnection {
  readonly reader = new ResponseReader()
  readonly #host: ConnectionHost
  readonly #transport: MemoryTransport
  readonly #behaviours: readonly Behave[]
  readonly #clock: TestClock | null
  readonly #patienceMs: number
  readonly #queue: (Action | { readonly kind: 'done'; readonly resolve: () => void })[] = []
  #isWorking = false
  /** Ends the wait for the server to read. */
  #onTaken: (() => void) | null = null
  #onStallEnd: (() => void) | null = null
  #isReading = true
  #hasEnded = false
  #hasLeft = false
  /** Why the client has left, unless the test told it to. */
  #reason: Error | null = null
  readonly #waiters = new Set<() => void>()

  constructor(host: ConnectionHost, options: ClientOptions, testPrincipal: object | null) {
    const { behaviour, clock, patience } = CONNECT_RULES.read(options)
    const { address, port, isSecure, peer } = arrivalOf('connect()', host, options)
    this.#host = host
    this.#transport = new MemoryTransport(address, port, isSecure)
    this.#behaviours = [behaviour].flat().map((begin) => begin())
    this.#clock = clock ?? null
    this.#patienceMs = patience
    this.#transport.onOutput = (bytes) => this.#receive(bytes)
    this.#transport.onTaken = () => this.#onTaken?.()
    const timed = clock === undefined ? host : derivedHost(host, { ticker: new Ticker(clock, host.timeouts) })
    this.#transport.start(new Http1Connection(timed, this.#transport, { ...peer, isTest: true, testPrincipal }))
  }

  /** Whether no more of a response can arrive: the server has ended its side, or either side has left. */
  get hasEnded(): boolean {
    return this.#hasEnded || this.#hasLeft
  }

  /** How the connection ended: closed by the server, aborted by the server, or left by the client. */
  get ending(): Ending {
    return this.#hasLeft ? 'left' : this.#transport.wasReset ? 'reset' : 'end'
  }

  /** Performs `action` after all pending ones, changed by the client's behaviours. Whatever needs no waiting is done when this returns. */
  perform(action: Action): Promise<void> {
    this.#queue.push(...this.#behaviours.reduce<Action[]>((all, behave) => all.flatMap(behave), [action]))
    return new Promise((resolve) => {
      this.#queue.push({ kind: 'done', resolve })
      if (!this.#isWorking) void this.#work()
    })
  }

  async #work(): Promise<void> {
    this.#isWorking = true
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      if (next.kind === 'done') next.resolve()
      else if (!this.#hasLeft && !this.#transport.isClosed) {
        const waiting = this.#act(next)
        if (waiting !== null) await waiting
      }
    }
    this.#isWorking = false
  }

  #act(action: Action): Promise<void> | null {
    switch (action.kind) {
      case 'send':
        return this.#send(action.bytes)
      case 'turn':
        return settled()
      case 'stall':
        return this.#stall(action.lasts)
      case 'end':
        this.#transport.sendEnd()
        return null
      default:
        this.leave(action.kind)
        return null
    }
  }

  /** @returns a promise if the server does not read */
  #send(bytes: Buffer): Promise<void> | null {
    for (let at = 0; at < bytes.length; at += WINDOW_BYTES) this.#transport.send(bytes.subarray(at, at + WINDOW_BYTES))
    return this.#transport.isWaiting ? new Promise((resolve) => (this.#onTaken = resolve)) : null
  }

  #stall(lasts: StallTime): Promise<void> {
    return new Promise((resolve) => {
      this.#onStallEnd = resolve
      if (typeof lasts === 'function')
        lasts().then(
          () => resolve(),
          (error: Error) => this.leave('reset', error),
        )
      else if (Number.isFinite(lasts) && this.#clock !== null) void this.#clock.sleep(lasts).then(resolve)
      else if (Number.isFinite(lasts)) setTimeout(resolve, lasts).unref()
    })
  }

  /** Leaves immediately; pending actions are dropped. @param reason the error with which pending waits reject */
  leave(how: 'abort' | 'reset', reason: Error | null = null): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.#reason = reason
    if (how === 'abort') this.#transport.leave()
    else this.#transport.break()
    this.#onTaken?.()
    this.#onStallEnd?.()
    this.#look()
  }

  /** Resolves when observers have been told what the server knows by now: a test that awaits a response can look at its record. */
  async observed(): Promise<void> {
    const { observers } = this.#host
    if (!observers.hears('request')) return
    await settled() // the server notices the end of a stream, and that everything was read
    observers.flush()
  }

  pause(): void {
    this.#isReading = false
    this.#transport.hold()
  }

  resume(): void {
    this.#isReading = true
    this.makeRoom()
  }

  /** Received bytes were taken, so more may arrive. */
  makeRoom(): void {
    if (this.#isReading && this.reader.waiting.length < WINDOW_BYTES) this.#transport.release()
  }

  #receive(bytes: Buffer | null): void {
    if (bytes === null) {
      this.#hasEnded = true
      if (!this.#transport.wasReset) this.reader.end()
      this.#transport.sendEnd()
      this.#onStallEnd?.()
    } else {
      this.reader.push(bytes)
      if (this.reader.waiting.length >= WINDOW_BYTES) this.#transport.hold()
    }
    this.#look()
  }

  /** Calls `look` now, and whenever something has happened, before all other waits. */
  watch(look: () => void): void {
    this.#waiters.add(look)
    look()
  }

  #look(): void {
    for (const look of [...this.#waiters]) look()
  }

  /**
   * Waits until `condition` returns true. It is called whenever something has happened.
   *
   * @throws WEIR_TEST_WAIT if that takes too long; WEIR_CLIENT_GONE if it can no longer happen; what `condition` throws
   */
  until(what: string, condition: () => boolean, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error: Error | null): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        this.#waiters.delete(look)
        if (error === null) resolve()
        else reject(error)
      }
      const onAbort = (): void => this.leave('abort', signal!.reason as Error)
      const look = (): void => {
        if (!this.#waiters.has(look)) return
        try {
          if (signal?.aborted === true) settle(signal.reason as Error)
          else if (condition()) settle(null)
          else if (this.hasEnded) settle(this.#reason ?? new WeirError('WEIR_CLIENT_GONE', `waited for ${this.#describe(what)}`))
        } catch (error) {
          settle(error as Error)
        }
      }
      const timer = setTimeout(() => settle(this.#late(what)), this.#patienceMs)
      this.#waiters.add(look)
      signal?.addEventListener('abort', onAbort)
      if (signal?.aborted === true) onAbort()
      look()
    })
  }

  /**
   * Waits for `promise`, with the same patience, counted from the last time that something happened.
   *
   * @throws WEIR_TEST_WAIT
   */
  within(what: string, promise: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const refresh = (): void => void timer.refresh()
      const settle = (act: () => void): void => {
        clearTimeout(timer)
        this.#waiters.delete(refresh)
        act()
      }
      const timer = setTimeout(() => settle(() => reject(this.#late(what))), this.#patienceMs)
      this.#waiters.add(refresh)
      void promise.then(() => settle(resolve))
    })
  }

  #late(what: string): WeirError {
    return new WeirError('WEIR_TEST_WAIT', `waited ${this.#patienceMs} ms for ${this.#describe(what)}`)
  }

  #describe(what: string): string {
    const { waiting } = this.reader
    const text = JSON.stringify(waiting.toString('latin1', 0, SHOWN_BYTES))
    const came = waiting.length === 0 ? 'no more bytes had arrived' : `${waiting.length} bytes had arrived: ${text}`
    const idle = this.hasEnded && this.ending === 'end' && waiting.length === 0 ? IDLE : ''
    return `${what}${this.hasEnded ? `, but ${ENDINGS[this.ending]}` : ''}; ${came}${idle}`
  }
}
