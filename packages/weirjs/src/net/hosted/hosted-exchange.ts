// One request of a server of Node, from its head to the last byte of its response.
//
// The socket, the parser and the framing are Node's. Everything that weir decides applies as on its own connections: the head is read again by
// weir's rules, and limits, timeouts, gates and observers apply.

import { Buffer } from 'node:buffer'
import type { ServerResponse } from 'node:http'
import { isInstance, WeirError } from '../../base/errors.ts'
import type { FieldList } from '../../http/body/body.ts'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { CHUNKED } from '../../wire/head/framing.ts'
import type { Head, MutableHead } from '../../wire/head/head.ts'

import type { Connections, OpenConnection } from '../connections/connections.ts'
import type { NoConnection } from '../connections/no-connection.ts'
import type { Carrier } from '../cycle/carrier.ts'
import * as state from '../cycle/exchange-states.ts'
import { isCut } from '../cycle/exchange-states.ts'
import { RequestCycle } from '../cycle/request-cycle.ts'
import type { Recording } from '../observe/recording.ts'
import * as phase from '../time/deadlines.ts'
import { Deadlines } from '../time/deadlines.ts'
import type { Timed } from '../time/ticker.ts'
import { type HostedRequest, readHostedHead } from './hosted-head.ts'
import { type HostedOwner, type HostedResponse, HostedWriter } from './hosted-writer.ts'
import type { Http2ServerResponse } from './node-http2.ts'

/** HTTP/2's INTERNAL_ERROR. */
const INTERNAL_ERROR = 2

export class HostedExchange implements Carrier, HostedOwner, Timed, OpenConnection {
  readonly isIdle = false
  readonly isBusy = true
  readonly isPulled = true
  readonly countsBody = false
  readonly cycle: RequestCycle
  readonly writer: HostedWriter
  readonly #connection: NoConnection
  readonly #in: HostedRequest
  readonly #out: HostedResponse
  /** The exchanges of the server, for which its stop waits. */
  readonly #all: Connections
  #head: MutableHead | null = null
  #isListening = false
  receivedBytes = 0
  /** What observers are told once the response has been sent. */
  #sending: Recording | null = null

  constructor(connection: NoConnection, all: Connections, incoming: HostedRequest, outgoing: HostedResponse) {
    const { timeouts, ticker } = connection.host
    this.#connection = connection
    this.cycle = new RequestCycle(this, connection, new Deadlines(timeouts, ticker, phase.NONE))
    this.#in = incoming
    this.#out = outgoing
    this.#all = all
    this.writer = new HostedWriter(this, outgoing)
  }

  /**
   * @param owesContinue whether the client waits for `100 Continue`, which Node has not sent
   * @returns false if no route matches the request in any reading, and nothing has happened: `mayPass` allows that
   */
  start(mayPass: boolean, owesContinue: boolean): boolean {
    const { cycle } = this
    const { host, endpointName } = this.#connection
    try {
      this.#head = readHostedHead(this.#in, host.limits)
    } catch (error) {
      if (!isInstance(error, WeirError)) throw error
      this.#open()
      cycle.refuseHead(error, null, this.#in.method === 'HEAD')
      return true
    }
    this.#head.expectsContinue = owesContinue && this.#head.contentLength !== 0
    const { routes } = host.application
    // Code after this would answer `//admin` like `/admin`, and `get` like `GET`, without the gates of that route. Only Node's parser of HTTP/1.1
    // refuses `get`.
    const isPlain = !/[a-z]/.test(this.#head.method)
    if (mayPass && isPlain && routes.find(this.#head, endpointName).route === null && !routes.isReadElsewhere(this.#head, endpointName))
      return false
    this.#open()
    cycle.open(this.#head)
    if (this.#head.contentLength === 0) this.#complete([])
    else if (cycle.work === state.NONE) cycle.demand()
    return true
  }

  #open(): void {
    this.#all.add(this)
    this.#connection.host.ticker.add(this)
    this.#out.on('close', () => this.#onClose())
    this.#in.on('error', ignore) // the end of the response tells what it means
  }

  // The body.

  resume(): void {
    if (this.#isListening) this.#in.resume()
    else this.#listen()
  }

  #listen(): void {
    const incoming = this.#in
    const { rawBody } = incoming as { readonly rawBody?: unknown }
    if (rawBody instanceof Uint8Array) {
      // Platforms that call a function with `(req, res)` have often read the body already.
      this.#take(Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.length))
      this.#complete([])
      return
    }
    if (incoming.readableDidRead || incoming.readableEnded) {
      this.#fail(
        new WeirError(
          'WEIR_BODY_ALREADY_READ',
          'something before toNodeListener() has read it: remove the body parser there, or let it keep `rawBody`',
        ),
      )
      return
    }
    this.#isListening = true
    incoming.on('data', (piece: Buffer) => this.#take(piece))
    incoming.on('end', () => this.#complete(pairsOf((incoming as { readonly rawTrailers?: readonly string[] }).rawTrailers ?? [])))
  }

  pause(): void {
    if (this.#isListening) this.#in.pause()
  }

  /** What is not needed is discarded. */
  #take(piece: Buffer): void {
    const { cycle } = this
    if (cycle.request >= state.WHOLE) return
    this.receivedBytes += piece.length
    if (cycle.body !== null) cycle.receive(piece, 0, piece.length, false)
  }

  #complete(trailers: FieldList): void {
    const { cycle } = this
    const expected = this.#head!.contentLength
    if (expected !== CHUNKED && expected !== this.receivedBytes) cycle.body?.fail(new WeirError('WEIR_BODY_TRUNCATED'))
    cycle.complete(trailers)
  }

  /** The program has made a mistake. */
  #fail(error: WeirError): void {
    const { cycle } = this
    if (cycle.work === state.NONE) cycle.refuse(error)
    else cycle.body?.fail(error)
  }

  refuseRest(): void {}

  // The response.

  interim(head: Head, status: number, fields: readonly string[] | null): boolean {
    if (fields === null) {
      this.#out.writeContinue()
      return true
    }
    if (head.minorVersion === 0 && !head.isHttp2) return false
    const hints: Record<string, string[]> = {}
    for (let i = 0; i < fields.length; i += 2) (hints[fields[i]!.toLowerCase()] ??= []).push(fields[i + 1]!)
    if (status !== 103 || !('link' in hints))
      return false // Node sends no others
    ;(this.#out as ServerResponse).writeEarlyHints(hints as { link: string[] })
    return true
  }

  takesTrailers(head: Head, mustBeAsked: boolean): boolean {
    if (head.isHttp2) return true
    return head.minorVersion === 1 && (!mustBeAsked || /(?:^|,)[ \t]*trailers[ \t]*(?:,|$)/i.test(head.get('te') ?? ''))
  }

  prepare(response: OutgoingResponse): OutgoingResponse {
    return this.#endsConnection(response) ? response.header('Connection', 'close') : response
  }

  /** Whether the connection must not be used again: Node would read the rest of a body, however long it is. */
  #endsConnection(response: OutgoingResponse): boolean {
    const { limits, isStopping } = this.#connection.host
    const { request, body } = this.cycle
    if (response.closes || isStopping || this.#head === null) return true
    if (request === state.WHOLE || body?.isUnread === false) return false
    const { contentLength } = this.#head
    return contentLength === CHUNKED ? request === state.DROPPED : contentLength - this.receivedBytes > limits.maxDrainSize
  }

  goOn(): void {
    this.cycle.streamed?.goOn()
  }

  handedOver(recording: Recording | null): void {
    const { cycle } = this
    if (recording !== null && recording.firstByteMs === null) recording.markFirstByte(recording.status)
    this.#sending = recording
    if (cycle.request !== state.WHOLE) {
      cycle.dropRest()
      this.#in.resume() // Node reads the next request after the rest of this one
    }
    if (this.#out.writableFinished) cycle.end()
    else
      this.#out.on('finish', () => {
        if (!isCut(cycle)) cycle.end()
      })
  }

  proceed(): void {}

  /** The response has been sent, or will not be. */
  closed(): void {
    this.#connection.host.ticker.delete(this)
    this.#all.forget(this)
    const recording = this.#sending
    this.#sending = null
    if (recording === null) return
    recording.markEnd()
    this.#connection.host.observers.end(recording)
  }

  cut(error: Error): void {
    this.cycle.drop(error)
    const out = this.#out as Http2ServerResponse | ServerResponse
    if ('stream' in out) out.stream.close(INTERNAL_ERROR)
    else out.destroy()
  }

  // The early end.

  get isGone(): boolean {
    return isCut(this.cycle)
  }

  /** The response has been sent, or its client has left. */
  #onClose(): void {
    const { cycle } = this
    if (isCut(cycle)) return
    if (cycle.response === state.HANDED_OVER && this.#out.writableFinished) {
      cycle.end()
      return
    }
    this.#sending?.abort(new WeirError('WEIR_CLIENT_GONE')) // it has left while the last bytes were being sent
    cycle.leave()
  }

  // As a connection that a stop waits for.

  drain(): void {}

  hasten(): boolean {
    return this.cycle.exchange?.hasten() === true
  }

  abort(error: Error): void {
    if (!state.isOver(this.cycle)) this.cut(error)
  }

  // Time.

  tick(elapsedMs: number): void {
    const { unsentBytes } = this.writer
    this.cycle.tick(elapsedMs, unsentBytes > 0, (this.cycle.streamed?.bodyBytes ?? 0) - unsentBytes)
  }
}

function pairsOf(raw: readonly string[]): FieldList {
  const pairs: [string, string][] = []
  for (let i = 0; i < raw.length; i += 2) pairs.push([raw[i]!, raw[i + 1]!])
  return pairs
}

function ignore(): void {}
