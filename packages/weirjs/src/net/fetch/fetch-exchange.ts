// One Web Request, from its head to the last byte of its Response, without a connection.

import { Buffer } from 'node:buffer'
import { isInstance, PayloadTooLargeError, WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import { problemFor } from '../../http/answer/problem.ts'
import { CHUNKED } from '../../wire/head/framing.ts'
import type { Head } from '../../wire/head/head.ts'

import { ARRIVAL_RULES, type Arrival, type ArrivalOptions, arrivalOf } from '../connections/arrival.ts'
import type { ConnectionHost } from '../connections/connection-host.ts'
import { NoConnection } from '../connections/no-connection.ts'
import { STRANGER } from '../connections/peer.ts'
import { RequestCycle } from '../cycle/request-cycle.ts'
import * as phase from '../time/deadlines.ts'
import { Deadlines } from '../time/deadlines.ts'
import type { Timed } from '../time/ticker.ts'
import { FetchAnswer, wholeResponse } from './fetch-answer.ts'
import { readFetchHead } from './fetch-head.ts'

const OVER_TLS: Arrival = Object.freeze({ address: '', port: 0, isSecure: true, peer: STRANGER })
const IN_CLEAR: Arrival = Object.freeze({ ...OVER_TLS, isSecure: false })

/**
 * Runs `request` through the application.
 * @param options as `ArrivalOptions`; anything else that a runtime may pass is ignored
 * @throws (rejects) the reason of `request.signal`; the error of a `request.body` that fails; WEIR_BODY_ALREADY_READ; WEIR_OPTION_INVALID
 */
export function fetch(host: ConnectionHost, request: Request, options?: unknown): Promise<Response> {
  return new Promise((resolve, reject) => {
    checkRequest('fetch()', request)
    new FetchExchange(new NoConnection(host, fetchArrival('fetch()', host, request, options)), request, resolve, reject).start()
  })
}

/** The Request of another implementation is not an instance of the global class. @throws WEIR_OPTION_INVALID */
export function checkRequest(owner: string, request: Partial<Request> | null | undefined): void {
  if (typeof request?.url === 'string' && typeof request.method === 'string' && typeof request.headers === 'object') return
  throw invalid(owner, `the request is ${kindOf(request)}, not a Request`)
}

/** Runtimes call a fetch function with arguments of their own after the request. @throws WEIR_OPTION_INVALID */
export function fetchArrival(owner: string, host: ConnectionHost, { url }: Request, options: unknown): Arrival {
  const isSecure = url.startsWith('https:')
  if (!isArrivalOptions(options)) return isSecure ? OVER_TLS : IN_CLEAR
  ARRIVAL_RULES.read(options, owner)
  return arrivalOf(owner, host, options, isSecure)
}

function isArrivalOptions(options: unknown): options is ArrivalOptions {
  return typeof options === 'object' && options !== null && ARRIVAL_RULES.names.some((name) => Object.hasOwn(options, name))
}

class FetchExchange extends RequestCycle<NoConnection, FetchAnswer> implements Timed {
  readonly isIdle = false
  readonly #request: Request
  readonly #resolve: (response: Response) => void
  readonly #reject: (reason: unknown) => void
  readonly #onAbort = (): void => this.#abort(this.#request.signal.reason)
  #head: Head | null = null
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null
  #isReading = false
  /** Whether the rest of the body is no longer needed. */
  #hasStopped = false
  #receivedBytes = 0
  /** Whether all of the request has been received. */
  #hasEnded = false
  #isGone = false
  /** Whether it may be aborted, and its time is counted. */
  #isPending = false

  constructor(connection: NoConnection, request: Request, resolve: (response: Response) => void, reject: (reason: unknown) => void) {
    super(connection, new Deadlines(connection.host.timeouts, connection.host.ticker))
    this.#request = request
    this.#resolve = resolve
    this.#reject = reject
    this.deadlines.enter(phase.NONE)
  }

  start(): void {
    const { signal, body } = this.#request
    if (signal?.aborted === true) {
      this.#reject(signal.reason)
      return
    }
    if (this.#request.bodyUsed || body?.locked === true) throw new WeirError('WEIR_BODY_ALREADY_READ', 'server.fetch()')
    try {
      this.#head = readFetchHead(this.#request, this.host.limits)
    } catch (error) {
      if (!isInstance(error, WeirError)) throw error
      this.#refuseHead(error)
      return
    }
    this.open(this.#head)
    if (this.exchange !== null && !this.isHandling) {
      if (this.#head.contentLength === 0) this.#complete()
      else if (!this.isGating) this.demand()
    }
    if (this.exchange !== null) this.#await()
  }

  /** The head is not valid, so there is no request that could be handled. */
  #refuseHead(error: WeirError): void {
    const { host, connection } = this
    host.report(error, connection)
    if (host.observers.hears('head')) this.recording = host.observers.head(error, connection, null)
    this.send(new OutgoingResponse().sendProblem(problemFor(error, this.host.debug)))
  }

  /** Unlike most requests, it is not answered immediately. */
  #await(): void {
    this.#isPending = true
    this.host.ticker.add(this)
    const { signal } = this.#request
    if (signal?.aborted === true)
      this.#abort(signal.reason) // by code that has run since
    else signal?.addEventListener('abort', this.#onAbort)
  }

  // The body.

  protected override demand(): void {
    if (!this.#isReading && !this.#hasEnded && !this.#isGone) void this.#read()
  }

  async #read(): Promise<void> {
    this.#isReading = true
    try {
      this.#reader ??= this.#request.body!.getReader()
      for (let wantsMore = true; wantsMore; ) {
        this.deadlines.enter(phase.BODY)
        const { done, value } = await this.#reader.read()
        if (this.#isGone || this.#hasStopped) return
        this.deadlines.enter(phase.NONE)
        wantsMore = !done && this.#take(value)
        if (done) this.#complete()
      }
    } catch (error) {
      if (!this.#hasStopped) this.#abort(error)
    } finally {
      this.#isReading = false
    }
  }

  /** @returns whether to read more now */
  #take(chunk: Uint8Array): boolean {
    if (!(chunk instanceof Uint8Array)) throw new TypeError('a piece of the body of a Request is not a Uint8Array')
    this.#receivedBytes += chunk.length
    this.deadlines.countBody(chunk.length)
    const { body, bodyLimit } = this
    if (body === null) return false
    if (bodyLimit !== null && this.#receivedBytes > bodyLimit) {
      this.refuse(new PayloadTooLargeError('maxRequestBodySize', bodyLimit))
      return false
    }
    // The code that made the chunk may reuse its memory: what is neither read immediately nor kept without a copy will be copied.
    return body.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length), 0, chunk.length, !body.keepsBytes)
  }

  #complete(): void {
    this.#hasEnded = true
    this.deadlines.enter(phase.NONE)
    const expected = this.#head!.contentLength
    if (expected !== CHUNKED && expected !== this.#receivedBytes) this.body?.fail(new WeirError('WEIR_BODY_TRUNCATED'))
    this.body?.finish()
    if (!this.isHandling && !this.isGating) this.handle()
  }

  /** The body is not read until it is demanded. */
  protected override holdBody(): void {}

  protected override releaseBody(isWanted: boolean): void {
    if (isWanted && this.exchange !== null && !this.isHandling) this.demand()
  }

  protected override stopWaiting(): void {
    this.#hasStopped = true
    this.deadlines.enter(phase.NONE)
  }

  protected override sendContinue(): void {}

  /** A Response has no trailers. */
  protected override takesTrailers(): boolean {
    return false
  }

  /** Nobody can receive an interim response. */
  protected override sendInterim(): boolean {
    return false
  }

  // The response.

  protected override send(response: OutgoingResponse): void {
    try {
      const whole = wholeResponse(response, this.#request.method === 'HEAD')
      if (whole === null) this.sendStream(new FetchAnswer(response, this.#resolve, (reason) => this.leave(reason), this.recording))
      else {
        this.recording?.markFirstByte(whole.status)
        this.#resolve(whole)
        this.#end(whole.body === null ? 0 : Number(whole.headers.get('content-length')))
      }
    } catch (error) {
      this.crash(error as Error)
    }
  }

  protected override endAnswer(answer: FetchAnswer): void {
    this.recording?.markEnd()
    this.#end(answer.bodyBytes)
  }

  /** The response has been handed over. @param bodyBytes of it */
  #end(bodyBytes: number): void {
    const recording = this.takeRecording(bodyBytes)
    if (recording !== null) this.host.observers.end(recording)
    this.expire()
  }

  protected override get receivedBytes(): number {
    return this.#receivedBytes
  }

  protected override proceed(): void {}

  protected override breakOff(error: Error): void {
    this.cutOff(error)
    this.#reject(error)
    this.answer?.fail(error)
    this.#isGone = true
    this.expire()
    this.#cancelBody(error)
  }

  protected override expire(): void {
    super.expire()
    this.#settle()
    // Not cancelled: some bodies come from a connection, which would close before the response is sent.
    if (!this.#hasEnded && !this.#isGone) this.#reader?.releaseLock()
  }

  /** Stops waiting for the request, and counting its time. */
  #settle(): void {
    this.#hasStopped = true
    if (!this.#isPending) return
    this.#isPending = false
    this.host.ticker.delete(this)
    this.#request.signal?.removeEventListener('abort', this.#onAbort)
  }

  // The early end.

  override get isGone(): boolean {
    return this.#isGone
  }

  /** The request was aborted, or its body failed. */
  #abort(reason: unknown): void {
    this.#reject(reason)
    this.answer?.fail(reason)
    this.interrupt(new WeirError('WEIR_CLIENT_GONE', undefined, { cause: reason }))
    this.leave(reason)
  }

  /** The response is no longer needed. */
  override leave(reason?: unknown): void {
    if (this.#isGone) return
    this.#isGone = true
    super.leave()
    this.#settle()
    this.#cancelBody(reason)
  }

  /** The response is incomplete, so its rest is not read. */
  #cancelBody(reason: unknown): void {
    const { body } = this.#request
    if (this.#reader !== null) this.#reader.cancel(reason).catch(ignore)
    else if (body?.locked === false) body.cancel(reason).catch(ignore)
  }

  protected override forget(): void {}

  // Time.

  tick(elapsedMs: number): void {
    const { deadlines, answer } = this
    const late = deadlines.checkWrite(elapsedMs, answer?.isWaiting === true, answer?.progress ?? 0)
    const slow = deadlines.checkPhase(elapsedMs)
    if (late !== null) {
      this.host.report(late, this.connection, this.exchange)
      this.breakOff(late)
    } else if (slow !== null) {
      this.stopWaiting()
      this.refuse(slow)
    } else if (answer === null) this.checkRequest(elapsedMs)
  }
}

function ignore(): void {}
