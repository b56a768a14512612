// One call, with everything that its handler may know and set.

import type { DescMethod } from '@bufbuild/protobuf'
import type { HttpSession } from 'weirjs'
import { exchange, FairQueue, networkOf } from 'weirjs/kit'

import { codeOf, codeOfStatus, type RpcCode } from './codes.ts'
import { checkLeftOver, countLeftOver } from './left-over.ts'
import { RpcError } from './rpc-error.ts'
import type { RpcProtocol, Wire } from './wire.ts'

const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 }

/** The longest time of a timer, 24 days. A longer deadline counts as none. */
const LONGEST_TIMER = 2 ** 31 - 1

/** Calls that end at their deadlines in one turn of the event loop. Each takes about 70 µs, and clients can choose one moment for thousands. */
const ENDED_PER_TURN = 128
const turns = FairQueue.turns(ENDED_PER_TURN)

/** The second argument of a handler. Valid until its call has ended. */
export interface RpcCall {
  /** The HTTP request: principal, client address, `bag` and everything else that policies have found out. */
  readonly session: HttpSession
  /** Aborts when the client has left or cancelled, when the deadline has passed, and when the grace of `stop` is over. */
  readonly signal: AbortSignal
  /** The time until which the client waits. After it, the call fails with `deadline_exceeded`, whatever its handler does. Null: no limit. */
  readonly deadline: Date | null
  readonly method: DescMethod
  readonly protocol: RpcProtocol
  /** Metadata of the client, with all fields of the request. */
  readonly requestHeaders: Headers
  /** Metadata that is sent with the first message. Later changes have no effect. */
  readonly responseHeaders: Headers
  /** Metadata that is sent after the last message, or with the error. */
  readonly responseTrailers: Headers
}

/** What observers know about a call, with the names of OpenTelemetry. A request keeps its record, whatever responds to it. */
class CallRecord {
  readonly call: Call
  readonly method: string
  status: string | null = null

  constructor(call: Call, method: string) {
    this.call = call
    this.method = method
  }

  get system(): 'grpc' | 'connectrpc' {
    return this.call.protocol === 'connect' ? 'connectrpc' : 'grpc'
  }

  /** Notes the status that the client receives. @param code null: the call has succeeded */
  tell(code: RpcCode | null): void {
    this.status = this.#shown(code ?? 'ok')
  }

  #shown(name: string): string {
    return this.system === 'grpc' ? name.toUpperCase() : name
  }

  statusOf(status: number, code: string | null): string {
    return this.#shown(codeOf(code) ?? codeOfStatus(status))
  }
}

export class Call implements RpcCall {
  readonly session: HttpSession
  readonly wire: Wire
  readonly method: DescMethod
  /** For observers. */
  readonly record: CallRecord
  deadline: Date | null = null
  #timer: NodeJS.Timeout | null = null
  #controller: AbortController | null = null
  #requestHeaders: Headers | null = null
  #responseHeaders: Headers | null = null
  #responseTrailers: Headers | null = null
  /** Why it has ended before its handler did. */
  ended: RpcError | null = null
  /** Fails the work that is being waited for. */
  #interrupt: ((error: RpcError) => void) | null = null
  #isWatching = false

  /** @param name of the method, for observers */
  constructor(session: HttpSession, wire: Wire, method: DescMethod, name: string) {
    this.session = session
    this.wire = wire
    this.method = method
    this.record = new CallRecord(this, name)
    exchange(session).rpc = this.record
  }

  /** The call that a request makes; null before it is known. */
  static of(session: HttpSession): Call | null {
    const { rpc } = exchange(session)
    return rpc instanceof CallRecord ? rpc.call : null
  }

  /** A handler is about to be called. @throws RpcError for a deadline that is not a time, and for too many handlers */
  begin(): void {
    const { session, wire } = this
    checkLeftOver(session)
    exchange(session).onGraceOver(() => this.#end(new RpcError('unavailable', 'the server stops')))
    const timeout = timeoutOf(session.request.header(wire.timeoutField), wire)
    this.deadline = timeout === null ? null : new Date(Date.now() + timeout)
    if (timeout !== null) this.#timer = setTimeout(() => turns.run(networkOf(session.clientAddress), () => this.#pass()), timeout).unref()
  }

  /** The deadline has passed. */
  #pass(): void {
    if (this.#timer === null) return // finished before its turn came
    turns.spend(1)
    this.#end(new RpcError('deadline_exceeded', 'the deadline has passed'))
  }

  get protocol(): RpcProtocol {
    return this.wire.protocol
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      this.watch()
      if (this.ended !== null) this.#controller.abort(this.ended)
    }
    return this.#controller.signal
  }

  get requestHeaders(): Headers {
    this.#requestHeaders ??= new Headers([...this.session.request.headers])
    return this.#requestHeaders
  }

  get responseHeaders(): Headers {
    this.#responseHeaders ??= new Headers()
    return this.#responseHeaders
  }

  get responseTrailers(): Headers {
    this.#responseTrailers ??= new Headers()
    return this.#responseTrailers
  }

  /** Null: nothing was set. */
  get sentHeaders(): Headers | null {
    return this.#responseHeaders
  }

  /** Null: nothing was set. */
  get sentTrailers(): Headers | null {
    return this.#responseTrailers
  }

  /** Waits for `work`, but no longer than the client and `stop` do. One at a time. */
  race<T>(work: T | PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.onEnd((error) => {
        countLeftOver(this.session, work)
        reject(error)
      })
      Promise.resolve(work).then(resolve, reject)
    })
  }

  /** Calls `interrupt` when the call ends before its handler does, in place of what was set before; at once if it has. */
  onEnd(interrupt: (error: RpcError) => void): void {
    this.#interrupt = interrupt
    if (this.ended !== null) interrupt(this.ended)
  }

  /** Stops work for a call that has ended. @throws the reason why it has ended */
  check(): void {
    if (this.ended !== null) throw this.ended
  }

  /** A stream ends when its client leaves, even if its handler waits for something else. */
  watch(): void {
    if (this.#isWatching) return
    this.#isWatching = true
    const { session } = this
    exchange(session).onAbort(() => this.#end(new RpcError('canceled', 'the client has left', [], { cause: session.signal.reason })))
  }

  #end(error: RpcError): void {
    if (this.ended !== null) return
    this.ended = error
    this.#interrupt?.(error)
    this.#controller?.abort(error)
  }

  /** Notes the outcome that the client receives; null for success. A client that has left receives none. */
  tell(failure: RpcError | null): void {
    if (failure === null || this.ended?.code !== 'canceled') this.record.tell(failure?.code ?? null)
  }

  /** The call has ended: nothing waits for it any more. */
  finish(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#interrupt = null
  }
}

/** How long the client waits for the call. @returns milliseconds; null for no limit. @throws RpcError if the value is not a time */
function timeoutOf(value: string | null, { timeoutField }: Wire): number | null {
  if (value === null) return null
  const ms = timeoutField === 'grpc-timeout' ? grpcTimeout(value) : /^\d{1,10}$/.test(value) ? Number(value) : null
  if (ms === null) throw new RpcError('invalid_argument', `the field ${timeoutField} is not a time`)
  return ms > LONGEST_TIMER ? null : ms
}

function grpcTimeout(value: string): number | null {
  const match = /^(\d{1,8})([HMSmun])$/.exec(value)
  return match === null ? null : Number(match[1]) * UNITS[match[2]!]!
}
