// A WebSocket of a test client, which behaves well: it answers pings and closes immediately. Messages of the server wait until the test takes them.

import { Buffer } from 'node:buffer'
import { WeirError } from '../base/errors.ts'
import { anything, list } from '../base/option-kinds.ts'
import { rules } from '../base/option-rules.ts'
import type { InjectResponse } from '../net/inject/inject.ts'
import type { InjectRequest } from '../net/inject/request-bytes.ts'
import type { ResponseHead } from '../net/inject/response-reader.ts'
import * as frames from '../wire/websocket/frame-types.ts'
import { closePayload } from '../wire/websocket/frame-writer.ts'

import type { ClientConnection } from './client-connection.ts'
import { maskedFrame, ServerFrames } from './server-frames.ts'

export interface TestWebSocketOptions {
  /** Header fields of the handshake, in addition to its own. */
  readonly headers?: InjectRequest['headers']
  /** The subprotocols to offer, the preferred one first. */
  readonly protocols?: readonly string[]
  /** Ends the wait for the response. */
  readonly signal?: AbortSignal
}

/** @internal */
export const TEST_WEB_SOCKET_RULES = rules<TestWebSocketOptions>('webSocket()')({
  headers: anything().or([], 'none'),
  protocols: list<string>().or([]),
  signal: anything().optional(),
})

/** How a WebSocket was closed. */
export interface TestWebSocketEnd {
  /** 1005 if the server sent none, 1006 if the connection ended without a closing handshake. */
  readonly code: number
  readonly reason: string
}

/** The server has not accepted a WebSocket. */
export class WebSocketRefused extends WeirError {
  override readonly name = 'WebSocketRefused'
  readonly response: InjectResponse
  /** The problem in its body; null if it is not one. */
  readonly problem: { readonly [member: string]: unknown } | null

  constructor(path: string, response: InjectResponse) {
    const isProblem = /^application\/problem\+json\b/.test(response.headers.get('content-type') ?? '')
    const problem = isProblem ? (response.json() as { readonly code?: string; readonly detail?: string }) : null
    const why = problem === null ? '' : `: ${[problem.code, problem.detail].filter(Boolean).join(', ')}`
    super('WEIR_TEST_REFUSED', `${path} was answered with ${response.status}${why}`)
    this.response = response
    this.problem = problem
  }
}

/** The key that a client sends and the response that it expects: the example of RFC 6455 §1.3, the same in every run. */
export const HANDSHAKE: readonly (readonly [string, string])[] = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
  ['Sec-WebSocket-Version', '13'],
]
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='
/** After so many bytes that the test has not taken, the server has to wait. */
const WINDOW_BYTES = 64 * 1024

export class TestWebSocket implements AsyncIterable<string | Buffer>, AsyncDisposable {
  readonly #connection: ClientConnection
  readonly #path: string
  readonly #frames = new ServerFrames()
  readonly #messages: (string | Buffer)[] = []
  #unreadBytes = 0
  #pongs: Buffer[] = []
  #isReading = false
  #hasSentClose = false
  #end: TestWebSocketEnd | null = null
  /** The error for a frame that no server may send. */
  #failure: Error | null = null
  /** The header fields of the response that accepted it. */
  readonly headers: Headers

  /** @internal */
  constructor(connection: ClientConnection, path: string, { headers }: ResponseHead) {
    if (headers.get('sec-websocket-accept') !== ACCEPT) throw new Error(`the response to ${path} does not accept the key`)
    this.#connection = connection
    this.#path = path
    this.headers = headers
    connection.watch(() => this.#read())
  }

  /** The subprotocol that the server has chosen; empty if there is none. */
  get protocol(): string {
    return this.headers.get('sec-websocket-protocol') ?? ''
  }

  /** Whether messages can be sent. */
  get isOpen(): boolean {
    return !this.#hasSentClose && this.#end === null && !this.#connection.hasEnded
  }

  /** The number of messages that have arrived and have not been taken. */
  get unread(): number {
    return this.#messages.length
  }

  /**
   * Sends a string as a text message, bytes as a binary message, and anything else as JSON. Resolves when the server has read it, or never will.
   *
   * @throws WEIR_CLIENT_GONE if it is closed
   */
  async send(data: unknown): Promise<void> {
    if (!this.isOpen) throw this.#gone('send a message')
    if (data instanceof Uint8Array) return this.#send(frames.BINARY, data)
    const text = typeof data === 'string' ? data : JSON.stringify(data)
    if (text === undefined) throw new TypeError(`a ${typeof data} is not a message`)
    return this.#send(frames.TEXT, Buffer.from(text))
  }

  /**
   * The next message: text as a string, a binary message as bytes.
   *
   * @throws WEIR_TEST_WAIT if it takes too long; WEIR_CLIENT_GONE if it is closed before
   */
  async next(): Promise<string | Buffer> {
    const message = await this.#nextOrEnd()
    if (message === null) throw this.#gone('receive a message')
    return message
  }

  /** The next message, parsed as JSON. @throws the same errors as `next`, and SyntaxError */
  async json(): Promise<unknown> {
    return JSON.parse(String(await this.next()))
  }

  /**
   * Sends a ping, and resolves when the server has answered it with the same data.
   *
   * @param data up to 125 bytes
   * @throws the same errors as `next`
   */
  async ping(data: string | Uint8Array = ''): Promise<void> {
    if (!this.isOpen) throw this.#gone('send a ping')
    const bytes = Buffer.from(data as string)
    if (bytes.length > frames.MOST_CONTROL_BYTES) throw new RangeError(`a ping has at most ${frames.MOST_CONTROL_BYTES} bytes`)
    this.#pongs = []
    void this.#send(frames.PING, bytes)
    const isAnswered = (): boolean => this.#pongs.some((pong) => pong.equals(bytes))
    await this.#until('a pong', () => isAnswered() || this.#end !== null)
    if (!isAnswered()) throw this.#gone('receive a pong')
  }

  /**
   * Closes it, and resolves with how it was closed.
   *
   * @throws WEIR_TEST_WAIT if the server does not answer
   */
  async close(code = frames.NORMAL, reason = ''): Promise<TestWebSocketEnd> {
    if (this.isOpen) this.#sendClose(code, reason)
    return this.closed()
  }

  /** Waits until it is closed and the connection has ended. What arrived before can still be taken. @throws WEIR_TEST_WAIT */
  async closed(): Promise<TestWebSocketEnd> {
    const connection = this.#connection
    await this.#until('the end of the WebSocket', () => this.#end !== null && connection.hasEnded)
    await connection.observed()
    return this.#end!
  }

  /** Leaves immediately without a close and without a reset, like a process that exits. */
  abort(): void {
    this.#connection.leave('abort')
  }

  /** Leaves immediately, with a reset. */
  reset(): void {
    this.#connection.leave('reset')
  }

  /** Stops reading, so that the server has to wait. */
  pause(): void {
    this.#connection.pause()
  }

  /** Continues to read. */
  resume(): void {
    this.#connection.resume()
  }

  /** The messages, until it is closed. @throws WEIR_TEST_WAIT */
  async *[Symbol.asyncIterator](): AsyncGenerator<string | Buffer, void, undefined> {
    for (let message = await this.#nextOrEnd(); message !== null; message = await this.#nextOrEnd()) yield message
  }

  /** Leaves with a reset, unless the connection is over. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.reset()
    await this.#connection.observed()
  }

  /** Null: it is closed, and no message is left. */
  async #nextOrEnd(): Promise<string | Buffer | null> {
    await this.#until('a message', () => this.#messages.length > 0 || this.#end !== null)
    const message = this.#messages.shift()
    if (message === undefined) return null
    this.#unreadBytes -= message.length
    this.#read()
    return message
  }

  async #until(what: string, condition: () => boolean): Promise<void> {
    await this.#connection.until(`${what} of the WebSocket ${this.#path}`, () => {
      if (this.#failure !== null) throw this.#failure
      return condition()
    })
  }

  #gone(what: string): WeirError {
    const { code, reason } = this.#end ?? { code: null, reason: '' }
    const how = code === null ? 'it is being closed' : `it was closed with ${code}${reason === '' ? '' : ` (${reason})`}`
    return new WeirError('WEIR_CLIENT_GONE', `the WebSocket ${this.#path} cannot ${what}: ${how}`)
  }

  #send(opcode: number, payload: Uint8Array): Promise<void> {
    return this.#connection.perform({ kind: 'send', bytes: maskedFrame(opcode, payload) })
  }

  #sendClose(code: number, reason: string): void {
    this.#hasSentClose = true
    void this.#send(frames.CLOSE, closePayload(code, reason))
  }

  /** Takes what has arrived. Called whenever something has happened; what it does itself may make more happen. */
  #read(): void {
    if (this.#isReading) return
    this.#isReading = true
    const { reader } = this.#connection
    try {
      while (this.#failure === null && reader.waiting.length > 0 && this.#unreadBytes < WINDOW_BYTES) {
        this.#frames.push(reader.takeAll())
        for (let frame = this.#frames.next(); frame !== null; frame = this.#frames.next()) this.#take(frame.opcode, frame.payload)
        this.#connection.makeRoom()
      }
    } catch (error) {
      this.#failure = error as Error
    }
    this.#isReading = false
    if (this.#connection.hasEnded && reader.waiting.length === 0) this.#end ??= { code: frames.ABNORMAL, reason: '' }
  }

  #take(opcode: number, payload: Buffer): void {
    if (this.#end !== null) throw new Error('the server has sent something after its close')
    if (opcode === frames.PONG) this.#pongs.push(payload)
    else if (opcode === frames.PING) void this.#send(frames.PONG, payload)
    else if (opcode === frames.CLOSE) {
      const code = payload.length < 2 ? frames.NO_STATUS : payload.readUInt16BE(0)
      this.#end = { code, reason: payload.toString('utf8', 2) }
      if (!this.#hasSentClose) this.#sendClose(code, '')
    } else {
      this.#messages.push(opcode === frames.TEXT ? payload.toString() : payload)
      this.#unreadBytes += this.#messages.at(-1)!.length
    }
  }
}
