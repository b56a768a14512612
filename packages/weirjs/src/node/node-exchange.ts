// One exchange of code that is mounted: Node's request and response on one side, the engine of weir on the other.
//
//   OPEN ──▶ STREAMING ──▶ DONE     the engine has the head, and takes the body while it is written
//     └────────────────────▶        another answers, or the client has left
//
// A response that is complete within the turn of the event loop in which its head is complete is passed on in one piece.

import { Buffer } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import process from 'node:process'
import type { Duplex } from 'node:stream'

import { faultOf, WeirError } from '../base/errors.ts'
import type { BodySink } from '../http/body/body.ts'
import { PieceQueue } from '../http/body/piece-queue.ts'
import type { ConnectionInfo } from '../http/connection-info.ts'
import { type Exchange, exchangeOf } from '../http/exchange.ts'
import { bodyOf, cookieUse, onAbort } from '../http/request/request.ts'
import { type ByteSource, UNREAD } from '../http/response/byte-source.ts'
import type { HttpSession } from '../http/session.ts'
import { describeSocket } from './given-socket.ts'
import { fieldsOfText, storeHead } from './node-head.ts'
import {
  detach,
  drain,
  emitClose,
  type MessageOwner,
  makeRequest,
  makeResponse,
  type NodeRequest,
  type NodeResponse,
} from './node-message.ts'
import { type HasServer, NodeSocket, type SocketOwner, type WriteCallback } from './node-socket.ts'
import { wantsFinish } from './watching.ts'
import { type BodyWriter, WrittenBody } from './written-body.ts'

/** A listener for the event `upgrade` of `http.Server`. */
export type NodeUpgradeHandler = (req: IncomingMessage, socket: Duplex, head: Buffer) => unknown

const OPEN = 0
const STREAMING = 1
const DONE = 2

/** What is mounted. */
export interface Mounted extends HasServer {
  /** Emits `connection` to the listeners of the server. @returns whether there are any */
  announce(socket: object): boolean
  /** Milliseconds of silence, as set on the server; 0 for none. */
  readonly timeout: number
  /** @returns whether there are listeners for the timeout of a socket */
  tellTimeout(socket: object): boolean
  /** Tells monitors that the response is complete. */
  tellFinish(req: IncomingMessage, res: NodeResponse): void
}

export class NodeExchange implements MessageOwner, SocketOwner, BodyWriter {
  readonly session: HttpSession
  readonly req: NodeRequest
  readonly res: NodeResponse
  readonly #exchange: Exchange
  readonly #mount: Mounted
  readonly #socket: NodeSocket
  readonly #body: WrittenBody
  #phase = OPEN
  /** Whether the handler of the route has its result. */
  #isReady = false
  /** `end` of the response has been called. */
  #isEnded = false
  /** The engine has taken the end of the response. */
  #isSent = false
  #isStartDue = false
  /** The body of the request is being read. */
  #isReading = false
  /** Of the body of the request. Null until it is being read. */
  #pieces: PieceQueue | null = null
  /** The rest of the body will not arrive, but the exchange continues. */
  #hasFailed = false
  /** A listener counts the socket as a connection, and waits for its end. */
  #isAnnounced = false
  #result: unknown
  #resolve: ((result: unknown) => void) | null = null

  /** @param prefixSegments how many segments of the path `req.url` leaves out */
  constructor(session: HttpSession, prefixSegments: number, mount: Mounted) {
    const exchange = exchangeOf(session)
    cookieUse(session.request, true)
    this.session = session
    this.#exchange = exchange
    this.#mount = mount
    this.#body = new WrittenBody(this)
    this.#socket = new NodeSocket(this)
    this.req = makeRequest(this, this.#socket, exchange.head, bodyOf(session.request), prefixSegments)
    this.res = makeResponse(this, this.#socket, this.req)
  }

  get httpServer(): object {
    return this.#mount.httpServer
  }

  get connection(): ConnectionInfo {
    return this.#exchange.connection
  }

  /** Before the code gets the request. */
  announce(): void {
    const { timeout } = this.#mount
    if (timeout > 0) this.#socket.setTimeout(timeout)
    this.#isAnnounced = this.#mount.announce(this.#socket)
  }

  // The result for the handler of the route.

  /** The code has returned. @returns undefined if the response is there; otherwise a promise */
  result(): unknown {
    if (bodyOf(this.session.request) === null) this.#completeRequest([])
    if (this.#isReady) return this.#result
    onAbort(this.session.request, () => this.#leave(null))
    return new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  #ready(result?: unknown): void {
    if (this.#isReady) return
    this.#isReady = true
    this.#result = result
    this.#resolve?.(result)
  }

  /** The code has failed. @returns whether the client can be told, or the response aborted */
  fail(error: unknown): boolean {
    if (this.#phase === OPEN && !this.#isEnded) {
      this.#giveUp(() => {
        throw error
      })
      return true
    }
    if (this.#phase !== STREAMING || this.#isEnded) return false
    if (this.res._hasBody) {
      this.#body.fail(error as Error)
      return true
    }
    this.#leave(null) // the client has the whole response, and nothing calls `end` any more
    return false
  }

  /** The code passes the request on. @param answer creates the result */
  passOn(answer: () => unknown): void {
    if (this.#phase === OPEN && !this.#isEnded) this.#giveUp(answer)
  }

  /** Nothing that the code does from now on reaches the client. */
  #giveUp(answer: () => unknown): void {
    this.#phase = DONE
    this.#closeResponse(null)
    this.#ready(resultOf(answer))
  }

  /** Switches to another protocol. @returns the result */
  upgrade(handler: NodeUpgradeHandler): unknown {
    const { session, req } = this
    const offers = session.request.upgrade!.split(',').map((one) => one.trim())
    const protocol = offers.includes('websocket') ? 'websocket' : offers[0]!
    this.#phase = DONE
    return session.response.upgrade(protocol, (socket, head) => {
      req.upgrade = true
      req.socket = describeSocket(socket, this.#socket)
      this.#mount.announce(socket)
      return handler(req, socket, head)
    })
  }

  // The body of the request.

  read(): void {
    const body = bodyOf(this.session.request)
    if (body === null || this.#phase === DONE) return
    if (this.#isReading) {
      body.demand()
      return
    }
    this.#isReading = true
    if (body.failure === null) body.take('the body of a mounted handler', this.#sink())
    else this.#failRequest(body.failure) // refused before the code has read any of it
  }

  #sink(): BodySink {
    const { req, session } = this
    const pieces = new PieceQueue(req)
    this.#pieces = pieces
    return {
      keepsBytes: true,
      data: (buffer, start, end, borrowed) => {
        if (req.destroyed) return true
        this.#socket.touch()
        return pieces.push(buffer, start, end, borrowed)
      },
      end: () => this.#completeRequest([...session.request.trailers].flat()),
      fail: (error) => this.#failRequest(error),
    }
  }

  /** All of the request has arrived. Without a body, Node notices that when its listener has returned. */
  #completeRequest(trailers: readonly string[]): void {
    const { req } = this
    req.complete = true
    if (trailers.length > 0) req._addHeaderLines(trailers, trailers.length)
    if (req.destroyed) return
    if (this.#pieces === null) req.push(null)
    else this.#pieces.end()
  }

  /** The rest of the body will not arrive: a limit was exceeded, the client has left, or the response has been sent. */
  #failRequest(error: Error): void {
    const { req } = this
    if (this.#phase !== DONE && !this.#isEnded && faultOf(error) === 'transport') {
      this.#leave(null)
      return
    }
    this.#hasFailed = true
    this.#socket.readable = false // packages that wait for the end of the request before they respond must not
    if (this.#phase === DONE || this.#isEnded) req.destroy()
    else {
      const isHeard = req.listenerCount('error') > 0
      req.destroy(error)
      if (!isHeard) this.fail(error)
    }
  }

  get isCutShort(): boolean {
    const { req } = this
    return !this.#hasFailed && !(req.readableEnded && req.complete)
  }

  // The response.

  storeHead(headers: unknown): void {
    if (this.#phase === DONE) return
    const length = storeHead(this.#exchange.own, this.res, headers, (name) => this.#trailer(name))
    if (length >= 0) this.res._contentLength = length
  }

  /** Node keeps trailers as text. */
  #trailer(name: string): string | null {
    const fields = fieldsOfText(this.res._trailer)
    const at = fields.findIndex((one, i) => i % 2 === 0 && one.toLowerCase() === name.toLowerCase())
    return at === -1 ? null : fields[at + 1]!
  }

  get waitingBytes(): number {
    return this.#body.waitingBytes
  }

  write(data: string | Uint8Array, encoding: BufferEncoding | null | undefined, callback: WriteCallback | null | undefined): boolean {
    if (!this.res._header) {
      this.#sendInterim(String(data))
      if (callback) process.nextTick(callback)
      return true
    }
    this.#body.add(typeof data === 'string' && !isUtf8(encoding) ? Buffer.from(data, encoding) : data, callback ?? null)
    if (!this.#isStartDue) {
      this.#isStartDue = true
      process.nextTick(startStream, this)
    }
    return this.waitingBytes < this.#socket.writableHighWaterMark
  }

  /** @param head of a response before the final one, as Node has made it */
  #sendInterim(head: string): void {
    if (this.#phase !== OPEN) return
    if (head.startsWith('HTTP/1.1 100 ')) this.read()
    else if (head.startsWith('HTTP/1.1 103 ')) this.#exchange.sendInterim(103, fieldsOfText(head.slice(head.indexOf('\r\n'))), true)
  }

  /** `end` was not called in the turn in which the head was complete. */
  startStream(): void {
    if (this.#phase !== OPEN || this.#isEnded) return
    this.#phase = STREAMING
    if (this.res._hasBody) {
      this.#setBody(this.#body as ByteSource)
      this.#setTrailers()
    } else this.#setNothing()
    this.#ready()
  }

  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    if (this.#phase === STREAMING && this.res._hasBody) {
      this.#body.end()
      return
    }
    if (this.#phase === OPEN) this.#sendWhole()
    // Bytes must not be used again before the engine has sent them, which it does in this turn.
    setImmediate(settle, this)
  }

  #sendWhole(): void {
    const whole = this.#body.takeWhole()
    this.#phase = STREAMING
    if (!this.res._hasBody) this.#setNothing()
    else {
      if (whole.length > 0) this.#setBody(whole)
      if (this.res._trailer !== '') this.#setTrailers()
    }
    this.#ready()
  }

  /** Before the end of a stream it is not known whether there will be any. Over HTTP/1.1, Node sends them after chunks only. */
  #setTrailers(): void {
    const { own, head } = this.#exchange
    const { res } = this
    if (head.isHttp2 || res._contentLength === null) own.ownTrailers().setUnannounced(() => fieldsOfText(res._trailer))
  }

  /** For HEAD, the head states the length that a body would have, if it is known. */
  #setNothing(): void {
    if (this.req.method === 'HEAD') this.#setBody(UNREAD)
  }

  #setBody(content: string | Uint8Array | ByteSource): void {
    const { own } = this.#exchange
    const { type } = own
    if (typeof content === 'string') own.text(content)
    else if (content instanceof Uint8Array) own.body(content)
    else own.stream(content)
    if (type === null) own.removeHeader('Content-Type') // Node adds none
  }

  onTaken(): void {
    if (!this.#isEnded) drain(this.res)
  }

  onEnd(): void {
    this.settle()
  }

  /** Everything has been sent. */
  settle(): void {
    this.#isSent = true
    this.#body.settle(null)
  }

  /** The engine does not read the body any more. */
  onClose(): void {
    if (this.#phase === STREAMING && this.res._hasBody && !this.#isSent) this.#leave(null)
  }

  onFinish(): void {
    if (wantsFinish()) this.#mount.tellFinish(this.req, this.res)
    if (this.#phase === DONE) return
    this.#phase = DONE
    const { req } = this
    if (req.complete) {
      if (!this.#isReading) req._dump()
    } else if (!req.destroyed) {
      this.#hasFailed = true // nothing reads the rest
      req.destroy()
    }
    this.#socket.release()
    detach(this.res)
    if (this.#isAnnounced) process.nextTick(closeSocket, this.#socket)
  }

  // The end before its time.

  destroy(error: Error | null): void {
    if (this.#phase === DONE) return
    const { own } = this.#exchange
    if (!this.#isEnded) this.#leave(error, error ?? new WeirError('WEIR_HANDLER_FAILED', 'it has destroyed its connection'))
    else if (!own.isTaken) own.header('Connection', 'close') // Node would have sent the response already
  }

  /** As in Node, listeners of the socket alone do not keep it open. */
  onTimeout(): void {
    const { req, res } = this
    const isHeard = [!req.complete && req.emit('timeout'), res.emit('timeout'), this.#mount.tellTimeout(this.#socket)].includes(true)
    if (!isHeard) this.#socket.destroy()
  }

  /**
   * The client has left, or is no longer served.
   * @param error for the code; null for Node's
   * @param reason why the exchange is cut; null if it has ended already, or is about to
   */
  #leave(error: Error | null, reason: Error | null = null): void {
    if (this.#phase === DONE) return
    this.#phase = DONE
    const gone = error ?? Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
    this.#socket.close(error)
    if (!this.req.destroyed) this.req.destroy(gone)
    this.#closeResponse(gone)
    // A client that has only ended its side could still read, and must not get a response that was never made.
    const cause = reason ?? (this.#isReady ? null : new WeirError('WEIR_CLIENT_GONE'))
    if (cause !== null) this.#exchange.carrier?.cut(this.#exchange, cause)
    this.#ready()
  }

  #closeResponse(error: Error | null): void {
    this.#socket.close(null)
    this.#body.settle(error)
    emitClose(this.res)
  }
}

function isUtf8(encoding: BufferEncoding | null | undefined): encoding is 'utf8' | null | undefined {
  return !encoding || encoding === 'utf8' || encoding === 'utf-8'
}

/** Turns a thrown error into a promise that rejects. */
function resultOf(answer: () => unknown): unknown {
  try {
    return answer()
  } catch (error) {
    return Promise.reject(error)
  }
}

function closeSocket(socket: NodeSocket): void {
  socket.close(null)
}

function startStream(exchange: NodeExchange): void {
  exchange.startStream()
}

function settle(exchange: NodeExchange): void {
  exchange.settle()
}
