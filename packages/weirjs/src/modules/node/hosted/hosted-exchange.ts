// One request of a server of Node, from its head to the last byte of its response.
//
// The socket, the parser and the framing are Node's. What weir decides about a request applies as on its own connections: its head is read
// again by weir's rules, and limits, timeouts, gates and observers hold.

import { Buffer } from 'node:buffer'
import type { ServerResponse } from 'node:http'
import { isInstance, PayloadTooLargeError, WeirError } from '../../../base/errors.ts'
import { OutgoingResponse } from '../../../http/answer/outgoing-response.ts'
import { problemFor } from '../../../http/answer/problem.ts'
import type { FieldList } from '../../../http/body/body.ts'
import type { Connections, OpenConnection } from '../../../net/connections/connections.ts'
import type { NoConnection } from '../../../net/connections/no-connection.ts'
import { RequestCycle } from '../../../net/cycle/request-cycle.ts'
import type { Recording } from '../../../net/observe/recording.ts'
import * as phase from '../../../net/time/deadlines.ts'
import { Deadlines } from '../../../net/time/deadlines.ts'
import type { Timed } from '../../../net/time/ticker.ts'
import { CHUNKED } from '../../../wire/head/framing.ts'
import type { MutableHead } from '../../../wire/head/head.ts'
import { HostedAnswer, type HostedResponse, NOT_WHOLE, sendWholeHosted } from './hosted-answer.ts'
import { type HostedRequest, readHostedHead } from './hosted-head.ts'
import type { Http2ServerResponse } from './node-http2.ts'

export class HostedExchange extends RequestCycle<NoConnection, HostedAnswer> implements Timed, OpenConnection {
  readonly isIdle = false
  readonly isBusy = true
  readonly #in: HostedRequest
  readonly #out: HostedResponse
  /** The exchanges of the server, for which its stop waits. */
  readonly #all: Connections
  readonly #owesContinue: boolean
  #head: MutableHead | null = null
  #isListening = false
  #hasStopped = false
  #hasEnded = false
  #isGone = false
  #isOver = false
  #receivedBytes = 0
  /** What observers are told once the response has been sent. */
  #sending: Recording | null = null

  /** @param owesContinue whether the client waits for `100 Continue`, which Node has not sent */
  constructor(connection: NoConnection, all: Connections, incoming: HostedRequest, outgoing: HostedResponse, owesContinue: boolean) {
    super(connection, new Deadlines(connection.host.timeouts, connection.host.ticker))
    this.#in = incoming
    this.#out = outgoing
    this.#all = all
    this.#owesContinue = owesContinue
    this.deadlines.enter(phase.NONE)
  }

  /** @returns false if no route matches, and nothing has happened: `mayPass` allows that */
  start(mayPass: boolean): boolean {
    const { host } = this
    try {
      this.#head = readHostedHead(this.#in, host.limits)
    } catch (error) {
      if (!isInstance(error, WeirError)) throw error
      this.#open()
      this.#refuseHead(error)
      return true
    }
    this.#head.expectsContinue = this.#owesContinue && this.#head.contentLength !== 0
    if (mayPass && host.application.match(this.#head, this.connection.endpointName).route === null) return false
    this.#open()
    this.open(this.#head)
    if (this.exchange === null || this.isHandling) return true
    if (this.#head.contentLength === 0) this.#complete([])
    else if (!this.isGating) this.demand()
    return true
  }

  #open(): void {
    this.#all.add(this)
    this.host.ticker.add(this)
    this.#out.on('close', () => this.#onClose())
    this.#in.on('error', ignore) // what it means is known from the end of the response
  }

  #refuseHead(error: WeirError): void {
    const { host, connection } = this
    host.report(error, connection)
    if (host.observers.hears('head')) this.recording = host.observers.head(error, connection, null)
    this.send(new OutgoingResponse().sendProblem(problemFor(error, host.debug)).header('Connection', 'close'))
  }

  // The body.

  protected override demand(): void {
    if (this.#hasEnded || this.#isGone || this.#hasStopped) return
    if (this.owesContinue && this.answer?.hasBegun !== true) this.sendContinue()
    this.deadlines.enter(phase.BODY)
    if (this.#isListening) this.#in.resume()
    else this.#listen()
  }

  #listen(): void {
    this.#isListening = true
    const incoming = this.#in
    const { rawBody } = incoming as { readonly rawBody?: unknown }
    if (rawBody instanceof Uint8Array) {
      // Platforms that call a function with `(req, res)` have often read the body already.
      this.#take(Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.length))
      this.#complete([])
      return
    }
    if (incoming.readableDidRead || incoming.readableEnded) {
      this.#fail(new WeirError('WEIR_BODY_ALREADY_READ', 'something before toNodeListener() has read it'))
      return
    }
    incoming.on('data', (piece: Buffer) => {
      if (!this.#take(piece)) this.#pause()
    })
    incoming.on('end', () => this.#complete(pairsOf((incoming as { readonly rawTrailers?: readonly string[] }).rawTrailers ?? [])))
  }

  #pause(): void {
    if (this.#hasEnded) return
    this.deadlines.enter(phase.NONE)
    this.#in.pause()
  }

  /** @returns whether to read more now */
  #take(piece: Buffer): boolean {
    if (this.#isGone || this.#hasStopped) return true // discarded
    this.#receivedBytes += piece.length
    this.deadlines.countBody(piece.length)
    const { body, bodyLimit } = this
    if (body === null) return true
    if (bodyLimit !== null && this.#receivedBytes > bodyLimit) {
      this.stopWaiting()
      this.refuse(new PayloadTooLargeError('maxRequestBodySize', bodyLimit))
      return true
    }
    return body.push(piece, 0, piece.length, false)
  }

  #complete(trailers: FieldList): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.deadlines.enter(phase.NONE)
    if (this.#isGone || this.exchange === null) return
    const expected = this.#head!.contentLength
    if (expected !== CHUNKED && expected !== this.#receivedBytes) this.body?.fail(new WeirError('WEIR_BODY_TRUNCATED'))
    this.body?.finish(trailers)
    if (!this.isHandling && !this.isGating) this.handle()
  }

  /** The program has made a mistake. */
  #fail(error: WeirError): void {
    if (this.isHandling) this.body?.fail(error)
    else this.refuse(error)
  }

  protected override holdBody(): void {}

  protected override releaseBody(isWanted: boolean): void {
    if (isWanted && this.exchange !== null && !this.isHandling) this.demand()
  }

  protected override stopWaiting(): void {
    this.#hasStopped = true
    this.deadlines.enter(phase.NONE)
  }

  protected override sendContinue(): void {
    this.owesContinue = false
    this.#out.writeContinue()
  }

  protected override takesTrailers(head: MutableHead, mustBeAsked: boolean): boolean {
    if (head.isHttp2) return true
    return head.minorVersion === 1 && (!mustBeAsked || /(?:^|,)[ \t]*trailers[ \t]*(?:,|$)/i.test(head.get('te') ?? ''))
  }

  protected override sendInterim(head: MutableHead, status: number, fields: readonly string[]): boolean {
    if (head.minorVersion === 0 && !head.isHttp2) return false
    const hints: Record<string, string[]> = {}
    for (let i = 0; i < fields.length; i += 2) (hints[fields[i]!.toLowerCase()] ??= []).push(fields[i + 1]!)
    if (status !== 103 || !('link' in hints))
      return false // Node sends no others
    ;(this.#out as ServerResponse).writeEarlyHints(hints as { link: string[] })
    return true
  }

  // The response.

  protected override send(response: OutgoingResponse): void {
    try {
      const closes = this.#endsConnection(response)
      const isHead = this.#in.method === 'HEAD'
      const bodyBytes = sendWholeHosted(this.#out, response, isHead, closes)
      if (bodyBytes === NOT_WHOLE) this.sendStream(new HostedAnswer(this.#out, response, closes, this.recording))
      else {
        this.recording?.markFirstByte(response.statusCode)
        this.#end(bodyBytes)
      }
    } catch (error) {
      this.crash(error as Error)
    }
  }

  /** Whether the connection is not used again: Node would read any rest of a body, however long. */
  #endsConnection(response: OutgoingResponse): boolean {
    const { limits, isStopping } = this.host
    if (response.closes || isStopping || this.#head === null) return true
    if (this.#hasEnded || this.body?.isUnread === false) return false
    const { contentLength } = this.#head
    return contentLength === CHUNKED ? this.#hasStopped : contentLength - this.#receivedBytes > limits.maxDrainSize
  }

  protected override endAnswer(answer: HostedAnswer): void {
    if (this.#isGone) this.expire()
    else this.#end(answer.bodyBytes)
  }

  /** The response has been handed over. @param bodyBytes of it */
  #end(bodyBytes: number): void {
    this.#sending = this.takeRecording(bodyBytes)
    this.expire()
    this.#hasStopped = true
    if (!this.#hasEnded) this.#in.resume() // Node reads the next request after the rest of this one
    if (this.#out.writableFinished) this.#conclude()
    else this.#out.on('finish', () => this.#conclude())
  }

  /** It is over: the response has been sent, or will not be. */
  #conclude(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.host.ticker.delete(this)
    this.#all.forget(this)
    const recording = this.#sending
    this.#sending = null
    if (recording === null) return
    recording.markEnd()
    this.host.observers.end(recording)
  }

  protected override get receivedBytes(): number {
    return this.#receivedBytes
  }

  protected override proceed(): void {}

  protected override breakOff(error: Error): void {
    this.cutOff(error)
    this.#isGone = true
    this.answer?.abandon()
    this.expire()
    const out = this.#out as Http2ServerResponse | ServerResponse
    if ('stream' in out) out.stream.close(INTERNAL_ERROR)
    else out.destroy()
    this.#conclude()
  }

  protected override forget(): void {
    this.#conclude()
  }

  // The early end.

  override get isGone(): boolean {
    return this.#isGone
  }

  /** The response has been sent, or its client has left. */
  #onClose(): void {
    if (this.#isGone || this.#isOver) return
    if (this.exchange === null) {
      if (this.#out.writableFinished) this.#conclude()
      else this.#loseSending()
      return
    }
    this.#isGone = true
    super.leave()
  }

  /** The client has left while the last bytes were being sent. */
  #loseSending(): void {
    this.#sending?.breakOff(new WeirError('WEIR_CLIENT_GONE'))
    this.#conclude()
  }

  // As one of those for which a stop waits.

  drain(): void {}

  abort(error: Error): void {
    if (!this.#isOver) this.breakOff(error)
  }

  // Time.

  tick(elapsedMs: number): void {
    const { deadlines, answer } = this
    const unsent = unsentBytes(this.#out)
    const late = deadlines.checkWrite(elapsedMs, unsent > 0, (answer?.bodyBytes ?? 0) - unsent)
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

/** HTTP/2's INTERNAL_ERROR. */
const INTERNAL_ERROR = 2

function unsentBytes(out: HostedResponse): number {
  return 'stream' in out ? out.stream.writableLength : out.writableLength
}

function pairsOf(raw: readonly string[]): FieldList {
  const pairs: [string, string][] = []
  for (let i = 0; i < raw.length; i += 2) pairs.push([raw[i]!, raw[i + 1]!])
  return pairs
}

function ignore(): void {}
