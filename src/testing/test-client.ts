// A client on one connection in memory, for tests of host programs: whole requests, raw bytes, and everything that a client may do wrong.

import { Buffer } from 'node:buffer'
import { checkNames, namesOf } from '../base/options.ts'
import type { ConnectionHost } from '../net/connections/connection-host.ts'
import type { AnswerHead } from '../net/inject/answer-reader.ts'
import type { InjectResponse } from '../net/inject/inject.ts'
import { requestOf } from '../net/inject/request-bytes.ts'
import { type HttpServer, hostOf } from '../server.ts'

import { ClientConnection, type ClientOptions, type Ending } from './client-connection.ts'
import { CookieJar } from './cookie-jar.ts'
import { TestAnswer } from './test-answer.ts'
import { type PreparedRequest, prepareRequest, type TestRequest } from './test-request.ts'

/** A request without its method and its URL. */
export type TestRequestOptions = Omit<TestRequest, 'method' | 'url'>

const OPTION_NAMES = namesOf<ClientOptions>()(['behaviour', 'clock', 'patienceMs', 'cookies'])

/**
 * A client of `server`, on a connection of its own that never leaves the process: real parser, limits and timeouts, no port. The server
 * need not be started, and `stop` does not know of the client.
 * @throws WEIR_OPTION_INVALID for an option that there is not
 */
export function connect(server: HttpServer, options: ClientOptions = {}): TestClient {
  checkNames('connect()', options, OPTION_NAMES)
  return new TestClient(hostOf(server), options)
}

export class TestClient implements AsyncDisposable {
  readonly #connection: ClientConnection
  readonly #jar: CookieJar | null
  /** The last request has been sent. */
  #sent: Promise<unknown> = Promise.resolve()
  /** The last answer has been read to its end. */
  #read: Promise<void> = Promise.resolve()

  /** @internal */
  constructor(host: ConnectionHost, options: ClientOptions) {
    this.#connection = new ClientConnection(host, options)
    this.#jar = options.cookies === true ? new CookieJar() : null
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
   * Sends a request and reads its answer. Several at once are pipelined: sent one behind the other without waiting.
   * @throws WEIR_CLIENT_GONE when the connection ends before the answer does; WEIR_TEST_WAIT when it does not come in time;
   *   WEIR_OPTION_INVALID for what no client could send; the reason of `signal`
   */
  async request(request: TestRequest | string): Promise<InjectResponse> {
    return (await this.stream(request)).whole()
  }

  /** Sends a request and resolves with the head of its answer; the body is read from it as it comes. @throws as `request` does */
  async stream(request: TestRequest | string): Promise<TestAnswer> {
    const asked: TestRequest = requestOf(request)
    const { method = 'GET', url, signal } = asked
    const goesOn = newGate<boolean>()
    const prepared = this.#sent.then(() => prepareRequest(asked, this.#jar?.header ?? null))
    const sent = prepared.then((ready) => this.#send(ready, goesOn.promise))
    this.#sent = sent.catch(() => {})
    const answer = this.#answer({ name: `${method} ${url}`, isToHead: method === 'HEAD', signal, goesOn: goesOn.open }, prepared)
    // A body of the test that fails is what the test should hear of, and not of an answer that never came.
    return Promise.race([answer, sent.then(() => answer)])
  }

  /** Sends bytes; text as latin1. Resolves when the server has read them, or never will. */
  send(data: string | Uint8Array): Promise<void> {
    const bytes = typeof data === 'string' ? Buffer.from(data, 'latin1') : Buffer.from(data)
    return this.#connection.perform({ kind: 'send', bytes })
  }

  /** The next answer, to bytes that were sent by hand. @param isToHead whether it answers HEAD, and so has no body */
  async answer(isToHead = false): Promise<InjectResponse> {
    return (await this.#answer({ name: 'bytes that were sent', isToHead, signal: undefined, goesOn() {} })).whole()
  }

  /** What comes next, as it is: for what is no HTTP any more. Waits until there is something. */
  async bytes(): Promise<Buffer> {
    const { reader } = this.#connection
    await this.#connection.until('bytes', () => reader.waiting.length > 0)
    const bytes = reader.takeAll()
    this.#connection.makeRoom()
    return bytes
  }

  /** Ends this side, behind what was sent; what the server sends is still read. */
  end(): Promise<void> {
    return this.#connection.perform({ kind: 'end' })
  }

  /** Leaves now, without a word, as a process does that ends. */
  abort(): void {
    this.#connection.leave('abort')
  }

  /** Leaves now, with a reset. */
  reset(): void {
    this.#connection.leave('reset')
  }

  /** Stops reading: what the server sends piles up there. */
  pause(): void {
    this.#connection.pause()
  }

  /** Reads on. */
  resume(): void {
    this.#connection.resume()
  }

  /** Whether the connection is over: the server has ended its side, or one of both has left. */
  get isClosed(): boolean {
    return this.#connection.hasEnded
  }

  /** Bytes that have come and were not read. */
  get unreadBytes(): number {
    return this.#connection.reader.waiting.length
  }

  /** Waits for the end of the connection, and says how it ended. What came before can still be read. */
  async closed(): Promise<Ending> {
    await this.#connection.until('the end of the connection', () => this.#connection.hasEnded)
    return this.#connection.ending
  }

  /** Leaves, unless the connection is over. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.reset()
  }

  /** @param goesOn whether the server wants the body, where that was asked */
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

  /** The head of the next answer, behind all that were asked for before. @param prepared what it answers is about to be sent */
  async #answer(asked: Asked, prepared: Promise<unknown> = Promise.resolve()): Promise<TestAnswer> {
    const connection = this.#connection
    const { name, isToHead, signal, goesOn } = asked
    const before = this.#read
    const read = newGate<void>()
    this.#read = read.promise
    try {
      await prepared
      await connection.within(`the answers before that to ${name} to be read to their ends`, before)
      const interim: number[] = []
      for (;;) {
        let head: AnswerHead | null = null
        await connection.until(`the answer to ${name}`, () => (head = connection.reader.takeHead(isToHead)) !== null, signal)
        const { status, headers } = head!
        if (status < 200 && status !== 101) {
          interim.push(status)
          if (status === 100) goesOn(true)
        } else {
          goesOn(false)
          this.#jar?.keep(headers)
          return new TestAnswer(connection, name, head!, interim, signal, read.open)
        }
      }
    } catch (error) {
      goesOn(false)
      read.open()
      throw error
    }
  }
}

/** What an answer belongs to. */
interface Asked {
  /** For errors. */
  readonly name: string
  readonly isToHead: boolean
  readonly signal: AbortSignal | undefined
  /** Told whether the server wants the body; only the first time counts. */
  goesOn(wanted: boolean): void
}

function newGate<T>(): { readonly promise: Promise<T>; readonly open: (value: T) => void } {
  let open!: (value: T) => void
  const promise = new Promise<T>((resolve) => (open = resolve))
  return { promise, open }
}
