// Answers one request for any carrier. The application opens it, then handles or refuses it; it is answered once, and expires.
//
//   Carrier ──head, bytes, end──▶ RequestCycle ──▶ Application   the handler. The cycle owns the state: see exchange-states.ts
//      ▲──────── pause, resume, cut ───┤
//   ResponseWriter ◀── response-sender.ts ─┘                         the content of the response, whole or in pieces
//
// It always ends in the same order: the handler settles, the response is handed over, the request expires. Nothing of a request is used after that.

import { clientGone, PayloadTooLargeError, WeirError } from '../../base/errors.ts'
import { type BodyEngine, type FieldList, GATHERED, type RequestBody } from '../../http/body/body.ts'
import { bodyFor, bodyLimit, isTooLarge } from '../../http/body/body-mode.ts'
import type { Exchange, ExchangeCarrier } from '../../http/exchange.ts'
import { causeOf, expireRequest, isEndedBy } from '../../http/request/request.ts'
import { fieldsBelow, placeBelow } from '../../http/response/base-path-fields.ts'
import { problemFor } from '../../http/response/error-problem.ts'
import { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { turnOfBody } from '../../http/work-turns.ts'
import type { Head } from '../../wire/head/head.ts'

import type { Recording } from '../observe/recording.ts'
import type { Deadlines } from '../time/deadlines.ts'
import * as phase from '../time/deadlines.ts'
import type { Carrier, RequestConnection } from './carrier.ts'
import * as state from './exchange-states.ts'
import { refusalOf } from './misdirection.ts'
import { mayHaveBody } from './response-head.ts'
import { discardResponse, NOT_WHOLE, StreamedResponse, sendWhole } from './response-sender.ts'

export class RequestCycle implements ExchangeCarrier, BodyEngine, state.ExchangeState {
  readonly #carrier: Carrier
  readonly connection: RequestConnection
  readonly deadlines: Deadlines
  // For carriers to read. The three states change only by exchange-states.ts.
  request: number = state.NONE
  work: number = state.NONE
  response: number = state.NONE
  /** The exchange with the application, until its response has been handed over. */
  exchange: Exchange | null = null
  body: RequestBody | null = null
  /** The most bytes that the body may have; null for no limit. */
  bodyLimit: number | null = null
  /** The response that is being sent piece by piece. */
  streamed: StreamedResponse | null = null
  /** Whether the client is waiting for `100 Continue`, which has not been sent. */
  owesContinue = false
  /** What observers will be told about the exchange; null if there are none, or if they have been told everything. */
  #recording: Recording | null = null

  constructor(carrier: Carrier, connection: RequestConnection, deadlines: Deadlines) {
    this.#carrier = carrier
    this.connection = connection
    this.deadlines = deadlines
  }

  /** For the body, which cannot be read while gates run. */
  get isGating(): boolean {
    return this.work === state.GATES
  }

  // From the head to the handler.

  /** The head is complete. */
  open(head: Head): void {
    const { connection } = this
    const { application, limits, observers } = connection.host
    const refusal = refusalOf(head, connection)
    const match = refusal === null ? application.routes.find(head, connection.peer.endpointName) : application.unmatched
    this.owesContinue = head.expectsContinue
    this.deadlines.startRequest(match.route)
    state.begin(this, this.#carrier.isPulled ? state.HELD : state.COMING)
    if (head.contentLength !== 0) {
      this.bodyLimit = bodyLimit(match, limits)
      this.body = bodyFor(head, match, this.bodyLimit, this)
    }
    const exchange = application.open(head, this.body, connection, match)
    this.exchange = exchange
    exchange.carrier = this
    if (observers.hears('request')) this.#recording = observers.begin(exchange, connection) // before the gates, and like them without access to the body
    if (exchange !== this.exchange) return // cut off by an observer
    if (refusal !== null) {
      state.moveWork(this, state.NONE)
      if (refusal.closes) this.dropRest()
      this.refuse(refusal)
      return
    }
    const held = application.gate(exchange)
    if (exchange !== this.exchange) return // cut off by a gate
    if (held === null) this.#admit(head)
    else this.#hold(exchange, held, head)
  }

  /** The head is not valid, so there is no request that could be handled. */
  refuseHead(error: WeirError, protocol: string | null, isHead: boolean): void {
    const { observers, debug } = this.connection.host
    this.connection.host.report(error, this.connection)
    if (observers.hears('head')) this.#recording = observers.head(error, this.connection, protocol)
    state.begin(this, state.HELD)
    state.moveWork(this, state.SETTLED)
    this.#send(new OutgoingResponse().sendProblem(problemFor(error, debug)), isHead)
  }

  #admit(head: Head): void {
    const { body, bodyLimit } = this
    state.moveWork(this, state.NONE)
    if (body !== null && isTooLarge(head, bodyLimit))
      this.refuse(new PayloadTooLargeError('maxRequestBodySize', bodyLimit, head.contentLength))
    else if (body !== null && body.mode !== GATHERED) this.#handle()
    else if (this.owesContinue) this.#interim(head, 100, null)
  }

  #hold(exchange: Exchange, held: OutgoingResponse | Promise<OutgoingResponse | null>, head: Head): void {
    if (this.body !== null) this.#pause()
    if (held instanceof OutgoingResponse) {
      this.body?.fail(new WeirError('WEIR_BODY_IN_GATE'))
      this.#respond(exchange, held)
    } else this.#later(held, (response) => this.#leaveGates(exchange, response, head))
  }

  #leaveGates(exchange: Exchange, response: OutgoingResponse | null, head: Head): void {
    if (exchange !== this.exchange || !this.isGating) return // too late: another response was sent
    if (response !== null) {
      this.body?.fail(new WeirError('WEIR_BODY_IN_GATE'))
      this.#respond(exchange, response)
    } else if (state.isCut(this)) this.#expire()
    else {
      this.#admit(head)
      if (head.contentLength === 0 || this.request === state.WHOLE) {
        if (this.work === state.NONE) this.#begin()
      } else if (this.exchange !== null && (!this.#carrier.isPulled || this.work === state.NONE)) this.#resume()
    }
    this.#carrier.proceed()
  }

  #handle(): void {
    const exchange = this.exchange!
    const { application } = this.connection.host
    state.moveWork(this, state.HANDLER)
    this.#respond(exchange, exchange.context.runInAsyncScope(application.handle, application, exchange))
  }

  // The body.

  /** Bytes of the body have arrived, and `body` is not null. */
  receive(buffer: Buffer, start: number, end: number, borrowed: boolean): void {
    const { body, bodyLimit } = this
    this.deadlines.countBody(end - start)
    if (bodyLimit !== null && !this.#carrier.countsBody && this.#carrier.receivedBytes > bodyLimit) {
      this.dropRest()
      this.refuse(new PayloadTooLargeError('maxRequestBodySize', bodyLimit))
    } else if (!body!.push(buffer, start, end, borrowed)) this.#pause()
  }

  /** All of the request has arrived. @param trailers the fields that followed its body */
  complete(trailers?: FieldList): void {
    if (this.request === state.WHOLE || this.request === state.LOST) return
    state.moveRequest(this, state.WHOLE)
    if (this.response < state.HANDED_OVER) this.deadlines.enter(phase.NONE)
    if (this.body !== null) this.body.finish(trailers)
    if (this.work === state.NONE && this.body === null) this.#handle()
    else if (this.work === state.NONE) this.#begin()
  }

  /** All of the request has arrived, and nothing works on it. */
  #begin(): void {
    const turn = this.body === null ? null : turnOfBody(this.connection, this.#carrier.receivedBytes)
    if (turn === null) this.#handle()
    else this.#beginLater(turn)
  }

  #beginLater(turn: Promise<void>): void {
    const { exchange } = this
    this.#later(turn, () => {
      if (exchange !== this.exchange || this.work !== state.NONE) return // its client has left
      this.#handle()
      this.#carrier.proceed()
    })
  }

  #pause(): void {
    if (this.request !== state.COMING) return
    state.moveRequest(this, state.HELD)
    this.deadlines.enter(phase.NONE)
    this.#carrier.pause()
  }

  #resume(): void {
    if (this.request === state.HELD) state.moveRequest(this, state.COMING)
    else if (this.#carrier.isPulled) return // the body is being read
    if (!this.owesContinue) this.deadlines.enter(phase.BODY) // a client that was not told to continue is not slow
    this.#carrier.resume()
  }

  /** A reader, or the engine itself, needs more of the body. */
  demand(): void {
    if (this.response >= state.HANDED_OVER || this.request > state.HELD) return
    if (this.owesContinue && this.response === state.DUE) this.#interim(this.exchange!.head, 100, null)
    this.#resume()
  }

  #interim(head: Head, status: number, fields: readonly string[] | null): boolean {
    if (fields === null) this.owesContinue = false // 100 has none
    const isSent = this.#carrier.interim(head, status, fields === null ? null : fieldsBelow(fields, head.basePath))
    if (isSent && this.#recording !== null) this.#recording.interimResponses++
    return isSent
  }

  /** Stops waiting for the rest of the request. */
  dropRest(): void {
    if (this.request === state.COMING || this.request === state.HELD) state.moveRequest(this, state.DROPPED)
    this.deadlines.enter(phase.NONE)
    this.#carrier.refuseRest()
  }

  // To the response.

  /** Responds to a request that cannot continue. A handler that is running still answers it itself, once a read of the body has failed. */
  refuse(error: WeirError): void {
    const { exchange } = this
    if (exchange === null) return
    this.body?.fail(error)
    if (this.work <= state.GATES) this.#refuse(this.#supersede(exchange), error)
    else if (error.fault === 'transport') exchange.abort(error)
  }

  /** Answers in place of a handler whose time is over. @param elapsedMs since the last tick */
  checkRequest(elapsedMs: number): void {
    const { exchange } = this
    if (exchange === null || this.work === state.SETTLED) return
    const error = this.deadlines.checkRequest(elapsedMs, this.body?.isUnread === false)
    if (error === null) return
    this.deadlines.endRequest() // checked only once: the response may take time
    this.dropRest()
    const next = this.#supersede(exchange)
    this.interrupt(error)
    this.#refuse(next, error)
    this.#carrier.proceed()
  }

  /** Gates, a handler or hooks may still run: nothing that they do from now on counts. */
  #supersede(exchange: Exchange): Exchange {
    return this.work === state.NONE ? exchange : (this.exchange = exchange.renew())
  }

  #refuse(exchange: Exchange, error: Error): void {
    state.moveWork(this, state.INSTEAD)
    const { application } = this.connection.host
    this.#respond(exchange, exchange.context.runInAsyncScope(application.refuse, application, exchange, error))
  }

  /** A separate method: V8 makes room for the variables of a closure in every call of the method around it, even if no closure is created. */
  #respondLater(exchange: Exchange, coming: Promise<OutgoingResponse>): void {
    this.#later(coming, (response) => {
      this.#respond(exchange, response)
      this.#carrier.proceed()
    })
  }

  /** Without a `.catch()` after it, which would create another promise for each request. */
  #later<T>(result: Promise<T>, act: (value: T) => void): void {
    const crash = (error: unknown): void => this.crash(error as Error)
    result.then((value) => {
      try {
        act(value)
      } catch (error) {
        crash(error)
      }
    }, crash)
  }

  #respond(exchange: Exchange, response: OutgoingResponse | Promise<OutgoingResponse>): void {
    if (!(response instanceof OutgoingResponse)) {
      this.#respondLater(exchange, response)
      return
    }
    if (exchange !== this.exchange || this.work === state.SETTLED) return // too late: another response was sent
    this.deadlines.endRequest()
    const isAwaited = exchange.settleListeners()
    if (state.isCut(this)) {
      discardResponse(response)
      this.#expire()
      return
    }
    state.moveWork(this, state.SETTLED)
    const { head } = exchange
    const { trailers } = head.basePath === '' ? response : placeBelow(response, head.basePath)
    const isHead = head.method === 'HEAD'
    if (trailers !== null) response.settleTrailers(mayHaveBody(response, isHead) && this.#carrier.takesTrailers(head, trailers.mustBeAsked))
    if (isAwaited && this.#recording === null) this.#recording = this.connection.host.observers.beginUnheard(exchange, this.connection)
    const timing = exchange.timing?.field ?? ''
    if (timing !== '') response.appendHeader('Server-Timing', timing) // an empty field would not be valid
    this.#send(response, isHead)
  }

  #send(made: OutgoingResponse, isHead: boolean): void {
    const carrier = this.#carrier
    try {
      const response = carrier.prepare(made)
      const bodyBytes = sendWhole(carrier.writer, response, isHead, this.connection.host.debug ? this.body : null)
      if (bodyBytes !== NOT_WHOLE && state.isCut(this)) this.#expire()
      else if (bodyBytes !== NOT_WHOLE) {
        if (this.#recording !== null) this.#recording.status = response.statusCode
        carrier.handedOver(this.#finish(bodyBytes), response)
      } else if (response.content.kind === 'upgrade' && carrier.switchOver !== undefined)
        carrier.switchOver(response.content, this.#finish(0))
      else this.#sendStream(response)
    } catch (error) {
      if (made.trailers !== null && this.response === state.DUE) this.#failSending(error as Error)
      else this.crash(error as Error)
    }
  }

  #sendStream(response: OutgoingResponse): void {
    const streamed = new StreamedResponse(this, this.#carrier.writer, response, this.#recording)
    this.streamed = streamed
    const onEnd = (): void => this.#endStream(streamed, response)
    const over = streamed.send().then(onEnd, (error: Error) => this.#failSending(error))
    over.catch((error: Error) => this.crash(error))
  }

  /** All of a streamed response has been handed over, or its client has left. */
  #endStream({ bodyBytes }: StreamedResponse, response: OutgoingResponse): void {
    if (state.isCut(this)) this.#expire()
    else {
      this.#carrier.handedOver(this.#finish(bodyBytes), response)
      this.#carrier.proceed()
    }
  }

  /** Body or trailers cannot be made. Before the first byte, another response is sent; later, the client must see that this one is incomplete. */
  #failSending(error: Error): void {
    const { exchange } = this
    if (!state.isCut(this) && exchange !== null) {
      if (this.response === state.DUE) {
        this.streamed = null
        this.#refuse(this.#supersede(exchange), error)
        this.#carrier.proceed()
        return
      }
      this.crash(error)
    }
    this.#expire()
  }

  /** The response has been handed over, or another protocol takes over. @returns what to tell observers once it has been sent */
  #finish(bodyBytes: number): Recording | null {
    const recording = this.#recording === null ? null : this.#takeRecording(this.#recording, bodyBytes)
    state.moveResponse(this, state.HANDED_OVER)
    this.#expire()
    return recording
  }

  #expire(): void {
    if (this.exchange !== null) expireRequest(this.exchange.request, this.connection.host.debug)
    this.exchange = null
    this.body = null
    this.streamed = null
    if (this.work !== state.EXPIRED) state.moveWork(this, state.EXPIRED)
    if (state.isCut(this)) this.#carrier.closed()
  }

  /** The carrier has nothing left to do for it: the response has been sent. */
  end(): void {
    state.moveResponse(this, state.SENT)
    if (this.work === state.EXPIRED) this.#carrier.closed()
  }

  interim(exchange: Exchange, status: number, fields: readonly string[]): boolean {
    return exchange === this.exchange && !state.isCut(this) && this.#interim(exchange.head, status, fields)
  }

  cut(exchange: Exchange, error: Error): void {
    if (exchange !== this.exchange || state.isCut(this)) return
    this.#loseRecording(error)
    this.#carrier.cut(error)
  }

  /** Tells the code that works on the request that its result is no longer needed. */
  interrupt(error: Error): void {
    this.body?.fail(error)
    this.exchange?.abort(error)
  }

  /** The exchange is cut off. */
  cutOff(error: Error): void {
    state.cutOff(this)
    this.interrupt(error)
    this.#loseRecording(error)
  }

  #takeRecording(recording: Recording, bodyBytes: number): Recording {
    this.#recording = null
    recording.bytesIn = this.#carrier.receivedBytes
    recording.bytesOut = bodyBytes
    const failure = this.exchange?.failure ?? null
    if (failure !== null) recording.answers(failure)
    return recording
  }

  /** The exchange has ended before its response was complete. */
  #loseRecording(error: unknown): void {
    const recording = this.#recording
    if (recording === null) {
      this.exchange?.end()
      return
    }
    recording.abort(error)
    this.#takeRecording(recording, this.streamed?.bodyBytes ?? 0)
    this.connection.host.observers.end(recording)
  }

  /** A bug was found, or a response cannot be completed: the client sees an aborted response, never a wrong one. */
  crash(error: Error): void {
    // A source that stops because its client has left has not failed.
    const { exchange } = this
    if (exchange === null || !isEndedBy(exchange.request, error)) this.connection.host.report(error, this.connection, exchange)
    this.#loseRecording(exchange === null ? error : causeOf(exchange.request, error))
    this.#carrier.cut(error)
  }

  /** Nothing more is received or sent: the connection has closed, or the client has left. Called once. */
  leave(): void {
    // Most clients leave while no request is in progress, or its carrier has cut it off: no error is needed then.
    if (this.exchange !== null && !state.isCut(this)) this.cutOff(clientGone())
    else state.cutOff(this)
    this.streamed?.abandon()
    // A handler or a gate may still be cleaning up after a client that has left.
    if (!state.isAtWork(this)) this.#expire()
  }

  /** As `cutOff` and `leave`, for a carrier that does not wait for the handler. */
  drop(error: Error): void {
    this.cutOff(error)
    this.streamed?.abandon()
    this.#expire()
  }

  /** Ends what has taken too long, for carriers with one exchange. The parameters are those of `checkWrite` and `checkPhase` of `Deadlines`. */
  tick(elapsedMs: number, waits: boolean, progress: number, clientMs: number = elapsedMs): void {
    const late = this.deadlines.checkWrite(elapsedMs, waits, progress)
    const slow = this.deadlines.checkPhase(clientMs)
    if (late !== null) {
      this.connection.host.report(late, this.connection, this.exchange)
      this.#carrier.cut(late)
    } else if (slow !== null) {
      this.dropRest()
      this.refuse(slow)
    } else this.checkRequest(elapsedMs)
  }
}
