// A whole server on simulated sockets and a simulated clock. A seed decides what happens to it, and its state is checked afterwards.

import { SeededRandom } from '../../../dev/src/chaos/seeded-random.ts'
import { WeirError } from '../../src/base/errors.ts'
import { resolveLimits, resolveTimeouts } from '../../src/base/limits.ts'
import type { Application } from '../../src/http/application.ts'
import type { Exchange } from '../../src/http/exchange.ts'
import type { ConnectionHost } from '../../src/net/connections/connection-host.ts'
import type { OpenConnection } from '../../src/net/connections/connections.ts'
import { Http1Connection } from '../../src/net/http1/connection.ts'
import { Ticker } from '../../src/net/time/ticker.ts'
import { settled, TestClock } from '../../src/testing/test-clock.ts'
import { WireConnection } from '../../src/wire/http1/connection.ts'
import { EVERY_HOST } from './every-host.ts'
import { simulatedApplication } from './simulated-application.ts'
import { MAX_BODY, MAX_DRAIN, SimulatedClient } from './simulated-client.ts'
import { type Stage, TEMPERS } from './simulated-handlers.ts'
import { type Operation, SimulatedSocket } from './simulated-socket.ts'
import { type AcceptedRequest, isEndless, SimulationNotes } from './simulation-notes.ts'

interface Accepted extends AcceptedRequest {
  readonly connection: Http1Connection
  isListening: boolean
  /** How often its signal has fired. */
  fired: number
  isHandled: boolean
  isSettled: boolean
  wasPendingAtClose: boolean
}

/** How a run differs from what its seed alone decides. */
export interface SimulationOptions {
  /** The number of the only operation that fails, counted from 1. */
  readonly failAt?: number
  /** Called for everything that happens. */
  readonly trace?: (event: string) => void
}

const SOME_STEPS = [20, 60, 150]
const AMOUNTS = [1, 3, 20, 100, 1_000, Number.POSITIVE_INFINITY]
const DURATIONS_MS = [10, 300, 1_500, 6_000]

/** The wire connections of the current run, which connections do not expose. */
let wires = new Set<WireConnection>()
const { receive } = WireConnection.prototype
WireConnection.prototype.receive = function (this: WireConnection, ...args) {
  wires.add(this)
  receive.apply(this, args)
}

/** @returns how many operations its sockets performed @throws if the server did anything wrong, with everything that happened */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<number> {
  const simulation = new Simulation(seed, options)
  await simulation.run()
  return simulation.operations
}

class Simulation {
  readonly #random: SeededRandom
  readonly #clock = new TestClock()
  readonly #failAt: number
  readonly #hasTime: boolean
  readonly #hasFaults: boolean
  readonly #hasStop: boolean
  readonly #notes: SimulationNotes
  readonly #clients: SimulatedClient[] = []
  readonly #connections = new Map<SimulatedClient, Http1Connection>()
  readonly #accepted: Accepted[] = []
  readonly #forgotten = new Set<OpenConnection>()
  #isStopping = false
  #isAborted = false
  operations = 0

  constructor(seed: number, { failAt = 0, trace = () => {} }: SimulationOptions) {
    this.#random = new SeededRandom(seed)
    this.#notes = new SimulationNotes(this.#random, this.#clock, trace, ['request', 'head'])
    this.#failAt = failAt
    const mayFail = failAt === 0
    this.#hasTime = this.#random.chance(0.35) && mayFail
    this.#hasFaults = this.#random.chance(0.4) && mayFail
    this.#hasStop = this.#random.chance(0.25) && mayFail
  }

  async run(): Promise<void> {
    wires = new Set()
    const random = this.#random
    let release = (): void => {}
    const afterAll = new Promise<void>((resolve) => (release = resolve))
    this.#open(this.#notes.stage(afterAll))
    const steps = random.pick(SOME_STEPS)
    for (let step = 0; step < steps; step++) {
      await this.#step()
      if (random.chance(0.7)) await settled()
    }
    await this.#rest()
    this.#judge(true)
    await this.#end()
    this.#judge(false)
    this.#lookAround()
    this.#countEnds()
    this.#notes.trace('late data arrives')
    release()
    for (let turn = 0; turn < 4; turn++) {
      this.#notes.openGates()
      await settled()
    }
    this.#lookBack()
    this.#countEnds()
    this.#notes.settle()
  }

  // The server.

  #open(stage: Stage): void {
    const random = this.#random
    const limits = resolveLimits({ maxRequestBodySize: MAX_BODY, maxDrainSize: MAX_DRAIN })
    const timeouts = resolveTimeouts({
      headersTimeout: 2_000,
      keepAliveTimeout: 4_000,
      bodyGracePeriod: 2_000,
      writeTimeout: 4_000,
      requestTimeout: random.pick([null, 3_000]),
    })
    const debug = random.chance(0.5)
    const application = this.#watched(stage, limits, timeouts, debug)
    const simulation = this
    const host: ConnectionHost = {
      limits,
      timeouts,
      ticker: new Ticker(this.#clock, timeouts),
      application,
      observers: this.#notes.observers,
      tap: null,
      debug,
      proxies: null,
      hostRules: EVERY_HOST,
      basePath: null,
      endpointNames: () => null,
      get isStopping() {
        return simulation.#isStopping
      },
      report: (error) => this.#notes.hear(error),
      reportAccept: (error) => this.#notes.hear(error),
      waitUntil() {},
      forget: (connection) => void this.#forgotten.add(connection),
    }
    const shared = random.chance(0.6) ? Buffer.alloc(random.pick([50, 5_000, 64 * 1024])) : null
    const count = random.between(1, 3)
    for (let i = 0; i < count; i++) {
      const socket = new SimulatedSocket({
        highWaterMark: random.pick([1, 1_000, 64 * 1024]),
        shared,
        fails: (operation) => this.#fails(i, operation),
        blame: (what) => this.#notes.blame(`connection ${i}: ${what}`),
      })
      const client = new SimulatedClient(random, socket)
      const connection = new Http1Connection(host, socket)
      socket.start(connection)
      socket.onClosed = () => this.#noteClose(connection)
      this.#clients.push(client)
      this.#connections.set(client, connection)
      this.#notes.trace(`connection ${i}: ${client.plans.map(({ title }) => title).join(', ')}`)
    }
  }

  #countEnds(): void {
    this.#notes.countEnds(this.#accepted)
    for (const [client, connection] of this.#connections) {
      const accepted = this.#accepted.filter((one) => one.connection === connection)
      for (const [n, { request }] of accepted.entries()) {
        const record = this.#notes.endOf(request)
        const received = client.statuses[n] ?? null
        if (received !== null && record?.status !== received)
          this.#notes.blame(`the client received ${received}, observers ${record?.status}`)
        // A body that ends with the connection is not complete for a client that does not see that end.
        const mayEndLater = client.plans[n]!.title.includes('HTTP/1.0')
        if (received === null && record?.outcome === 'completed' && !mayEndLater)
          this.#notes.blame(`${request.path} was completed, but not received`)
      }
    }
  }

  /** The application, with a record of what it receives and what it does with it. */
  #watched(
    stage: Stage,
    limits: ReturnType<typeof resolveLimits>,
    timeouts: ReturnType<typeof resolveTimeouts>,
    debug: boolean,
  ): Application {
    const random = this.#random
    const inner = simulatedApplication(random, stage, limits, timeouts, debug, (error) => this.#notes.hear(error))
    const known = new Map<Exchange, Accepted>()
    return {
      routes: inner.routes,
      unmatched: inner.unmatched,
      open: (head, body, connection, match) => {
        const exchange = inner.open(head, body, connection, match)
        const none = { isListening: false, fired: 0, isHandled: false, isSettled: false, wasPendingAtClose: false }
        const accepted = { connection: connection as Http1Connection, path: exchange.request.path, request: exchange.request, ...none }
        known.set(exchange, accepted)
        this.#accepted.push(accepted)
        return exchange
      },
      gate: (exchange) => {
        if (random.chance(0.6)) this.#listen(known.get(exchange)!, exchange)
        return inner.gate(exchange)
      },
      handle: (exchange) => {
        const accepted = known.get(exchange)!
        accepted.isHandled = true
        const result = inner.handle(exchange)
        if (result instanceof Promise) result.then(() => (accepted.isSettled = true))
        else accepted.isSettled = true
        return result
      },
      refuse: (exchange, error) => inner.refuse(exchange, error),
    }
  }

  #listen(accepted: Accepted, exchange: Exchange): void {
    accepted.isListening = true
    exchange.request.signal.addEventListener('abort', () => {
      accepted.fired++
      const { socket } = [...this.#connections].find(([, connection]) => connection === accepted.connection)![0]
      // The server aborts a streamed response that fails, which also counts as an end.
      const breaks = TEMPERS[accepted.path.split('/')[1]!]?.ending === 'break'
      const isDue = socket.isGone || socket.hasToldEnd || this.#notes.timePassed || this.#isAborted || breaks
      if (!isDue) this.#notes.blame(`the signal of ${accepted.path} fired without need`)
    })
  }

  // Events.

  #fails(connection: number, operation: Operation): boolean {
    this.operations++
    this.#notes.trace(`${this.operations}: ${operation} on ${connection}`)
    return this.operations === this.#failAt || (this.#hasFaults && this.#random.chance(0.004))
  }

  async #step(): Promise<void> {
    const random = this.#random
    const client = random.pick(this.#clients)
    const { socket } = client
    const dice = random.below(100)
    if (dice < 36) socket.deliver(random.pick(AMOUNTS))
    else if (dice < 64) socket.take(random.pick(AMOUNTS))
    else if (dice < 78) this.#notes.openGate()
    else if (dice < 92) client.proceed(false)
    else if (dice < 96 && this.#hasTime) await this.#pass(random.pick(DURATIONS_MS))
    else if (dice === 98 && this.#hasFaults && random.chance(0.5)) socket.break()
    else if (dice === 99 && this.#hasStop) this.#stop()
  }

  async #pass(ms: number): Promise<void> {
    this.#notes.trace(`${ms} ms pass`)
    this.#notes.timePassed = true
    await this.#clock.advance(ms)
  }

  #stop(): void {
    if (this.#isStopping) return
    this.#notes.trace('the server is told to stop')
    this.#isStopping = true
    for (const connection of this.#connections.values()) connection.drain()
  }

  /** Moves everything that can move without time. */
  async #rest(): Promise<void> {
    this.#notes.trace('everything moves')
    for (let round = 0, still = 0; still < 3; round++) {
      if (round === 2_000) return this.#notes.blame('it never became quiet')
      let moved = this.#notes.gates.length > 0
      for (const client of this.#clients) {
        moved = client.proceed(true) || client.socket.deliverable > 0 || client.socket.takeable > 0 || moved
        client.socket.deliver(Number.POSITIVE_INFINITY)
        client.socket.take(Number.POSITIVE_INFINITY)
      }
      this.#notes.openGates()
      await settled()
      still = moved ? 0 : still + 1
    }
  }

  /** Ends the run in one of the ways in which a server may end. */
  async #end(): Promise<void> {
    const way = this.#random.below(4)
    this.#notes.trace(`end number ${way}`)
    if (way === 0) for (const { socket } of this.#clients) socket.break()
    if (way === 1) for (const { socket } of this.#clients) socket.sendEnd()
    if (way === 2) await this.#pass(20_000)
    if (way === 3) this.#stop()
    await this.#rest()
    this.#stop()
    await this.#rest()
    this.#isAborted = true
    for (const { socket } of this.#clients) if (!socket.isGone) await this.#abort(socket)
    await settled()
  }

  /** Aborts what is left at the deadline of a stop: connections that wait for a handler, or for a client that does not end its side. */
  async #abort(socket: SimulatedSocket): Promise<void> {
    const [, connection] = [...this.#connections].find(([client]) => client.socket === socket)!
    connection.abort(new WeirError('WEIR_SERVER_STOPPED'))
    await settled()
    if (!socket.isGone) this.#notes.blame('the connection still existed after its abort')
  }

  #noteClose(connection: Http1Connection): void {
    for (const accepted of this.#accepted) {
      if (accepted.connection === connection && accepted.isHandled && !accepted.isSettled) accepted.wasPendingAtClose = true
    }
  }

  // What must hold.

  #judge(isQuiet: boolean): void {
    for (const [i, client] of this.#clients.entries()) {
      const connection = this.#connections.get(client)
      const accepted = this.#accepted.filter((one) => one.connection === connection)
      const isInOrder = accepted.every(({ path }, n) => path.endsWith(`/${n}`))
      if (!isInOrder)
        this.#notes.blame(`connection ${i}: requests were handled in the order ${accepted.map(({ path }) => path).join(', ')}`)
      const circumstances = { timePassed: this.#notes.timePassed, stopped: this.#isStopping, isQuiet, accepted: accepted.length }
      const wrong = client.judge(circumstances)
      if (wrong !== null) this.#notes.blame(`connection ${i}: ${wrong}`)
    }
  }

  /** All connections are gone. */
  #lookAround(): void {
    if (this.#clock.running > 0) this.#notes.blame('the clock is still running')
    for (const wire of wires) {
      if (wire.heldBytes + wire.waitingBytes + wire.buffer.length > 0) this.#notes.blame('a closed connection still holds bytes')
    }
    for (const { isListening, fired, path, wasPendingAtClose } of this.#accepted) {
      if (fired > 1) this.#notes.blame(`the signal of ${path} fired ${fired} times`)
      if (isListening && wasPendingAtClose && fired === 0) this.#notes.blame(`the signal of ${path} did not fire`)
    }
  }

  /** All handlers have settled, except those that never do. */
  #lookBack(): void {
    this.#notes.lookBack(this.#accepted)
    for (const connection of this.#connections.values()) {
      const last = this.#accepted.filter((one) => one.connection === connection).at(-1)
      if (!this.#forgotten.has(connection) && !isEndless(last?.path ?? '')) this.#notes.blame('a connection was not forgotten')
    }
  }
}
