// One connection of a WebSocket route, as handlers see it.
//
// Incoming messages are handled in order, one at a time: while a handler's promise is pending, the socket is not read. Once the program has
// ended the connection, no more messages are handled. If the client ends it, the messages that it sent before are handled first. Outgoing
// messages wait for the client up to a limit; a client that exceeds it is closed.

import type { Buffer } from 'node:buffer'
import type { RawData, WebSocket } from 'ws'

import { isPromise } from '../../base/is-promise.ts'
import type { UpgradedDuplex } from '../../http/answer/response-content.ts'
import type { HttpSession } from '../../http/session.ts'

import { frameOf, messageOf, pingOf, type WebSocketData } from './data.ts'
import type { MessageGate } from './message-gate.ts'
import type { RelayedRooms } from './relayed-rooms.ts'
import type { Rooms } from './rooms.ts'
import { SendQueue } from './send-queue.ts'

/**
 * The handlers of a connection. Each may return a promise. If one throws or rejects, the connection is closed with 1011 and the error is
 * logged.
 */
export interface WebSocketHandlers<Args> {
  /** The connection has been established. Messages wait until this handler has settled. */
  open?(socket: WebSocketConnection<Args>): unknown
  /**
   * A message has arrived. The next one waits until this handler has settled. Not called after `close()`, `terminate()` or a handler that
   * failed.
   */
  message?(socket: WebSocketConnection<Args>, data: WebSocketData): unknown
  /**
   * The client has answered a ping. `data` is that of the ping, empty for those that `pingInterval` sends. Called in order with the
   * messages.
   */
  pong?(socket: WebSocketConnection<Args>, data: Uint8Array): unknown
  /**
   * The connection has ended. Always the last call, after all running handlers have settled.
   *
   * @param code RFC 6455 §7.4; 1005 if the client sent none, 1006 if the connection ended without a closing handshake
   */
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
  /** Null: broadcasts stay in this process. */
  readonly relayed: RelayedRooms | null
  report(error: unknown, requestId: string): void
  forget(connection: WebSocketConnection<Args>): void
}

/** The client reads too slowly and may connect again later (RFC 6455 §7.4, registry: Try Again Later). */
const TOO_SLOW = 1013
const GOING_AWAY = 1001
const INTERNAL_ERROR = 1011
/** If messages are compressed, shorter ones are not. The option of ws has an effect only for clients without context takeover. */
const COMPRESSION_THRESHOLD_BYTES = 1024
/** What a socket holds back to send it together does not wait for the client, and more of it would look as if it did. */
const MOST_TOGETHER = 64
const MOST_BYTES_TOGETHER = 16 * 1024

export class WebSocketConnection<Args = unknown> {
  readonly #host: ConnectionHost<Args>
  readonly #ws: WebSocket
  readonly #socket: UpgradedDuplex
  readonly #sending: SendQueue
  /** Null if messages are not compressed. */
  readonly #gate: MessageGate | null
  /** The parameters of the path and of the query, bound as declared. */
  readonly args: Args
  /** The exchange in which the connection began, with the principal, the header fields and the bag. Body members have expired. */
  readonly session: HttpSession
  #rooms: Set<string> | null = null
  /** Calls for what arrived while a handler was running; null if none is running. */
  #waiting: (() => unknown)[] | null = null
  /** Whether the program has ended the connection. What still arrives is ignored. */
  #isEnded = false
  /** How the connection ended while a handler was running. `close` is called after that handler. */
  #ending: { readonly code: number; readonly reason: string } | null = null
  /** Whether something arrived, or was read by the client, since the last heartbeat. */
  #isAlive = true
  /** How many bytes had arrived by then. */
  #receivedBefore = 0
  #beatAt = 0
  /** How long it has given no sign of life. */
  #silentMs = 0
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
    ws.on('error', () => gate?.open()) // a mistake by the client: ws closes with the matching code
  }

  /** The negotiated subprotocol; empty if there is none. */
  get protocol(): string {
    return this.#ws.protocol
  }

  /** Whether messages can be sent. */
  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN
  }

  /** Bytes that wait for the client, in addition to up to 64 KiB that the socket has accepted. */
  get bufferedBytes(): number {
    this.#sendHeld() // it does not wait for the client
    return this.#ws.bufferedAmount
  }

  /** The rooms that this connection is in. */
  get rooms(): readonly string[] {
    return [...(this.#rooms ?? [])]
  }

  /**
   * Sends a string as a text message, or bytes as a binary message. The bytes must not change until they are sent. Never waits. If more
   * than `maxQueuedBytes` would wait for the client, the connection is closed with 1013.
   *
   * @returns whether the message was queued
   * @throws LimitError for a message larger than `maxQueuedBytes`
   */
  send(data: WebSocketData): boolean {
    const bytes = messageOf(data, this.#host.maxQueuedBytes)
    return this.#send(bytes, typeof data !== 'string')
  }

  #send(bytes: Uint8Array, binary: boolean): boolean {
    const compress = bytes.length >= COMPRESSION_THRESHOLD_BYTES
    return this.#queue(bytes.length, (onGone) => this.#ws.send(bytes, { binary, compress }, onGone))
  }

  /** @internal Sends a message that others get as well. Its frame is made once, and without compression ws would add nothing to it. */
  sendShared(message: SharedMessage): boolean {
    if (this.#gate !== null) return this.#send(message.bytes, message.isBinary)
    return this.#queue(message.bytes.length, (onGone) => void this.#socket.write(message.frame, onGone))
  }

  /**
   * Sends a ping. When the client answers with the same data, `pong` is called. The client may skip a ping if a later one has already
   * arrived.
   *
   * @param data up to 125 bytes
   * @returns whether the ping was queued, as for `send`
   * @throws LimitError for more data
   */
  ping(data: WebSocketData = ''): boolean {
    const bytes = pingOf(data)
    return this.#queue(bytes.length, (onGone) => this.#ws.ping(bytes, false, onGone))
  }

  /** Resolves when everything that was queued so far has been passed to the system, or the connection has ended. */
  drained(): Promise<void> {
    return this.#sending.drained()
  }

  /**
   * Sends to all others in a room, or to all others on the route if the room is null. With a relay, those of other processes get it, too.
   *
   * @returns the number of clients of this process for which the message was queued
   * @throws LimitError as for `send`
   */
  broadcast(room: string | null, data: WebSocketData): number {
    return broadcast(this.#host, room, data, this)
  }

  /** Joins a room. The connection leaves all rooms when it ends. */
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
   * Closes the connection once everything that was sent before has gone out. A client that does not answer within 10 s is aborted.
   *
   * @param code 1000, one of your own from 3000 to 4999, or another of RFC 6455 §7.4
   * @param reason up to 123 bytes
   */
  close(code = 1000, reason = ''): void {
    this.#ws.close(code, reason)
    this.#end()
  }

  /** Aborts the connection. */
  terminate(): void {
    this.#ws.terminate()
    this.#end()
  }

  /** @internal */
  stop(): void {
    this.close(GOING_AWAY, 'the server is stopping')
  }

  /** @internal Begins to handle messages. To be called once the host knows the connection. */
  open(): void {
    this.#handle(() => this.#host.handlers.open?.(this))
  }

  /** @internal Pings a client that has been silent, and aborts one that has not answered for as long again. */
  onHeartbeat(now: number): void {
    // The pong arrives only after the client has read everything that was sent before the ping.
    if (this.#socket.hasBeenRead()) this.#isAlive = true
    // A large message may take longer than any silence, so a piece of it counts as a sign of life.
    const { receivedBytes } = this.#socket
    if (receivedBytes !== this.#receivedBefore) this.#isAlive = true
    this.#receivedBefore = receivedBytes
    const interval = this.#host.pingInterval!
    // Of a heartbeat that is late only a part counts: what arrived while the process was blocked has not been read yet.
    const elapsed = Math.min(now - this.#beatAt, interval / 2)
    this.#beatAt = now
    // While a handler is running, the socket is not read.
    if (this.#isAlive || this.#waiting !== null) {
      this.#isAlive = this.#hasPinged = false
      this.#silentMs = 0
      return
    }
    this.#silentMs += elapsed
    if (this.#silentMs >= 2 * interval) this.terminate()
    else if (this.#silentMs >= interval && !this.#hasPinged && this.isOpen) {
      this.#hasPinged = true
      this.#ws.ping()
    }
  }

  #queue(length: number, send: (onGone: () => void) => void): boolean {
    if (!this.isOpen) return false
    if (!this.#sending.hasRoom(length)) this.#sendHeld()
    if (!this.#sending.hasRoom(length)) {
      this.close(TOO_SLOW, 'messages are read too slowly')
      return false
    }
    send(this.#sending.onGone)
    if (this.#sending.waiting >= MOST_TOGETHER || this.#ws.bufferedAmount >= MOST_BYTES_TOGETHER) this.#sendHeld()
    this.#sending.add()
    return true
  }

  /** Sends what the socket holds back while it handles bytes. */
  #sendHeld(): void {
    if (this.#socket.writableCorked === 0) return
    this.#socket.uncork()
    this.#socket.cork()
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    const { message } = this.#host.handlers
    if (message !== undefined) {
      const value = isBinary ? (data as Buffer) : (data as Buffer).toString()
      this.#handleNext(() => message(this, value))
    }
    if (this.#waiting === null) this.#gate?.release()
  }

  /** Not left to ws, which aborts the connection if 60 pings arrive in one read. */
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

  /**
   * Waits for a handler, and for the handlers of what has arrived in the meantime: at most one read of the socket, or one message through
   * the gate.
   */
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
    this.#host.report(error, this.session.requestId)
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

/** A message for several connections. */
class SharedMessage {
  readonly bytes: Uint8Array
  readonly isBinary: boolean
  #frame: Uint8Array | null = null

  constructor(bytes: Uint8Array, isBinary: boolean) {
    this.bytes = bytes
    this.isBinary = isBinary
  }

  get frame(): Uint8Array {
    this.#frame ??= frameOf(this.bytes, this.isBinary)
    return this.#frame
  }
}

/** Encodes the message once, sends it to each connection and passes it to the relay. @internal */
export function broadcast<Args>(
  host: ConnectionHost<Args>,
  room: string | null,
  data: WebSocketData,
  except: WebSocketConnection<Args> | null,
): number {
  const bytes = messageOf(data, host.maxQueuedBytes)
  const queued = deliver(host, room, bytes, typeof data !== 'string', except)
  host.relayed?.publish(room, data)
  return queued
}

/** Sends to connections of this process. @internal */
export function deliver<Args>(
  host: ConnectionHost<Args>,
  room: string | null,
  bytes: Uint8Array,
  isBinary: boolean,
  except: WebSocketConnection<Args> | null,
): number {
  const message = new SharedMessage(bytes, isBinary)
  let queued = 0
  for (const connection of room === null ? host.connections : host.rooms.membersOf(room))
    if (connection !== except && connection.sendShared(message)) queued++
  return queued
}
