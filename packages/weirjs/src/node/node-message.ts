// Makes the request and the response of `node:http` for code that is mounted.
//
// Both are Node's own objects, with Node's own methods, so they behave as under `node:http`: the order of events, the errors, and what
// packages patch. Node passes a complete head to `_storeHeader` and the bytes of the body to the socket: that is where weir takes over. What
// is replaced are own properties of each object, because Express replaces the prototypes.

import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import process from 'node:process'

import { WeirError } from '../base/errors.ts'
import type { RequestHead } from '../http/application.ts'
import type { RequestBody } from '../http/body/body.ts'
import { OF_THE_BYTES } from '../http/response/field-list.ts'
import { stripPrefix } from './mounted-url.ts'
import type { NodeSocket } from './node-socket.ts'

/** The exchange of a request and its response. */
export interface MessageOwner {
  /** Whether destroying the request ends the exchange. */
  readonly isCutShort: boolean
  /** The head of the response is complete. @param headers what Node passes to `_storeHeader` */
  storeHead(headers: unknown): void
  /** `end` of the response has been called. */
  end(): void
  /** The response has been sent: all listeners of `finish` are told. */
  onFinish(): void
}

const OWNER: unique symbol = Symbol('weir.owner')

/** A request, with members that the types of Node do not mention. */
export interface NodeRequest extends IncomingMessage {
  [OWNER]: MessageOwner
  upgrade: boolean | null
  originalUrl?: string
  baseUrl?: string
  _addHeaderLines(fields: readonly string[], count: number): void
  _dump(): void
  _destroy(error: Error | null, done: (error?: Error | null) => void): void
}

/** A response, with members that the types of Node do not mention. */
export interface NodeResponse extends ServerResponse<NodeRequest> {
  [OWNER]: MessageOwner
  _header: string | null
  _headerSent: boolean
  _hasBody: boolean
  _contentLength: number | null
  _trailer: string
  _closed: boolean
  _finish(): void
  _storeHeader(statusLine: string, headers: unknown): void
}

const nodeFinish = (ServerResponse.prototype as NodeResponse)._finish
/** Whether a response waits for the event `drain`. Node's server resets it, and there is no public way to do so. Undefined: this Node has another. */
const NEED_DRAIN = symbolOf('kNeedDrain')
/** Over HTTP/2 a handshake has no key (RFC 8441 §5), but packages for WebSockets require one. Their response to it is not sent. */
const ANY_KEY = 'AAAAAAAAAAAAAAAAAAAAAA=='

function symbolOf(name: string): symbol | undefined {
  const res = new ServerResponse({ method: 'GET', httpVersionMajor: 1, httpVersionMinor: 1 } as IncomingMessage)
  return Object.getOwnPropertySymbols(res).find(({ description }) => description === name)
}

/** Called when something is mounted, because the other functions of weirjs/node need nothing of this. @throws WEIR_SERVER_STATE */
export function checkNode(): void {
  if (NEED_DRAIN === undefined)
    throw new WeirError('WEIR_SERVER_STATE', `mountNode() does not support the responses of Node ${process.version}`)
}

/**
 * @param body null if there is none
 * @param prefixSegments how many segments of the path `req.url` leaves out
 */
export function makeRequest(
  owner: MessageOwner,
  socket: NodeSocket,
  head: RequestHead,
  body: RequestBody | null,
  prefixSegments: number,
): NodeRequest {
  const req = new IncomingMessage(socket as unknown as Socket) as NodeRequest
  req[OWNER] = owner
  req._destroy = destroyRequest
  req.httpVersionMajor = head.isHttp2 ? 2 : 1
  req.httpVersionMinor = head.isHttp2 ? 0 : head.minorVersion
  req.httpVersion = head.isHttp2 ? '2.0' : head.minorVersion === 0 ? '1.0' : '1.1'
  req.method = head.method
  req.url = head.url
  if (prefixSegments > 0) stripPrefix(req, prefixSegments)
  const fields = fieldsOf(head, body)
  req._addHeaderLines(fields, fields.length)
  return req
}

/** @returns name, value, name, value */
function fieldsOf(head: RequestHead, body: RequestBody | null): string[] {
  const fields: string[] = []
  const isDecoded = body?.isDecoded === true
  for (const [name, value] of head.entries()) if (!isDecoded || !isOfTheCoding(name)) fields.push(name, value)
  // Express and others read a body only if one of the fields of HTTP/1.1 says that there is one.
  const isFramed = head.get('transfer-encoding') !== null || (!isDecoded && head.get('content-length') !== null)
  if (body !== null && !isFramed) fields.push('Transfer-Encoding', 'chunked')
  if (head.isHttp2 && head.upgrade && head.get('sec-websocket-key') === null) fields.push('Sec-WebSocket-Key', ANY_KEY)
  return fields
}

/** Fields that do not describe a body which has been decoded. */
function isOfTheCoding(name: string): boolean {
  return /^content-encoding$/i.test(name) || OF_THE_BYTES.some((one) => one.toLowerCase() === name.toLowerCase())
}

export function makeResponse(owner: MessageOwner, socket: NodeSocket, req: NodeRequest): NodeResponse {
  const res = new ServerResponse(req) as NodeResponse
  res[OWNER] = owner
  res._storeHeader = storeHeader
  res._finish = finishResponse
  socket._httpMessage = res
  setSocket(res, socket)
  res.on('finish', onFinish)
  return res
}

/** The type of Node does not let it be set. */
function setSocket(res: NodeResponse, socket: NodeSocket | null): void {
  ;(res as { socket: unknown }).socket = socket
}

/** What Node's server does when a response has been sent. */
export function detach(res: NodeResponse): void {
  setSocket(res, null)
  process.nextTick(emitClose, res)
}

/** The client has made room: code that waits for it may write again. */
export function drain(res: NodeResponse): void {
  const flags = res as unknown as Record<symbol, boolean>
  if (!flags[NEED_DRAIN!]) return
  flags[NEED_DRAIN!] = false
  process.nextTick(emitDrain, res)
}

export function emitClose(res: NodeResponse): void {
  if (res._closed) return
  res.destroyed = true
  res._closed = true
  res.emit('close')
}

// Functions that all messages share: closures would have to be made for each.

function storeHeader(this: NodeResponse, statusLine: string, headers: unknown): void {
  this[OWNER].storeHead(headers)
  // Node only checks whether they are set.
  this._header = `${statusLine}\r\n`
  this._headerSent = true
}

function finishResponse(this: NodeResponse): void {
  nodeFinish.call(this)
  this[OWNER].end()
}

function onFinish(this: NodeResponse): void {
  this[OWNER].onFinish()
}

function emitDrain(res: NodeResponse): void {
  res.emit('drain')
}

function destroyRequest(this: NodeRequest, error: Error | null, done: (error?: Error | null) => void): void {
  if (this[OWNER].isCutShort) {
    this.aborted = true
    this.emit('aborted')
    if (!this.socket.destroyed) this.socket.destroy(error ?? undefined)
  }
  process.nextTick(settleRequest, this, error, done)
}

/** An error without a listener would end the process. */
function settleRequest(req: NodeRequest, error: Error | null, done: (error?: Error | null) => void): void {
  if (error !== null && req.listenerCount('error') > 0) done(error)
  else done()
}
