// The client's end of one connection in memory: it does one thing after the other, keeps what comes, and waits with an end to its patience.

import { WeirError } from '../base/errors.ts'
import type { ConnectionHost } from '../net/connections/connection-host.ts'
import { Http1Connection } from '../net/http1/connection.ts'
import { AnswerReader } from '../net/inject/answer-reader.ts'
import { Ticker } from '../net/time/ticker.ts'
import { MemoryTransport } from '../net/transport/memory-transport.ts'

import type { Action, Behave, Behaviour, StallTime } from './behaviours.ts'
import { derivedHost } from './derived-host.ts'
import { settled, type TestClock } from './test-clock.ts'

export interface ClientOptions {
  /** How the client misbehaves, the first one nearest to the test. Default: not at all. */
  readonly behaviour?: Behaviour | readonly Behaviour[]
  /** Time for the timeouts of this connection, and for stalls. Default: the time of the machine. */
  readonly clock?: TestClock
  /** How long anything is waited for, in milliseconds of the machine. Default 5 s. Beyond it: WEIR_TEST_WAIT. */
  readonly patienceMs?: number
  /** Whether cookies that answers set are sent with later requests: by name alone, whatever their path. Default false. */
  readonly cookies?: boolean
}

/** How a connection ended: the server ended it in order, the server broke it off, the client left. */
export type Ending = 'end' | 'reset' | 'left'

const ENDINGS: Readonly<Record<Ending, string>> = {
  end: 'the server ended its side',
  reset: 'the server broke off',
  left: 'the client has left',
}
const DEFAULT_PATIENCE_MS = 5_000
/** So many bytes of an answer are taken in before the test asks for them, and so many arrive at the server at once. */
const WINDOW_BYTES = 64 * 1024
/** So much of what had come stands in an error. */
const SHOWN_BYTES = 300

export class ClientConnection {
  readonly reader = new AnswerReader()
  readonly #transport = new MemoryTransport()
  readonly #behaviours: readonly Behave[]
  readonly #clock: TestClock | null
  readonly #patienceMs: number
  readonly #queue: (Action | { readonly kind: 'done'; readonly resolve: () => void })[] = []
  #isWorking = false
  /** Ends the waiting for the server to read, or a stall. */
  #onTaken: (() => void) | null = null
  #onStallEnd: (() => void) | null = null
  #isReading = true
  #hasEnded = false
  #hasLeft = false
  /** Why it has left, where that is more than the test's wish. */
  #reason: Error | null = null
  readonly #waiters = new Set<() => void>()

  constructor(host: ConnectionHost, { behaviour = [], clock, patienceMs = DEFAULT_PATIENCE_MS }: ClientOptions) {
    this.#behaviours = [behaviour].flat().map((begin) => begin())
    this.#clock = clock ?? null
    this.#patienceMs = patienceMs
    this.#transport.onOutput = (bytes) => this.#receive(bytes)
    this.#transport.onTaken = () => this.#onTaken?.()
    const timed = clock === undefined ? host : derivedHost(host, { ticker: new Ticker(clock, host.timeouts) })
    this.#transport.start(new Http1Connection(timed, this.#transport))
  }

  /** Whether no answer can come any more: the server has ended its side, or one of both has left. */
  get hasEnded(): boolean {
    return this.#hasEnded || this.#hasLeft
  }

  /** How it ended: in order, with a break by the server, or because the client left. */
  get ending(): Ending {
    return this.#hasLeft ? 'left' : this.#transport.wasReset ? 'reset' : 'end'
  }

  /** Does `action` behind what is still to be done, as the client behaves. What can be done at once has been when this returns. */
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

  /** @returns a promise where the server does not read */
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

  /** Leaves at once: what was still to be done never is. @param reason what is waited for rejects with it */
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

  pause(): void {
    this.#isReading = false
    this.#transport.hold()
  }

  resume(): void {
    this.#isReading = true
    this.makeRoom()
  }

  /** Something of what had come was taken: more may come. */
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

  #look(): void {
    for (const look of [...this.#waiters]) look()
  }

  /**
   * Waits until `condition` holds; it is asked whenever something has happened.
   * @throws WEIR_TEST_WAIT when it does not come in time; WEIR_CLIENT_GONE when it cannot come any more; what `condition` throws
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

  /** Waits for `promise`, with the same patience from the last time that something happened. @throws WEIR_TEST_WAIT */
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
    const came = waiting.length === 0 ? 'nothing had come' : `${waiting.length} bytes had come: ${text}`
    return `${what}${this.hasEnded ? `, but ${ENDINGS[this.ending]}` : ''}; ${came}`
  }
}
