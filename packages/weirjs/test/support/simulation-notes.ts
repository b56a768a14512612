// What a simulation notes while its server runs, and what must hold in both protocols: no error is reported that was not planned, observers hear of
// each request once when it begins and once when it ends, and in the end every source is closed and every request has expired.

import type { SeededRandom } from '../../../dev/src/chaos/seeded-random.ts'
import { RequestExpiredError, WeirError } from '../../src/base/errors.ts'
import type { ExchangeRecord } from '../../src/http/exchange-record.ts'
import type { HttpRequest } from '../../src/http/request/request.ts'
import type { HttpSession } from '../../src/http/session.ts'
import { Observers } from '../../src/net/observe/observers.ts'
import type { TestClock } from '../../src/testing/test-clock.ts'

import { PLANNED, type Stage } from './simulated-handlers.ts'

/** One request that the application received. */
export interface AcceptedRequest {
  readonly path: string
  readonly request: HttpRequest
}

export class SimulationNotes {
  readonly #random: SeededRandom
  readonly #trace: (event: string) => void
  readonly #wrongs: string[] = []
  readonly #kinds: readonly ExchangeRecord['kind'][]
  readonly #sources: { readonly name: string; isClosed: boolean }[] = []
  /** What observers were told of each request. */
  readonly #ends = new Map<HttpSession, ExchangeRecord[]>()
  readonly observers: Observers
  /** Handlers that wait. Each is called once. */
  gates: (() => void)[] = []
  /** The clock has been moved, so that handlers may have been answered for. */
  timePassed = false

  /** @param kinds of records that may be made */
  constructor(random: SeededRandom, clock: TestClock, trace: (event: string) => void, kinds: readonly ExchangeRecord['kind'][]) {
    this.#random = random
    this.#trace = trace
    this.#kinds = kinds
    this.observers = new Observers(
      (error) => this.blame(`an observer failed: ${error}`),
      () => clock.now(),
    )
    this.observers.add({
      begin: ({ session }) => {
        if (this.#ends.has(session)) this.blame('an exchange began twice')
        this.#ends.set(session, [])
      },
      end: (record) => this.#noteEnd(record),
    })
  }

  trace(event: string): void {
    this.#trace(event)
  }

  blame(what: string): void {
    this.#trace(`WRONG: ${what}`)
    this.#wrongs.push(what)
  }

  /** @throws if anything was wrong */
  settle(): void {
    if (this.#wrongs.length > 0) throw new Error(this.#wrongs.join('\n'))
  }

  /** Errors that the server reports to its host program: those of handlers, and those that happen to every server. */
  hear(error: unknown): void {
    if (error instanceof WeirError && (error.fault !== 'developer' || /RESPONSE_LENGTH|RESULT_UNSENDABLE/.test(error.code))) return
    if (error instanceof Error && error.message === PLANNED) return
    // A handler that continues after its request has been answered for it.
    if (error instanceof WeirError && error.code === 'WEIR_REQUEST_EXPIRED' && this.timePassed) return
    this.blame(`it reported ${error instanceof Error ? error.stack : String(error)}`)
  }

  /** @param afterAll what the last handlers wait for */
  stage(afterAll: Promise<void>): Stage {
    return {
      afterAll,
      pause: () => (this.#random.chance(0.5) ? Promise.resolve() : new Promise((resolve) => this.gates.push(resolve))),
      opened: (name) => {
        const source = { name, isClosed: false }
        this.#sources.push(source)
        return { closed: () => void (source.isClosed = true) }
      },
      blame: (what) => this.blame(what),
    }
  }

  openGate(): void {
    this.gates.splice(this.#random.below(this.gates.length), 1)[0]?.()
  }

  openGates(): void {
    const { gates } = this
    this.gates = []
    for (const open of gates) open()
  }

  #noteEnd(record: ExchangeRecord): void {
    const { kind, session, status, outcome, error, firstByteMs, durationMs } = record
    this.#trace(`observed ${kind} ${session?.request.path}: ${outcome} ${status}`)
    if (kind === 'request') this.#ends.get(session!)?.push(record)
    if (!this.#kinds.includes(kind)) this.blame(`there is a record of ${kind}`)
    if ((error === null) !== (outcome === 'completed')) this.blame(`${outcome} with ${error}`)
    if (outcome === 'completed' && status === null) this.blame('a response without a status was completed')
    if (!(durationMs >= (firstByteMs ?? 0))) this.blame(`the first byte came after ${firstByteMs} ms, the last after ${durationMs}`)
  }

  /** @returns what observers were told of the end of `request` */
  endOf(request: HttpRequest): ExchangeRecord | undefined {
    return [...this.#ends].find(([session]) => session.request === request)?.[1][0]
  }

  /** Every request that began has ended once. */
  countEnds(accepted: readonly AcceptedRequest[]): void {
    this.observers.flush()
    if (this.#ends.size !== accepted.length) this.blame(`${accepted.length} requests, but ${this.#ends.size} began for observers`)
    for (const [session, ends] of this.#ends) {
      if (ends.length !== 1) this.blame(`${session.request.path} began once, and ended ${ends.length} times for observers`)
    }
  }

  /** All handlers have settled, except those that never do. */
  lookBack(accepted: readonly AcceptedRequest[]): void {
    for (const { name, isClosed } of this.#sources) if (!isClosed) this.blame(`a ${name} was left open`)
    for (const { path, request } of accepted) {
      if (!isEndless(path) && !isExpired(request)) this.blame(`the body of ${path} has not expired`)
    }
  }
}

/** Its handler or its gate never settles. */
export function isEndless(path: string): boolean {
  return /^\/(?:never|gateNever)\//.test(path)
}

function isExpired(request: HttpRequest): boolean {
  try {
    void request.bodyLength
    return false
  } catch (error) {
    return error instanceof RequestExpiredError
  }
}
