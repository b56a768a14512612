// One run of chaos: the clients of a plan, what they receive, and what is still open after they have left.

import { setImmediate as settled, setTimeout as sleep } from 'node:timers/promises'

import { type HttpServer, type InjectRequest, type InjectResponse, WeirError } from 'weirjs'
import { dev, isInstance } from 'weirjs/kit'
import {
  connect,
  type Ending,
  stallAt,
  type TestAnswer,
  type TestClient,
  TestClock,
  type TestWebSocket,
  type TestWebSocketEnd,
  type WebSocketRefused,
} from 'weirjs/testing'

import type { Accidents } from './accidents.ts'
import { type ClientPlan, planRun } from './chaos-plan.ts'
import { ChaosWatch } from './chaos-watch.ts'
import { SeededRandom } from './seeded-random.ts'

export interface ChaosRequest extends Omit<InjectRequest, 'signal'> {
  /** Whether its response never ends, as with events. Its clients leave at some point. Default false. */
  readonly endless?: boolean
  /**
   * Opens a WebSocket, on a connection of its own, sends these messages and closes it: strings as text, bytes as binary messages, anything else
   * as JSON. The server has to answer the close. Default: it is a request.
   */
  readonly messages?: readonly unknown[]
}

/** What all runs of one chaos share. */
export interface Trial {
  readonly server: HttpServer
  /** How long the server waits for a client that has ended its side. */
  readonly lingerMs: number
  readonly requests: readonly ChaosRequest[]
  /** The size of each request in bytes. */
  readonly sizes: readonly number[]
  readonly patienceMs: number
  readonly check: (response: InjectResponse, request: ChaosRequest) => void
  readonly counts: { answers: number; breaks: number }
  readonly accidents: Accidents
}

interface Failure {
  readonly what: string
  readonly cause: unknown
}

/** RFC 6455 §7.4.1: without a closing handshake. */
const ABNORMAL = 1006
/** The longest time between two ticks of a connection's clock. */
const MOST_TICK_MS = 1_000
/** How long after the last run errors are still collected that handlers have left behind. */
const LATE_MS = 100
/** How to wait for the end of handlers: first this many turns of the event loop, then pauses of this length. */
const QUICK_TURNS = 20
const PAUSE_MS = 5

export class ChaosRun {
  readonly #trial: Trial
  readonly #seed: number
  readonly #clock = new TestClock()
  readonly #watch: ChaosWatch
  /** What has happened, in order, for people. */
  readonly story: string[] = []
  /** The first failure. */
  #failure: Failure | null = null

  constructor(trial: Trial, seed: number) {
    this.#trial = trial
    this.#seed = seed
    this.#watch = new ChaosWatch(trial.server, (event) => this.story.push(event))
  }

  /** @param isLast whether no other run follows that would find late errors */
  async play(isLast: boolean): Promise<Failure | null> {
    const { lingerMs, requests, sizes } = this.#trial
    const candidates = requests.map(({ endless = false, messages }, i) => {
      return { bytes: sizes[i]!, isEndless: endless, isWebSocket: messages !== undefined }
    })
    const plans = planRun(new SeededRandom(this.#seed), candidates)
    const timePasses = plans.some(({ stall }) => stall !== null)
    await Promise.all(plans.map((plan, i) => this.#playClient(plan, i + 1, timePasses)))
    // The server closes the connection of a client that has ended its side, and to which nothing is sent, after this time.
    await this.#clock.advance(2 * lingerMs + MOST_TICK_MS)
    this.#noteAccidents()
    if (this.#failure === null) await this.#awaitEnd()
    if (isLast) await sleep(LATE_MS)
    this.#noteAccidents()
    return this.#failure
  }

  async #awaitEnd(): Promise<void> {
    const deadline = performance.now() + this.#trial.patienceMs
    for (let turn = 0; ; turn++) {
      const open = this.#watch.findOpen()
      if (open === null) return
      if (turn < QUICK_TURNS) await settled()
      else if (performance.now() < deadline) await sleep(PAUSE_MS)
      else return this.#note(`${this.#trial.patienceMs} ms after all clients have left, ${open}`)
    }
  }

  #note(what: string, cause: unknown = undefined): void {
    this.story.push(`WRONG: ${what}`)
    this.#failure ??= { what, cause }
  }

  #noteAccidents(): void {
    for (const error of this.#trial.accidents.take()) this.#note(`an error was not caught: ${describe(error)}`, error)
  }

  async #playClient(plan: ClientPlan, number: number, timePasses: boolean): Promise<void> {
    const { requests, isPipelined, stall, departure, silentTurns, habits } = plan
    const names = requests.map((one) => nameOf(this.#trial.requests[one]!))
    this.story.push(`client ${number}: ${[`sends ${names.join(', ')}`, ...habits].join('; ')}`)
    const stalling = stall === null ? [] : [stallAt(stall.byte, () => this.#pass(number, stall.turns, stall.ms))]
    const client = connect(this.#watch.serverFor(number), {
      behaviour: [...plan.behaviour, ...stalling],
      clock: this.#clock,
      patience: this.#trial.patienceMs,
    })
    const first = this.#trial.requests[requests[0]!]!
    const visited = first.messages === undefined ? null : new SocketVisit(client, first)
    const leave = (how: 'abort' | 'reset'): void => {
      if ((visited ?? client).isClosed) return
      this.story.push(`client ${number}: leaves by ${how}`)
      if (how === 'reset') this.#watch.noteReset(number)
      ;(visited ?? client)[how]()
    }
    if (silentTurns > 0 && visited === null) {
      client.pause()
      void turns(silentTurns).then(() => client.resume())
    }
    const leaves = departure.kind === 'turns' || departure.kind === 'bytes'
    if (leaves && Number.isFinite(departure.turns)) void turns(departure.turns).then(() => leave(departure.how))
    let bytes = 0
    const visit: Visit = {
      client,
      number,
      mayEnd: departure.kind !== 'none' || timePasses,
      onBytes(count) {
        bytes += count
        if (departure.kind === 'bytes' && bytes >= departure.bytes) leave(departure.how)
      },
    }
    if (visited !== null) {
      await this.#visitSocket(visit, visited, silentTurns)
      leave('reset')
      return
    }
    const asked: Promise<void>[] = []
    for (const one of requests) {
      const answered = this.#ask(visit, this.#trial.requests[one]!)
      asked.push(answered)
      if (!isPipelined) await answered
    }
    await Promise.all(asked)
    if (!client.isClosed && client.unreadBytes > 0)
      this.#note(`client ${number}: ${client.unreadBytes} bytes were received that belong to no response`)
    leave('reset')
  }

  async #pass(number: number, count: number, ms: number): Promise<void> {
    await turns(count)
    this.story.push(`client ${number} stalls: ${ms} ms pass`)
    // A timeout is noticed at the tick after it.
    await this.#clock.advance(ms + MOST_TICK_MS)
  }

  async #ask(visit: Visit, request: ChaosRequest): Promise<void> {
    const { client, number } = visit
    const name = nameOf(request)
    if (client.isClosed) return
    let response: TestAnswer | null = null
    try {
      const { endless = false, ...asked } = request
      response = await client.stream(asked)
      const pieces: Buffer[] = []
      for await (const piece of response) {
        if (!endless) pieces.push(piece)
        visit.onBytes(piece.length)
      }
      this.#trial.counts.answers++
      this.story.push(`client ${number}: ${name} gets a ${response.status}`)
      if (response.headers.get('connection') === 'close') visit.mayEnd = true
      this.#judge(request, dev.wholeAnswer(response, pieces, response.trailers, response.earlyHints))
    } catch (error) {
      const code = isInstance(error, WeirError) ? error.code : null
      if (code === 'WEIR_CLIENT_GONE') this.#judgeEnd(visit, name, response, await client.closed())
      else if (code === 'WEIR_TEST_WAIT') this.#note(`${name} got no complete response: ${(error as Error).message}`)
      else this.#note(`${name} got an invalid response: ${describe(error)}`, error)
    }
  }

  async #visitSocket({ number, mayEnd, onBytes }: Visit, visited: SocketVisit, silentTurns: number): Promise<void> {
    const { name } = visited
    try {
      const { code } = await visited.run(silentTurns, onBytes)
      this.story.push(`client ${number}: ${name} is closed with ${code}`)
      if (code === ABNORMAL && !visited.hasLeft) {
        this.#trial.counts.breaks++
        if (!mayEnd) this.#note(`the connection of ${name} ended without a close`)
      } else this.#trial.counts.answers++
    } catch (error) {
      if (visited.hasLeft) return
      const code = isInstance(error, WeirError) ? error.code : null
      if (code === 'WEIR_TEST_REFUSED') {
        const { response } = error as WebSocketRefused
        this.#trial.counts.answers++
        this.story.push(`client ${number}: ${name} is refused with ${response.status}`)
        this.#judge(visited.request, response)
      } else if (code === 'WEIR_TEST_WAIT') this.#note(`${name} was not ended: ${(error as Error).message}`)
      else if (code !== 'WEIR_CLIENT_GONE' || !mayEnd) this.#note(`${name} was broken: ${describe(error)}`, error)
      else this.#trial.counts.breaks++
    }
  }

  #judge(request: ChaosRequest, response: InjectResponse): void {
    try {
      this.#trial.check(response, request)
    } catch (error) {
      this.#note(`the response ${response.status} to ${nameOf(request)} failed its check: ${describe(error)}`, error)
    }
  }

  /**
   * Judges a request without a complete response.
   *
   * @param response the beginning of the response, if there was one
   */
  #judgeEnd({ number, mayEnd }: Visit, name: string, response: TestAnswer | null, ending: Ending): void {
    if (ending === 'left') return
    this.story.push(`client ${number}: ${name} gets no complete response: ${ending}`)
    if (ending === 'reset') this.#trial.counts.breaks++
    else if (response !== null) this.#note(`the response ${response.status} to ${name} was cut short, but ended as if it were complete`)
    else if (!mayEnd) this.#note(`the connection was closed without a response to ${name}`)
  }
}

/** One WebSocket, from its handshake to its end. */
class SocketVisit {
  readonly request: ChaosRequest
  readonly name: string
  readonly #client: TestClient
  readonly #handshake = new AbortController()
  #socket: TestWebSocket | null = null
  hasLeft = false
  isClosed = false

  constructor(client: TestClient, request: ChaosRequest) {
    this.request = request
    this.name = `WebSocket ${request.url}`
    this.#client = client
  }

  abort(): void {
    this.#leave('abort')
  }

  reset(): void {
    this.#leave('reset')
  }

  #leave(how: 'abort' | 'reset'): void {
    this.hasLeft = true
    this.isClosed = true
    this.#handshake.abort()
    this.#socket?.[how]()
  }

  /** @param silentTurns for how many turns it does not read, once it is open @throws the errors of a test client */
  async run(silentTurns: number, onBytes: (count: number) => void): Promise<TestWebSocketEnd> {
    const { url, headers, messages = [] } = this.request
    this.#client.reset() // a WebSocket has a connection of its own
    const socket = await this.#client.webSocket(url, { ...(headers && { headers }), signal: this.#handshake.signal })
    this.#socket = socket
    if (silentTurns > 0) {
      socket.pause()
      void turns(silentTurns).then(() => socket.resume())
    }
    let isSending = true
    const read = async (): Promise<void> => {
      for (;;)
        try {
          for await (const { length } of socket) onBytes(length)
          return
        } catch (error) {
          if (!isSending || !isInstance(error, WeirError) || error.code !== 'WEIR_TEST_WAIT') throw error
        }
    }
    const send = async (): Promise<void> => {
      for (const message of messages) if (socket.isOpen) await socket.send(message)
      isSending = false
      if (socket.isOpen) void socket.close().catch(() => {}) // what it awaits, `read` awaits as well
    }
    await Promise.all([read(), send()])
    const end = await socket.closed()
    this.isClosed = true
    return end
  }
}

/** One client while it is connected. */
interface Visit {
  readonly client: TestClient
  readonly number: number
  /** Whether the server may close the connection before it has answered all requests. */
  mayEnd: boolean
  /** Called for each piece of a response body. */
  onBytes(count: number): void
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await settled()
}

function nameOf({ method = 'GET', url }: ChaosRequest): string {
  return `${method} ${url}`
}

function describe(error: unknown): string {
  return isInstance(error, Error) ? (error.stack ?? error.message) : String(error)
}
