// One Web Request, from its head to the last byte of its Response, without a connection.

import { Buffer } from 'node:buffer'
import { isInstance, WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { func } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { CHUNKED } from '../../wire/head/framing.ts'
import type { Head } from '../../wire/head/head.ts'

import { ARRIVAL_RULES, type Arrival, type ArrivalOptions, arrivalOf } from '../connections/arrival.ts'
import type { ConnectionHost } from '../connections/connection-host.ts'
import { derivedHost } from '../connections/derived-host.ts'
import { NoConnection } from '../connections/no-connection.ts'
import { STRANGER } from '../connections/peer.ts'
import { PIECES_IN_A_ROW } from '../connections/request-source.ts'
import type { Carrier } from '../cycle/carrier.ts'
import * as state from '../cycle/exchange-states.ts'
import { isCut } from '../cycle/exchange-states.ts'
import { RequestCycle } from '../cycle/request-cycle.ts'
import type { Recording } from '../observe/recording.ts'
import * as phase from '../time/deadlines.ts'
import { Deadlines } from '../time/deadlines.ts'
import type { Timed } from '../time/ticker.ts'
import { readFetchHead } from './fetch-head.ts'
import { FetchWriter, type ResponseOwner } from './fetch-writer.ts'

/** Options of a caller of `fetch`. */
interface FetchOptions extends ArrivalOptions {
  /**
   * The platform's `waitUntil`. It receives what is passed to `session.waitUntil`, so that the platform lets the work continue after the response.
   * Default: only a stop of the server waits for the work. A platform's context object that has this function can be passed as it is.
   */
  readonly waitUntil?: (work: Promise<unknown>) => void
}

/** `fetch` of a server. */
export interface FetchFunction {
  (request: Request, options?: FetchOptions): Promise<Response>
  /** @param options of the runtime that calls it: ignored, unless they have `peer`, `endpoint` or `waitUntil` */
  (request: Request, ...options: readonly unknown[]): Promise<Response>
}

/** @internal */
export const FETCH_RULES = rules<FetchOptions>('fetch()')({ ...ARRIVAL_RULES.table, waitUntil: func().optional() })

const OVER_TLS: Arrival = Object.freeze({ address: '', port: 0, isSecure: true, peer: STRANGER })
const IN_CLEAR: Arrival = Object.freeze({ ...OVER_TLS, isSecure: false })

/**
 * Runs `request` through the application.
 * @param options as `ArrivalOptions`; anything else that a runtime may pass is ignored
 * @throws (rejects) the reason of `request.signal`; the error of a `request.body` that fails; WEIR_BODY_ALREADY_READ; WEIR_OPTION_INVALID
 */
export function fetch(host: ConnectionHost, request: Request, options?: unknown): Promise<Response> {
  try {
    checkRequest('fetch()', request)
    const arrival = fetchArrival('fetch()', host, request, options)
    return fetchOn(new NoConnection(hostAt(host, options), arrival), request)
  } catch (error) {
    return Promise.reject(error)
  }
}

/** The host for a platform that has its own `waitUntil`. */
function hostAt(host: ConnectionHost, options: unknown): ConnectionHost {
  const { waitUntil } = Object(options) as FetchOptions
  if (typeof waitUntil !== 'function') return host
  return derivedHost(host, {
    waitUntil: (exchange, work) => {
      host.waitUntil(exchange, work)
      waitUntil.call(options, work)
    },
  })
}

/** The same for a request with its own `connection`. */
export function fetchOn(connection: NoConnection, request: Request): Promise<Response> {
  return new Promise((resolve, reject) => new FetchExchange(connection, request, resolve, reject).start())
}

/** The Request of another implementation is not an instance of the global class. @throws WEIR_OPTION_INVALID */
export function checkRequest(owner: string, request: Partial<Request> | null | undefined): void {
  if (typeof request?.url === 'string' && typeof request.method === 'string' && typeof request.headers === 'object') return
  throw invalid(owner, `the request is ${kindOf(request)}, not a Request`)
}

/** Runtimes call a fetch function with arguments of their own after the request. @throws WEIR_OPTION_INVALID */
export function fetchArrival(owner: string, host: ConnectionHost, { url }: Request, options: unknown): Arrival {
  const isSecure = !/^(?:http|ws):/i.test(url)
  if (!isArrivalOptions(options)) return isSecure ? OVER_TLS : IN_CLEAR
  FETCH_RULES.read(options, owner)
  return arrivalOf(owner, host, options, isSecure)
}

function isArrivalOptions(options: unknown): options is ArrivalOptions {
  return typeof options === 'object' && options !== null && ARRIVAL_RULES.names.some((name) => Object.hasOwn(options, name))
}

class FetchExchange implements Carrier, ResponseOwner, Timed {
  readonly isIdle = false
  readonly isPulled = true
  readonly countsBody = false
  readonly cycle: RequestCycle
  readonly writer = new FetchWriter(this)
  readonly #connection: NoConnection
  readonly #request: Request
  readonly #resolve: (response: Response) => void
  readonly #reject: (reason: unknown) => void
  readonly #onAbort = (): void => this.#abort(this.#request.signal.reason)
  #head: Head | null = null
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null
  receivedBytes = 0
  /** How many have been read. */
  #pieces = 0

  constructor(connection: NoConnection, request: Request, resolve: (response: Response) => void, reject: (reason: unknown) => void) {
    const { timeouts, ticker } = connection.host
    this.#connection = connection
    this.cycle = new RequestCycle(this, connection, new Deadlines(timeouts, ticker, phase.NONE))
    this.#request = request
    this.#resolve = resolve
    this.#reject = reject
  }

  start(): void {
    const { cycle } = this
    const { signal, body } = this.#request
    if (signal?.aborted === true) {
      this.#reject(signal.reason)
      return
    }
    if (this.#request.bodyUsed || body?.locked === true)
      throw new WeirError('WEIR_BODY_ALREADY_READ', 'server.fetch(): pass a Request that nothing has read, such as request.clone()')
    try {
      this.#head = readFetchHead(this.#request, this.#connection.host.limits)
    } catch (error) {
      if (!isInstance(error, WeirError)) throw error
      cycle.refuseHead(error, null, this.#request.method === 'HEAD')
      return
    }
    cycle.open(this.#head)
    if (this.#head.contentLength === 0) cycle.complete()
    else if (cycle.work === state.NONE) cycle.demand()
    if (cycle.exchange !== null) this.#await()
  }

  /** Prepares for a request that is not answered immediately, unlike most. */
  #await(): void {
    this.#connection.host.ticker.add(this)
    const { signal } = this.#request
    if (signal?.aborted === true)
      this.#abort(signal.reason) // settled by code that has run in the meantime
    else signal?.addEventListener('abort', this.#onAbort)
  }

  // The body.

  resume(): void {
    void this.#read()
  }

  async #read(): Promise<void> {
    const { cycle } = this
    try {
      this.#reader ??= this.#request.body!.getReader()
      while (cycle.request === state.COMING) {
        cycle.deadlines.enter(phase.BODY)
        // A stream whose pieces are all there resolves each read at once.
        if (++this.#pieces % PIECES_IN_A_ROW === 0) await new Promise((resolve) => setImmediate(resolve))
        const { done, value } = await this.#reader.read()
        if (cycle.request !== state.COMING) return
        cycle.deadlines.enter(phase.NONE)
        if (done) this.#complete()
        else this.#take(value)
      }
    } catch (error) {
      if (cycle.request !== state.DROPPED && !this.isGone) this.#abort(error)
    }
  }

  #take(chunk: Uint8Array): void {
    if (!(chunk instanceof Uint8Array))
      throw new TypeError('a piece of the body of a Request is not a Uint8Array: encode it with TextEncoder')
    this.receivedBytes += chunk.length
    // The code that made the chunk may reuse its memory: what is neither read immediately nor kept without a copy will be copied.
    const { body } = this.cycle
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    if (body !== null) this.cycle.receive(piece, 0, chunk.length, !body.keepsBytes)
  }

  #complete(): void {
    const expected = this.#head!.contentLength
    if (expected !== CHUNKED && expected !== this.receivedBytes) this.cycle.body?.fail(new WeirError('WEIR_BODY_TRUNCATED'))
    this.cycle.complete()
  }

  /** The next piece is not read before it is demanded. */
  pause(): void {}

  refuseRest(): void {}

  // The response.

  /** A caller of `fetch` cannot receive an interim response. */
  interim(): boolean {
    return false
  }

  /** A Response has no trailers. */
  takesTrailers(): boolean {
    return false
  }

  prepare(response: OutgoingResponse): OutgoingResponse {
    return response
  }

  get isGone(): boolean {
    return isCut(this.cycle)
  }

  give(response: Response): void {
    this.#resolve(response)
  }

  goOn(): void {
    this.cycle.streamed?.goOn()
  }

  handedOver(recording: Recording | null): void {
    if (recording !== null) {
      if (recording.firstByteMs === null) recording.markFirstByte(recording.status)
      else recording.markEnd()
      this.#connection.host.observers.end(recording)
    }
    const { cycle } = this
    const isWhole = cycle.request === state.WHOLE
    this.#settle()
    // Not cancelled: some bodies come from a connection, which would close before the response is sent.
    if (!isWhole) this.#reader?.releaseLock()
  }

  proceed(): void {}

  cut(error: Error): void {
    this.#reject(error)
    this.writer.fail(error)
    this.cycle.drop(error)
    this.#settle()
    this.#cancelBody(error)
  }

  closed(): void {}

  /** Stops waiting for the request, and counting its time. */
  #settle(): void {
    if (this.cycle.request === state.COMING || this.cycle.request === state.HELD) this.cycle.dropRest()
    this.#connection.host.ticker.delete(this)
    this.#request.signal?.removeEventListener('abort', this.#onAbort)
  }

  // The early end.

  /** The request was aborted, or its body failed. */
  #abort(reason: unknown): void {
    this.#reject(reason)
    this.writer.fail(reason)
    this.cycle.interrupt(new WeirError('WEIR_CLIENT_GONE', undefined, { cause: reason }))
    this.leave(reason)
  }

  /** The response is no longer needed. */
  leave(reason: unknown): void {
    if (this.isGone) return
    this.cycle.leave()
    this.#settle()
    this.#cancelBody(reason)
  }

  /** The response is incomplete, so its rest is not read. */
  #cancelBody(reason: unknown): void {
    const { body } = this.#request
    if (this.#reader !== null) this.#reader.cancel(reason).catch(ignore)
    else if (body?.locked === false) body.cancel(reason).catch(ignore)
  }

  // Time.

  tick(elapsedMs: number): void {
    this.cycle.tick(elapsedMs, this.writer.isWaiting, this.writer.progress)
  }
}

function ignore(): void {}
