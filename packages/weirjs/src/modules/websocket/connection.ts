// One connection of a WebSocket route, as handlers see it.
//
// Incoming messages are handled in order, one at a time: while a handler's promise is pending, nothing more is taken from what has arrived, and
// the link is not read. Once the program has ended the connection, no more messages are handled. If the client ends it, the messages that it
// sent before are handled first. Outgoing messages wait for the client up to a limit; a client that exceeds it is closed.

import { Buffer } from 'node:buffer'

import { isPromise } from '../../base/is-promise.ts'
import { networkOf } from '../../formats/client-network.ts'
import type { ByteLink } from '../../http/response/byte-link.ts'
import type { HttpSession } from '../../http/session.ts'
import { workTurns } from '../../http/work-turns.ts'
import { FAULT, type WireWebSocket } from '../../wire/websocket/connection.ts'
import * as frames from '../../wire/websocket/frame-types.ts'
import { closePayload } from '../../wire/websocket/frame-writer.ts'

import { checkClose, lengthOf, pingOf, type WebSocketData } from './data.ts'
import { inflatedMessage, type PerMessageDeflate } from './deflate.ts'
import { beginHandling, countMessage, spendTime } from './handling-time.ts'
import type { Negotiated } from './handshake.ts'
import type { RelayedRooms } from './relayed-rooms.ts'
import type { Rooms } from './rooms.ts'
import { SendQueue } from './send-queue.ts'
import type { SharedMessage } from './shared-message.ts'
import { ASK, Silence, TOO_LONG } from './silence.ts'

/**
 * The handlers of a connection. Each may return a promise. If one throws or rejects, the connection is closed with 1011 and the error is
 * logged.
 */
export interface WebSocketHandlers<Args, In = WebSocketData, Out = WebSocketData> {
  /** The connection has been established. Messages wait until this handler has settled. */
  open?(socket: WebSocketConnection<Args, Out>): unknown
  /** A message has arrived. The next one waits until this handler has settled. Not called after `close()`, `terminate()` or a handler that failed. */
  message?(socket: WebSocketConnection<Args, Out>, data: In): unknown
  /** The client has answered a ping. `data` is the data of the ping, empty for pings that `pingInterval` sends. Called in order with messages. */
  pong?(socket: WebSocketConnection<Args, Out>, data: Uint8Array): unknown
  /**
   * The connection has ended. Always the last call, after all running handlers have settled.
   *
   * @param code RFC 6455 §7.4; 1005 if the client sent none, 1006 if the connection ended without a closing handshake
   */
  close?(socket: WebSocketConnection<Args, Out>, code: number, reason: string): unknown
}

/** What all connections of a route share. @internal */
export interface ConnectionHost<Args, Out = WebSocketData> {
  readonly maxMessageSize: number
  readonly maxQueuedSize: number
  /** Null: no pings. */
  readonly pingInterval: number | null
  /** Makes a message from a value of the program. Absent: texts and bytes are sent unchanged. */
  readonly encode?: ((value: Out) => WebSocketData) | undefined
  readonly handlers: WebSocketHandlers<Args, WebSocketData, Out>
  readonly connections: Set<WebSocketConnection<Args, Out>>
  readonly rooms: Rooms<WebSocketConnection<Args, Out>>
  /** Null: broadcasts stay in this process. */
  readonly relayed: RelayedRooms | null
  /** Sends to all others in a room, or on the route. @returns to how many */
  broadcastFrom(sender: WebSocketConnection<Args, Out>, room: string | null, data: Out): number
  report(error: unknown, requestId: string): void
  forget(connection: WebSocketConnection<Args, Out>): void
}

/** If messages are compressed, shorter ones are not. */
const COMPRESSION_THRESHOLD_BYTES = 1024
/** How many messages and control frames are handled before others come first: one read may have 40,000. One that is inflated counts as many. */
const EVENTS_PER_TURN = 1024
/** How long a client may take to answer a close, or to read what was sent before it. */
const CLOSE_TIMEOUT_MS = 10_000
const { FIN, TEXT, BINARY, COMPRESSED } = frames

export class WebSocketConnection<Args = unknown, Out = WebSocketData> {
  readonly #host: ConnectionHost<Args, Out>
  readonly #link: ByteLink
  readonly #wire: WireWebSocket
  readonly #sending: SendQueue
  readonly #deflate: PerMessageDeflate | null
  /** The negotiated subprotocol; empty if there is none. */
  readonly protocol: string
  /** The parameters of the path and of the query, bound as declared. */
  readonly args: Args
  /** The exchange in which the connection began, with the principal, the header fields and the bag. Body members have expired. */
  readonly session: HttpSession
  readonly #watcher: Negotiated['watcher']
  #rooms: Set<string> | null = null
  /** A handler's promise is pending. */
  #isHandling = false
  /** What has arrived is being read. */
  #isReading = false
  /** The rest of what has arrived waits for the next turn of the event loop. */
  #isResting = false
  /** How many events are handled before others come first, also if their handlers are async. */
  #eventsLeft = EVENTS_PER_TURN
  /** Whether the program has ended the connection. What still arrives is ignored. */
  #isEnded = false
  /** The client has ended its side, or the link is gone. */
  #hasLeft = false
  /** The link is gone. */
  #isGone = false
  /** `close` has been called. */
  #isOver = false
  /** How the connection ends. */
  #code: number = frames.ABNORMAL
  #reason = ''
  #closeTimer: NodeJS.Timeout | null = null
  /** Null until the first heartbeat. */
  #silence: Silence | null = null

  /** @internal */
  constructor(
    host: ConnectionHost<Args, Out>,
    link: ByteLink,
    wire: WireWebSocket,
    { protocol, deflate, watcher }: Negotiated,
    args: Args,
    session: HttpSession,
  ) {
    this.#host = host
    this.#link = link
    this.#wire = wire
    this.#sending = new SendQueue(link, host.maxQueuedSize)
    this.#deflate = deflate
    this.protocol = protocol
    this.args = args
    this.session = session
    this.#watcher = watcher
  }

  /** Whether messages can be sent. */
  get isOpen(): boolean {
    return this.#wire.isOpen && !this.#hasLeft
  }

  /** Bytes that wait for the client, in addition to up to 64 KiB that the socket has accepted. */
  get bufferedBytes(): number {
    return this.#sending.waitingBytes
  }

  /** The rooms that this connection is in. */
  get rooms(): readonly string[] {
    return [...(this.#rooms ?? [])]
  }

  /**
   * Sends a string as text, bytes as a binary message, or on a route with `sends` a value as JSON. The bytes must not change until they are sent. Never waits. If more
   * than `maxQueuedSize` would wait for the client, the connection is closed with 1013.
   *
   * @returns whether the message was queued
   * @throws LimitError for a message larger than `maxQueuedSize`
   */
  send(value: Out): boolean {
    const data = (this.#host.encode?.(value) ?? value) as WebSocketData
    const length = lengthOf(data, this.#host.maxQueuedSize)
    if (!this.#mayQueue(length)) return false
    this.#watcher?.(data, false)
    const isText = typeof data === 'string'
    const first = FIN | (isText ? TEXT : BINARY)
    if (this.#deflate !== null && length >= COMPRESSION_THRESHOLD_BYTES)
      this.#sending.send(first | COMPRESSED, this.#deflate.deflate(isText ? Buffer.from(data) : data))
    else if (isText) this.#sending.sendText(first, data, length)
    else this.#sending.send(first, data)
    return true
  }

  /** @internal Sends a message that others get as well. */
  sendShared(message: SharedMessage): boolean {
    const { length } = message.bytes
    if (!this.#mayQueue(length)) return false
    this.#watcher?.(message.isBinary ? message.bytes : message.bytes.toString(), false)
    const deflate = length >= COMPRESSION_THRESHOLD_BYTES ? this.#deflate : null
    this.#sending.sendShared(deflate === null ? message.frame : message.deflatedFrame(deflate.sendBits))
    deflate?.sentShared(message.bytes)
    return true
  }

  /**
   * Sends a ping. When the client answers with the same data, `pong` is called. The client may skip a ping if a later one came.
   *
   * @param data up to 125 bytes
   * @returns whether the ping was queued, as for `send`
   * @throws LimitError for more data
   */
  ping(data: WebSocketData = ''): boolean {
    return this.#sendControl(frames.PING, pingOf(data))
  }

  /** Resolves when everything that was queued so far has been passed to the system, or the connection has ended. */
  drained(): Promise<void> {
    return this.#sending.drained()
  }

  /**
   * Sends to all others in a room, or to all others on the route if the room is null. With a relay, clients of other processes get it, too.
   *
   * @returns the number of clients of this process for which the message was queued
   * @throws LimitError as for `send`
   */
  broadcast(room: string | null, data: Out): number {
    return this.#host.broadcastFrom(this, room, data)
  }

  /** Joins a room. The connection leaves all rooms when it ends. */
  join(room: string): this {
    if (this.#isGone) return this
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
  close(code = frames.NORMAL, reason = ''): void {
    checkClose(code, reason)
    this.#sendClose(code, reason)
    this.#isEnded = true
  }

  /** Aborts the connection. */
  terminate(): void {
    this.#isEnded = true
    this.#wire.abort()
    if (this.#isGone) return
    this.#sending.flush()
    this.#link.destroy()
  }

  /** @internal */
  stop(): void {
    this.close(frames.GOING_AWAY, 'the server is stopping')
  }

  /** @internal Begins to handle messages. To be called once the host knows the connection. @param head what has arrived already */
  open(head: Buffer): void {
    this.#wire.receive(head, 0, head.length)
    this.#call((socket) => this.#host.handlers.open?.(socket), undefined)
    if (this.#isGone) return
    this.#read()
    this.#link.resume()
  }

  /** @internal Pings a client that has been silent, and aborts one that has not answered for as long again. */
  onHeartbeat(now: number): void {
    this.#silence ??= new Silence(this.#host.pingInterval!)
    // While a handler is running, the link is not read.
    const verdict = this.#silence.check(this.#link, now, this.#isHandling)
    if (verdict === TOO_LONG) this.terminate()
    else if (verdict === ASK && this.isOpen) this.#sending.send(FIN | frames.PING, pingOf(''))
  }

  // What happens on the link.

  /** @internal */
  onBytes(buffer: Buffer, start: number, end: number): void {
    this.#wire.receive(buffer, start, end)
    if (!this.#isHandling && !this.#isResting && !this.#isReading) this.#read()
    else {
      this.#wire.hold()
      if (!this.#link.isPaused) this.#link.pause()
    }
  }

  /** @internal A close frame of the client may wait to be read, and is to be answered. */
  onEnd(): void {
    this.#hasLeft = true
    this.#closeTimer ??= setTimeout(() => this.#link.destroy(), CLOSE_TIMEOUT_MS).unref()
    if (!this.#isHandling && !this.#isResting && !this.#isReading) this.#sending.end()
  }

  /** @internal */
  onRoom(): void {
    this.#sending.onRoom()
  }

  /** @internal */
  onClose(): void {
    if (this.#isGone) return
    this.#isGone = this.#hasLeft = true
    if (this.#closeTimer !== null) clearTimeout(this.#closeTimer)
    this.#host.forget(this)
    this.#sending.close()
    for (const room of this.#rooms ?? []) this.#host.rooms.leave(room, this)
    this.#rooms = null
    this.#finish()
  }

  /** Calls `close` once everything that has arrived is handled. */
  #finish(): void {
    if (this.#isOver || this.#isHandling || this.#isResting || this.#isReading) return
    if (this.#wire.waitingBytes > 0) this.#read()
    else {
      this.#isOver = true
      this.#wire.abort()
      this.#call((socket) => this.#host.handlers.close?.(socket, this.#code, this.#reason), undefined)
    }
  }

  // What has arrived.

  /** Handles it until a handler takes longer, or others have waited for long enough. */
  #read(): void {
    const wire = this.#wire
    this.#isReading = true
    beginHandling()
    this.#sending.beginGathering()
    try {
      for (; !this.#isHandling; this.#eventsLeft--) {
        if (this.#eventsLeft <= 0 || workTurns.isOver) {
          this.#rest()
          break
        }
        const event = wire.next()
        if (event < 0 && event !== FAULT) break
        this.#take(event)
        countMessage()
      }
    } finally {
      spendTime()
      // A logger may throw.
      this.#sending.endGathering()
      this.#isReading = false
    }
    wire.hold()
    if (this.#isGone) this.#finish()
    else if (this.#hasLeft && !this.#isHandling && !this.#isResting) this.#sending.end()
    else if (!this.#isHandling && !this.#isResting && this.#link.isPaused) this.#link.resume()
  }

  #rest(): void {
    this.#isResting = true
    this.#eventsLeft = EVENTS_PER_TURN
    const goOn = (): void => {
      this.#isResting = false
      if (!this.#isHandling) this.#read()
    }
    if (this.#deflate === null && !workTurns.isOver) setImmediate(goOn)
    else workTurns.wait(networkOf(this.session.clientAddress), goOn)
  }

  #take(event: number): void {
    const wire = this.#wire
    switch (event) {
      case TEXT:
      case BINARY:
        if (this.#isEnded) return
        if (wire.isCompressed) this.#takeCompressed(wire.payload, event === TEXT)
        else this.#onMessage(event === TEXT ? wire.text : wire.payload, false)
        return
      case frames.PING:
        this.#sendControl(frames.PONG, wire.payload)
        return
      case frames.PONG:
        if (this.#host.handlers.pong !== undefined && !this.#isEnded) this.#call(this.#host.handlers.pong, wire.payload)
        return
      case frames.CLOSE:
        this.#code = wire.code
        this.#reason = wire.text
        this.#sendClose(wire.code, wire.text)
        this.#sending.end()
        return
      default:
        this.#refuse(wire.code)
    }
  }

  #takeCompressed(payload: Buffer, isText: boolean): void {
    const inflated = inflatedMessage(this.#deflate!, payload, isText, this.#host.maxMessageSize)
    this.#eventsLeft -= this.#deflate!.work
    if (inflated.code === 0) this.#onMessage(inflated.data, true)
    else {
      this.#wire.drop()
      this.#refuse(inflated.code)
    }
  }

  #onMessage(data: WebSocketData, isCountedAsWork: boolean): void {
    if (!isCountedAsWork) workTurns.spend(data.length / 1024)
    this.#watcher?.(data, true)
    const { message } = this.#host.handlers
    if (message !== undefined) this.#call(message, data)
  }

  #call<Data>(handler: (socket: this, data: Data) => unknown, data: Data): void {
    try {
      const result = handler(this, data)
      if (isPromise(result)) void this.#handleLater(result)
    } catch (error) {
      this.#fail(error)
    }
  }

  async #handleLater(result: Promise<unknown>): Promise<void> {
    this.#isHandling = true
    try {
      await result
    } catch (error) {
      this.#fail(error)
    }
    this.#isHandling = false
    if (this.#isOver) return
    if (this.#isEnded && this.#isGone) this.#finish()
    else if (!this.#isResting && !this.#isReading) this.#read()
  }

  // The end.

  #fail(error: unknown): void {
    this.#host.report(error, this.session.requestId)
    this.close(frames.INTERNAL_ERROR, 'a handler failed')
  }

  /** The client has broken a rule. */
  #refuse(code: number): void {
    this.#sendClose(code, '')
    this.#isEnded = true
    this.#sending.end()
  }

  #sendClose(code: number, reason: string): void {
    if (!this.#wire.beginClose() || this.#sending.isOver) return
    this.#sending.send(FIN | frames.CLOSE, closePayload(code, reason))
    this.#closeTimer ??= setTimeout(() => this.terminate(), CLOSE_TIMEOUT_MS).unref()
  }

  #sendControl(opcode: number, payload: Uint8Array): boolean {
    if (!this.#mayQueue(payload.length)) return false
    this.#sending.send(FIN | opcode, payload)
    return true
  }

  #mayQueue(length: number): boolean {
    if (!this.isOpen) return false
    if (this.#sending.hasRoom(length)) return true
    this.close(frames.TRY_LATER, 'messages are read too slowly')
    return false
  }
}
