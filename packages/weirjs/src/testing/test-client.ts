// A client with one connection in memory, for tests of host programs. It sends complete requests or raw bytes, and can misbehave in every
// way that a client can.

import { Buffer } from 'node:buffer'
import { shown } from '../base/kind-of.ts'
import { invalid } from '../base/options.ts'
import type { ConnectionHost } from '../net/connections/connection-host.ts'
import type { InjectResponse } from '../net/inject/inject.ts'
import { fieldsOf, requestOf } from '../net/inject/request-bytes.ts'
import type { ResponseHead } from '../net/inject/response-reader.ts'
import { WatchedServer, watchedHostOf } from '../net/inject/watched-server.ts'
import { HttpServer, hostOf } from '../server.ts'

import { ClientConnection, type ClientOptions, type Ending } from './client-connection.ts'
import { CookieJar } from './cookie-jar.ts'
import { TestAnswer } from './test-answer.ts'
import { type PreparedRequest, prepareRequest, type TestRequest } from './test-request.ts'
import { HANDSHAKE, TEST_WEB_SOCKET_RULES, TestWebSocket, type TestWebSocketOptions, WebSocketRefused } from './test-websocket.ts'

/** Who a client is: a principal of `weirjs/auth`, of which only the id is required. */
export interface TestPrincipal {
  readonly id: string
  readonly name?: string | null
  readonly roles?: readonly string[]
  readonly scopes?: readonly string[]
  readonly claims?: object
  /** The name of a scheme of `auth`. Default: the first one that the route accepts. */
  readonly scheme?: string
}

/** A request without its method and its URL. */
type TestRequestOptions = Omit<TestRequest, 'method' | 'url'>

/**
 * Creates a client of `server` with its own connection, in memory: the real parser, limits and timeouts, but no port. The server does not
 * have to be started, and `stop` does not know about the client.
 *
 * @throws WEIR_OPTION_INVALID for an option that does not exist
 */
export function connect(server: HttpServer | WatchedServer, options: ClientOptions = {}): TestClient {
  if (!(server instanceof HttpServer || server instanceof WatchedServer))
    throw invalid('connect()', `${shown(server)} is not an HttpServer: pass the server itself, which needs no port`)
  return new TestClient(server instanceof WatchedServer ? watchedHostOf(server) : hostOf(server), options)
}

export class TestClient implements AsyncDisposable {
  readonly #host: ConnectionHost
  readonly #options: ClientOptions
  readonly #connection: ClientConnection
  readonly #jar: CookieJar | null
  readonly #webSockets: TestWebSocket[] = []
  /** The principal of this client, and the clients that it has created. */
  readonly #principal: object | null
  readonly #others: TestClient[] = []
  /** Resolves when the last request has been sent. */
  #sent: Promise<unknown> = Promise.resolve()
  /** Resolves when the last response has been read to its end. */
  #last: { readonly name: string; readonly read: Promise<void> } = { name: '', read: Promise.resolve() }

  /** @internal */
  constructor(
    host: ConnectionHost,
    options: ClientOptions,
    jar: CookieJar | null = options.cookies === true ? new CookieJar() : null,
    principal: object | null = null,
  ) {
    this.#host = host
    this.#options = options
    this.#connection = new ClientConnection(host, options, principal)
    this.#jar = jar
    this.#principal = principal
  }

  /**
   * Returns a client with the options of this one and a connection of its own, whose requests come from `principal`: gates of `weirjs/auth` see it
   * as authenticated without asking a scheme, and decide by its roles and scopes as usual. Missing members are empty; `scheme` is the first one
   * that the route accepts. Without `weirjs/auth`, it is the `session.principal` that the program begins with. The new client ends with this one.
   * No client on a network can do this.
   *
   * @throws WEIR_OPTION_INVALID for a principal without an id
   */
  as(principal: TestPrincipal): TestClient {
    if (typeof principal?.id !== 'string' || principal.id === '')
      throw invalid('as()', `the principal is ${shown(principal)}, not an object with an id`)
    const client = new TestClient(this.#host, this.#options, undefined, Object.freeze({ ...principal }))
    this.#others.push(client)
    return client
  }

  get(url: string, request: TestRequestOptions = {}): Promise<InjectResponse> {
    return this.request({ ...request, method: 'GET', url })
  }

  post(url: string, request: TestRequestOptions = {}): Promise<InjectResponse> {
    return this.request({ ...request, method: 'POST', url })
  }

  put(url: string, request: TestRequestOptions = {}): Promise<InjectResponse> {
    return this.request({ ...request, method: 'PUT', url })
  }

  patch(url: string, request: TestRequestOptions = {}): Promise<InjectResponse> {
    return this.request({ ...request, method: 'PATCH', url })
  }

  delete(url: string, request: TestRequestOptions = {}): Promise<InjectResponse> {
    return this.request({ ...request, method: 'DELETE', url })
  }

  /**
   * Sends a request and reads its response. A string is a GET of that URL. Requests that start without waiting for earlier responses are
   * pipelined. When it resolves, observers have been told about the request.
   *
   * @throws WEIR_CLIENT_GONE if the connection ends before the response is complete; WEIR_TEST_WAIT if the response takes too long;
   *   WEIR_OPTION_INVALID for a request that no client could send; the reason of `signal`
   */
  async request(request: TestRequest | string): Promise<InjectResponse> {
    return (await this.stream(request)).whole()
  }

  /**
   * Sends a request and resolves with its response as soon as the head has arrived. The body is read from it.
   *
   * @throws the same errors as `request`
   */
  async stream(request: TestRequest | string): Promise<TestAnswer> {
    const asked: TestRequest = requestOf(request)
    const { method = 'GET', url, signal } = asked
    const goesOn = newGate<boolean>()
    const prepared = this.#sent.then(() => prepareRequest(asked, this.#jar?.header ?? null))
    const sent = prepared.then((ready) => this.#send(ready, goesOn.promise))
    this.#sent = sent.catch(() => {})
    const response = this.#answer({ name: `${method} ${url}`, isToHead: method === 'HEAD', signal, goesOn: goesOn.open }, prepared)
    // If the body of the test fails, the test should get that error, and not an error about a response that never arrived.
    return Promise.race([response, sent.then(() => response)])
  }

  /**
   * Opens a WebSocket on a connection of its own, as a browser does: with the options and the cookies of this client. Messages are not compressed.
   *
   * @param path with its query
   * @throws WebSocketRefused (WEIR_TEST_REFUSED) if the server answers anything but 101; the same errors as `request`
   */
  async webSocket(path: string, options: TestWebSocketOptions = {}): Promise<TestWebSocket> {
    const { headers, protocols, signal } = TEST_WEB_SOCKET_RULES.read(options)
    const fields = [...HANDSHAKE, ...fieldsOf(headers)]
    if (protocols.length > 0) fields.push(['Sec-WebSocket-Protocol', protocols.join(', ')])
    const client = new TestClient(this.#host, this.#options, this.#jar, this.#principal)
    try {
      const response = await client.stream({ url: path, headers: fields, ...(signal !== undefined && { signal }) })
      if (response.status !== 101) throw new WebSocketRefused(path, await response.whole())
      const webSocket = new TestWebSocket(client.#connection, path, response)
      this.#webSockets.push(webSocket)
      return webSocket
    } catch (error) {
      client.reset()
      throw error
    }
  }

  /** Sends bytes, or text as latin1. Resolves when the server has read them, or never will. */
  send(data: string | Uint8Array): Promise<void> {
    const bytes = typeof data === 'string' ? Buffer.from(data, 'latin1') : Buffer.from(data)
    return this.#connection.perform({ kind: 'send', bytes })
  }

  /** The next response to what `send` has sent. @param isToHead whether it answers a HEAD, and so has no body */
  async answer(isToHead = false): Promise<InjectResponse> {
    return (await this.receive(isToHead)).whole()
  }

  /** The same as soon as its head has arrived. The body is read from it. */
  receive(isToHead = false): Promise<TestAnswer> {
    return this.#answer({ name: 'the bytes that were sent', isToHead, signal: undefined, goesOn() {} })
  }

  /** The bytes that arrive next, for data that is no longer HTTP. Waits until there are some. */
  async bytes(): Promise<Buffer> {
    const { reader } = this.#connection
    await this.#connection.until('bytes', () => reader.waiting.length > 0)
    const bytes = reader.takeAll()
    this.#connection.makeRoom()
    return bytes
  }

  /** Ends the client's side after what it has sent. The client continues to read. */
  end(): Promise<void> {
    return this.#connection.perform({ kind: 'end' })
  }

  /** Leaves immediately without a reset, like a process that exits. */
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

  /** Whether the connection is over: the server has ended its side, or either side has left. */
  get isClosed(): boolean {
    return this.#connection.hasEnded
  }

  /** The number of bytes that have arrived and have not been read. */
  get unreadBytes(): number {
    return this.#connection.reader.waiting.length
  }

  /** Waits for the end of the connection and returns how it ended. What arrived before can still be read. */
  async closed(): Promise<Ending> {
    await this.#connection.until('the end of the connection', () => this.#connection.hasEnded)
    return this.#connection.ending
  }

  /** Leaves with a reset, unless the connection is over, its WebSockets too. Observers have been told then. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.reset()
    for (const one of this.#webSockets) one.reset()
    for (const one of this.#others) await one[Symbol.asyncDispose]()
    await this.#connection.observed()
  }

  /** @param goesOn whether the server accepts the body, if the request expects `100 Continue` */
  async #send({ head, body, pieces, expectsContinue }: PreparedRequest, goesOn: Promise<boolean>): Promise<void> {
    if (!expectsContinue && pieces === null) return this.send(Buffer.concat([head, body]))
    await this.send(head)
    if (expectsContinue && !(await goesOn)) return
    if (pieces === null) return this.send(body)
    try {
      for await (const piece of pieces) {
        if (this.isClosed) return
        await this.send(piece)
      }
    } catch (error) {
      this.#connection.leave('reset', error as Error)
      throw error
    }
  }

  /** The head of the next response, after those to all earlier requests. @param prepared settles when the request is about to be sent */
  async #answer(asked: Asked, prepared: Promise<unknown> = Promise.resolve()): Promise<TestAnswer> {
    const connection = this.#connection
    const { name, isToHead, signal, goesOn } = asked
    const before = this.#last
    const read = newGate<void>()
    this.#last = { name, read: read.promise }
    let isSent = false
    let isNext = false
    try {
      await prepared
      isSent = true
      await connection.within(
        `the end of the response to ${before.name}, after which the response to ${name} comes on the same connection: read it to its end or, beside a stream, use another client`,
        before.read,
      )
      isNext = true
      const interim: ResponseHead[] = []
      for (;;) {
        let head: ResponseHead | null = null
        await connection.until(`the response to ${name}`, () => (head = connection.reader.takeHead(isToHead)) !== null, signal)
        const { status, headers } = head!
        if (status < 200 && status !== 101) {
          interim.push(head!)
          if (status === 100) goesOn(true)
        } else {
          goesOn(false)
          this.#jar?.keep(headers)
          return new TestAnswer(connection, name, head!, interim, signal, read.open)
        }
      }
    } catch (error) {
      goesOn(false)
      // Until its turn has come, the bytes that arrive are not for it, and not for a later request either.
      if (isNext) read.open()
      else if (!isSent) void before.read.then(() => read.open())
      throw error
    }
  }
}

/** The request that a response belongs to. */
interface Asked {
  /** For errors. */
  readonly name: string
  readonly isToHead: boolean
  readonly signal: AbortSignal | undefined
  /** Called with whether the server accepts the body. Only the first call counts. */
  goesOn(wanted: boolean): void
}

function newGate<T>(): { readonly promise: Promise<T>; readonly open: (value: T) => void } {
  let open!: (value: T) => void
  const promise = new Promise<T>((resolve) => (open = resolve))
  return { promise, open }
}
