// One client of a WebSocket route, as handlers hold it.
//
// What comes in is handled in order, one message at a time: while a handler's promise is pending, the socket is not read. Once the program
// has ended the connection, no message is handled any more; one that the client ends, behind what it has sent. What goes out waits for
// the client up to a bound; a client beyond it is closed.

import type { Buffer } from 'node:buffer'
import type { RawData, WebSocket } from 'ws'

import { isPromise } from '../../base/is-promise.ts'
import type { UpgradedDuplex } from '../../http/answer/response-content.ts'
import type { HttpSession } from '../../http/session.ts'

import { messageOf, pingOf, type WebSocketData } from './data.ts'
import type { MessageGate } from './message-gate.ts'
import type { Rooms } from './rooms.ts'
import { SendQueue } from './send-queue.ts'

/** What happens on a connection. Each may return a promise; what it throws closes the connection with 1011, and is logged. */
export interface WebSocketHandlers<Args> {
  /** The connection is there. Messages wait until it has settled. */
  open?(socket: WebSocketConnection<Args>): unknown
  /** A message has come. The next one waits until it has settled. None is handled behind `close()`, `terminate()` or a handler that failed. */
  message?(socket: WebSocketConnection<Args>, data: WebSocketData): unknown
  /** The client has answered a ping, with the data of that one; with none if it was one of `pingInterval`. In order with the messages. */
  pong?(socket: WebSocketConnection<Args>, data: Uint8Array): unknown
  /** The connection has ended, in order or not (1006), and the handlers before have settled: the last call. @param code RFC 6455 §7.4; 1005 when the client said none */
  close?(socket: WebSocketConnection<Args>, code: number, reason: string): unknown
}

/** What all connections of a route share. @internal */
export interface ConnectionHost<Args> {
  readonly handlers: WebSocketHandlers<Args>
  readonly maxQueuedBytes: number
  /** Null: no pings. */
  readonly pingInterval: number | null
  readonly connections: Set<WebSocketConnection<Args>>
  readonly rooms: Rooms<WebSocketConnection<Args>>
  report(error: unknown): void
  forget(connection: WebSocketConnection<Args>): void
}

/** The client reads too slowly: it may come again (RFC 6455 §7.4, registry: Try Again Later). */
const TOO_SLOW = 1013
const GOING_AWAY = 1001
const INTERNAL_ERROR = 1011
/** Shorter messages are not compressed, where any are. The option of ws says so only to clients that take no context over. */
const COMPRESSION_THRESHOLD_BYTES = 1024

export class WebSocketConnection<Args = unknown> {
  readonly #host: ConnectionHost<Args>
  readonly #ws: WebSocket
  readonly #socket: UpgradedDuplex
  readonly #sending: SendQueue
  /** Null where messages are not compressed. */
  readonly #gate: MessageGate | null
  /** The parameters of the route: names of the path and of the query, bound as declared. */
  readonly args: Args
  /** The exchange in which it began: who is asking, header fields, the bag. Body members have expired. */
  readonly session: HttpSession
  #rooms: Set<string> | null = null
  /** Calls for what came while a handler was at work; null when none is. */
  #waiting: (() => unknown)[] | null = null
  /** The program has ended it: what still comes is of no interest. */
  #isEnded = false
  /** How it ended, while a handler is at work: `close` is called behind it. */
  #ending: { readonly code: number; readonly reason: string } | null = null
  /** Something came, or was read, since the last heartbeat. */
  #isAlive = true
  #aliveAt = 0
  #hasPinged = false

  /** @internal */
  constructor(
    host: ConnectionHost<Args>,
    ws: WebSocket,
    socket: UpgradedDuplex,
    gate: MessageGate | null,
    args: Args,
    session: HttpSession,
  ) {
    this.#host = host
    this.#ws = ws
    this.#socket = socket
    this.#sending = new SendQueue(ws, host.maxQueuedBytes)
    this.#gate = gate
    this.args = args
    this.session = session
    ws.on('message', (data, isBinary) => this.#onMessage(data, isBinary))
    ws.on('ping', (data) => this.#onPing(data))
    ws.on('pong', (data) => this.#onPong(data))
    ws.on('close', (code, reason) => this.#onClose(code, reason.toString()))
    ws.on('error', () => gate?.open()) // the client's mistake, for which ws closes with the code that belongs to it
  }

  /** The subprotocol that was agreed on; empty without one. */
  get protocol(): string {
    return this.#ws.protocol
  }

  /** Whether messages can be sent. */
  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN
  }

  /** Bytes that wait for the client, beside up to 64 KiB that the socket has taken. */
  get bufferedBytes(): number {
    return this.#ws.bufferedAmount
  }

  /** The rooms that it is in. */
  get rooms(): readonly string[] {
    return [...(this.#rooms ?? [])]
  }

  /**
   * Sends text as text, bytes as a binary message; the memory must not change until it is sent. Never waits. A client for whom more than
   * `maxQueuedBytes` would wait is closed with 1013.
   * @returns whether it was queued
   * @throws LimitError for a message that is larger than `maxQueuedBytes`
   */
  send(data: WebSocketData): boolean {
    const bytes = messageOf(data, this.#host.maxQueuedBytes)
    return this.sendBytes(bytes, typeof data !== 'string')
  }

  /** @internal */
  sendBytes(bytes: Uint8Array, binary: boolean): boolean {
    const compress = bytes.length >= COMPRESSION_THRESHOLD_BYTES
    return this.#queue(bytes.length, (onGone) => this.#ws.send(bytes, { binary, compress }, onGone))
  }

  /**
   * Asks whether the client is there: it answers with the same data, and `pong` is called. It need not answer one that another has overtaken.
   * @param data up to 125 bytes
   * @returns whether it was queued, as `send`
   * @throws LimitError for more
   */
  ping(data: WebSocketData = ''): boolean {
    const bytes = pingOf(data)
    return this.#queue(bytes.length, (onGone) => this.#ws.ping(bytes, false, onGone))
  }

  /** Resolves when all that was queued before has gone out, to the system at least; also when the connection ends. */
  drained(): Promise<void> {
    return this.#sending.drained()
  }

  /** Sends to all others in a room, or on the route if it is null. @returns for how many it was queued @throws LimitError as `send` */
  broadcast(room: string | null, data: WebSocketData): number {
    return broadcast(this.#host, room, data, this)
  }

  /** Enters a room. All are left when the connection ends. */
  join(room: string): this {
    if (this.#ws.readyState === this.#ws.CLOSED) return this
    this.#rooms ??= new Set()
    this.#rooms.add(room)
    this.#host.rooms.join(room, this)
    return this
  }

  leave(room: string): this {
    this.#rooms?.delete(room)
    this.#host.rooms.leave(room, this)
    return this
  }

  /**
   * Ends the connection in order: what was sent before still goes out. A client that does not answer is broken off after 10 s.
   * @param code 1000, or one of 3000 to 4999 that is your own, or another of RFC 6455 §7.4
   * @param reason up to 123 bytes
   */
  close(code = 1000, reason = ''): void {
    this.#ws.close(code, reason)
    this.#end()
  }

  /** Breaks the connection off. */
  terminate(): void {
    this.#ws.terminate()
    this.#end()
  }

  /** @internal */
  stop(): void {
    this.close(GOING_AWAY, 'the server stops')
  }

  /** @internal Begins. Not before the host knows it. */
  open(): void {
    this.#handle(() => this.#host.handlers.open?.(this))
  }

  /** @internal Something has come, if only a piece of a message: a large one may take longer than any silence. */
  onBytes(): void {
    this.#isAlive = true
  }

  /** @internal Asks a client that has been silent whether it is there, and breaks off one that has not answered for as long again. */
  onHeartbeat(now: number): void {
    // A pong stands behind all that waits for the client to read it.
    if (this.#socket.hasBeenRead()) this.#isAlive = true
    // Nothing of it is read while a handler is at work.
    if (this.#isAlive || this.#waiting !== null || this.#aliveAt === 0) {
      this.#isAlive = this.#hasPinged = false
      this.#aliveAt = now
      return
    }
    const silence = now - this.#aliveAt
    const interval = this.#host.pingInterval!
    if (silence >= 2 * interval) this.terminate()
    else if (silence >= interval && !this.#hasPinged && this.isOpen) {
      this.#hasPinged = true
      this.#ws.ping()
    }
  }

  #queue(length: number, send: (onGone: () => void) => void): boolean {
    if (!this.isOpen) return false
    if (!this.#sending.hasRoom(length)) {
      this.close(TOO_SLOW, 'messages are read too slowly')
      return false
    }
    send(this.#sending.onGone)
    this.#sending.add()
    return true
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    const { message } = this.#host.handlers
    if (message !== undefined) {
      const value = isBinary ? (data as Buffer) : (data as Buffer).toString()
      this.#handleNext(() => message(this, value))
    }
    if (this.#waiting === null) this.#gate?.release()
  }

  /** Not answered by ws: it breaks the connection off when 60 come in one read. */
  #onPing(data: Buffer): void {
    this.#queue(data.length, (onGone) => this.#ws.pong(data, false, onGone))
  }

  #onPong(data: Buffer): void {
    const { pong } = this.#host.handlers
    if (pong !== undefined) this.#handleNext(() => pong(this, data))
  }

  #handleNext(call: () => unknown): void {
    if (this.#isEnded) return
    if (this.#waiting !== null) this.#waiting.push(call)
    else this.#handle(call)
  }

  #handle(call: () => unknown): void {
    try {
      const result = call()
      if (isPromise(result)) void this.#handleInOrder(result)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Waits for a handler, and for those of what has come meanwhile: no more than the socket had read at once, or one message through the gate. */
  async #handleInOrder(result: Promise<unknown>): Promise<void> {
    const waiting: (() => unknown)[] = []
    this.#waiting = waiting
    this.#ws.pause()
    try {
      await result
      for (let i = 0; i < waiting.length; i++) await waiting[i]!()
    } catch (error) {
      this.#fail(error)
    }
    this.#waiting = null
    if (this.#ending === null) {
      this.#ws.resume()
      this.#gate?.release()
    } else this.#callClose(this.#ending.code, this.#ending.reason)
  }

  #end(): void {
    this.#isEnded = true
    if (this.#waiting !== null) this.#waiting.length = 0
  }

  #fail(error: unknown): void {
    this.#host.report(error)
    this.close(INTERNAL_ERROR, 'a handler failed')
  }

  #onClose(code: number, reason: string): void {
    this.#host.forget(this)
    this.#sending.end()
    for (const room of this.#rooms ?? []) this.#host.rooms.leave(room, this)
    this.#rooms = null
    if (this.#waiting === null) this.#callClose(code, reason)
    else this.#ending = { code, reason }
  }

  #callClose(code: number, reason: string): void {
    this.#ending = null
    this.#handle(() => this.#host.handlers.close?.(this, code, reason))
  }
}

/** Encodes once, and sends to each. @internal */
export function broadcast<Args>(
  host: ConnectionHost<Args>,
  room: string | null,
  data: WebSocketData,
  except: WebSocketConnection<Args> | null,
): number {
  const bytes = messageOf(data, host.maxQueuedBytes)
  let queued = 0
  for (const connection of room === null ? host.connections : host.rooms.membersOf(room)) {
    if (connection !== except && connection.sendBytes(bytes, typeof data !== 'string')) queued++
  }
  return queued
}
