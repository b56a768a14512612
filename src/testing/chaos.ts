// Requests of a host program against its own handlers, from clients that cut, stall, leave, reset and do not read, and a look at what must
// hold for any handler: each request has one whole answer or a break, nothing is thrown where nobody catches, and when the clients have
// left, nothing is left open. Everything is drawn from a seed: the same seed gives the same run.

import { setTimeout as sleep } from 'node:timers/promises'
import { WeirError } from '../base/errors.ts'
import { type InjectResponse, wholeAnswer } from '../net/inject.ts'
import type { PeerHost } from '../net/peer.ts'
import { type InjectRequest, requestBytes } from '../net/request-bytes.ts'
import { type HttpServer, hostOf } from '../server.ts'

import { Accidents } from './accidents.ts'
import { stallAt } from './behaviours.ts'
import { type Candidate, type ClientPlan, planRun } from './chaos-plan.ts'
import { ChaosWatch } from './chaos-watch.ts'
import type { Ending } from './client-connection.ts'
import { SeededRandom } from './seeded-random.ts'
import type { TestAnswer } from './test-answer.ts'
import { TestClient } from './test-client.ts'
import { settled, TestClock } from './test-clock.ts'

export interface ChaosRequest extends Omit<InjectRequest, 'signal'> {
  /** Whether its answer never ends, as events do: its clients leave at some time. Default false. */
  readonly endless?: boolean
}

export interface ChaosOptions {
  /** What the clients send: a string is a GET of that URL. */
  readonly requests: readonly (ChaosRequest | string)[]
  /** Default: another one each time. */
  readonly seed?: number
  /** How many runs, of one to three clients each; run n has the seed `seed + n`. Default 100. */
  readonly runs?: number
  /** How long an answer, or the end of a handler whose client has left, is waited for, in milliseconds of the machine. Default 2 s. */
  readonly patienceMs?: number
  /** Looks at each answer that came whole. What it throws is a failure. */
  readonly check?: (answer: InjectResponse, request: ChaosRequest) => void
}

export interface ChaosReport {
  readonly seed: number
  readonly runs: number
  /** How many answers came whole. */
  readonly answers: number
  /** How many the server broke off while their client was there. */
  readonly breaks: number
}

/** A handler did what none may do. The message tells all of it. */
export class ChaosError extends WeirError {
  override readonly name = 'ChaosError'
  /** The run that failed: `chaos(server, { seed, runs: 1, … })` does it again. */
  readonly seed: number
  /** What happened in that run, in order. */
  readonly story: readonly string[]

  constructor(what: string, seed: number, story: readonly string[], cause: unknown) {
    const shown = story.length > SHOWN_EVENTS ? [`… ${story.length - SHOWN_EVENTS} more`, ...story.slice(-SHOWN_EVENTS)] : story
    super('WEIR_CHAOS', `${what}\nAgain: chaos(server, { seed: ${seed}, runs: 1, requests })\n  ${shown.join('\n  ')}`, cause)
    this.seed = seed
    this.story = story
  }
}

const DEFAULT_RUNS = 100
const DEFAULT_PATIENCE_MS = 2_000
/** The longest time between two ticks of a connection's clock. */
const MOST_TICK_MS = 1_000
const SHOWN_EVENTS = 40
/** What a handler has left running may still throw for so long after the last run. */
const LATE_MS = 100
/** Waiting for the end of handlers: so many turns of the event loop first, then so much time again and again. */
const QUICK_TURNS = 20
const PAUSE_MS = 5

/** One chaos at a time: what is thrown while it runs is taken to be its own. */
let previous: Promise<unknown> = Promise.resolve()

/**
 * Runs `requests` against `server`, without a port. Time is that of the test for weir's timeouts; handlers run with the time of the machine.
 * @throws ChaosError for the first thing that must not be; WEIR_OPTION_INVALID for a request that no client could send
 */
export function chaos(server: HttpServer, options: ChaosOptions): Promise<ChaosReport> {
  const running = previous.then(() => runAll(hostOf(server), options))
  previous = running.catch(() => {})
  return running
}

async function runAll(host: PeerHost, options: ChaosOptions): Promise<ChaosReport> {
  const { runs = DEFAULT_RUNS, seed = Math.floor(Math.random() * 1e9), patienceMs = DEFAULT_PATIENCE_MS, check = () => {} } = options
  const requests = options.requests.map((request): ChaosRequest => (typeof request === 'string' ? { url: request } : request))
  if (requests.length === 0) throw new WeirError('WEIR_OPTION_INVALID', 'chaos needs a request')
  const candidates: Candidate[] = []
  for (const request of requests) {
    const { head, body } = await requestBytes(request)
    candidates.push({ bytes: head.length + body.length, isEndless: request.endless === true })
  }
  const accidents = new Accidents()
  const counts = { answers: 0, breaks: 0 }
  try {
    for (let n = 0; n < runs; n++) {
      const run = new Run(host, seed + n, requests, patienceMs, check, counts)
      await run.play(candidates)
      if (n === runs - 1) await sleep(LATE_MS)
      for (const error of accidents.take()) run.fail(`something was thrown where nobody catches: ${describe(error)}`, error)
    }
    return { seed, runs, ...counts }
  } finally {
    accidents.stop()
  }
}

class Run {
  readonly #host: PeerHost
  readonly #seed: number
  readonly #requests: readonly ChaosRequest[]
  readonly #patienceMs: number
  readonly #check: NonNullable<ChaosOptions['check']>
  readonly #counts: { answers: number; breaks: number }
  readonly #clock = new TestClock()
  readonly #story: string[] = []
  readonly #watch: ChaosWatch
  /** The first thing that was wrong. */
  #failure: { readonly what: string; readonly cause: unknown } | null = null

  constructor(
    host: PeerHost,
    seed: number,
    requests: readonly ChaosRequest[],
    patienceMs: number,
    check: NonNullable<ChaosOptions['check']>,
    counts: { answers: number; breaks: number },
  ) {
    this.#host = host
    this.#seed = seed
    this.#requests = requests
    this.#patienceMs = patienceMs
    this.#check = check
    this.#counts = counts
    this.#watch = new ChaosWatch(host, (event) => this.#story.push(event))
  }

  /** @throws ChaosError */
  async play(candidates: readonly Candidate[]): Promise<void> {
    const plans = planRun(new SeededRandom(this.#seed), candidates)
    const timePasses = plans.some(({ stall }) => stall !== null)
    await Promise.all(plans.map((plan, i) => this.#playClient(plan, i + 1, timePasses)))
    // A client that has ended its side, and to which nothing is sent, is given up after this time.
    await this.#clock.advance(2 * this.#host.timeouts.lingerTimeout + MOST_TICK_MS)
    if (this.#failure === null) await this.#awaitEnd()
    if (this.#failure !== null) this.fail(this.#failure.what, this.#failure.cause)
  }

  async #awaitEnd(): Promise<void> {
    const deadline = performance.now() + this.#patienceMs
    for (let turn = 0; ; turn++) {
      const open = this.#watch.findOpen()
      if (open === null) return
      if (turn < QUICK_TURNS) await settled()
      else if (performance.now() < deadline) await sleep(PAUSE_MS)
      else return this.#note(`${this.#patienceMs} ms after all clients have left, ${open}`)
    }
  }

  fail(what: string, cause: unknown): never {
    throw new ChaosError(what, this.#seed, this.#story, cause)
  }

  #note(what: string, cause: unknown = undefined): void {
    this.#story.push(`WRONG: ${what}`)
    this.#failure ??= { what, cause }
  }

  async #playClient(plan: ClientPlan, number: number, timePasses: boolean): Promise<void> {
    const { requests, isPipelined, stall, departure, silentTurns, habits } = plan
    const names = requests.map((one) => nameOf(this.#requests[one]!))
    this.#story.push(`client ${number}: ${[`sends ${names.join(', ')}`, ...habits].join('; ')}`)
    const stalling = stall === null ? [] : [stallAt(stall.byte, () => this.#pass(number, stall.turns, stall.ms))]
    const client = new TestClient(this.#watch.hostFor(number), {
      behaviour: [...plan.behaviour, ...stalling],
      clock: this.#clock,
      patienceMs: this.#patienceMs,
    })
    const leave = (how: 'abort' | 'reset'): void => {
      if (client.isClosed) return
      this.#story.push(`client ${number}: leaves by ${how}`)
      this.#watch.noteDeparture(number)
      client[how]()
    }
    if (silentTurns > 0) {
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
    const asked: Promise<void>[] = []
    for (const one of requests) {
      const answered = this.#ask(visit, this.#requests[one]!)
      asked.push(answered)
      if (!isPipelined) await answered
    }
    await Promise.all(asked)
    if (!client.isClosed && client.unreadBytes > 0)
      this.#note(`client ${number}: ${client.unreadBytes} bytes came that belong to no answer`)
    this.#watch.noteDeparture(number)
    client.reset()
  }

  async #pass(number: number, count: number, ms: number): Promise<void> {
    await turns(count)
    this.#story.push(`client ${number} stalls: ${ms} ms pass`)
    // A timeout is noticed at the tick behind it.
    await this.#clock.advance(ms + MOST_TICK_MS)
  }

  async #ask(visit: Visit, request: ChaosRequest): Promise<void> {
    const { client, number } = visit
    const name = nameOf(request)
    if (client.isClosed) return
    let answer: TestAnswer | null = null
    try {
      answer = await client.stream(request)
      const pieces: Buffer[] = []
      for await (const piece of answer) {
        if (request.endless !== true) pieces.push(piece)
        visit.onBytes(piece.length)
      }
      this.#counts.answers++
      this.#story.push(`client ${number}: ${name} is answered ${answer.status}`)
      if (answer.headers.get('connection') === 'close') visit.mayEnd = true
      this.#judge(request, wholeAnswer(answer, pieces))
    } catch (error) {
      const code = error instanceof WeirError ? error.code : null
      if (code === 'WEIR_CLIENT_GONE') this.#judgeEnd(visit, name, answer, await client.closed())
      else if (code === 'WEIR_TEST_WAIT') this.#note(`${name} is not answered to its end: ${(error as Error).message}`)
      else this.#note(`${name} is answered with what is no answer: ${describe(error)}`, error)
    }
  }

  #judge(request: ChaosRequest, answer: InjectResponse): void {
    try {
      this.#check(answer, request)
    } catch (error) {
      this.#note(`the answer ${answer.status} to ${nameOf(request)} fails its check: ${describe(error)}`, error)
    }
  }

  /** There is no whole answer to a request. @param answer what had come of it */
  #judgeEnd({ number, mayEnd }: Visit, name: string, answer: TestAnswer | null, ending: Ending): void {
    if (ending === 'left') return
    this.#story.push(`client ${number}: ${name} has no whole answer: ${ending}`)
    if (ending === 'reset') this.#counts.breaks++
    else if (answer !== null) this.#note(`the answer ${answer.status} to ${name} was cut, but ended as if it were whole`)
    else if (!mayEnd) this.#note(`the connection ended in order without an answer to ${name}`)
  }
}

/** One client while it is there. */
interface Visit {
  readonly client: TestClient
  readonly number: number
  /** Whether the server may end the connection before it has answered everything. */
  mayEnd: boolean
  /** Told what has come of the body of an answer. */
  onBytes(count: number): void
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await settled()
}

function nameOf({ method = 'GET', url }: ChaosRequest): string {
  return `${method} ${url}`
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
