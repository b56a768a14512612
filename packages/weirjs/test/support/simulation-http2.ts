// A whole server that speaks HTTP/2 on simulated sockets and a simulated clock. A seed decides what happens to it, and its state is checked
// afterwards: what clients received, that each request that began has ended once, and that no stream is left.

import { SeededRandom } from '../../../dev/src/chaos/seeded-random.ts'
import { WeirError } from '../../src/base/errors.ts'
import { resolveLimits, resolveTimeouts } from '../../src/base/limits.ts'
import type { Application } from '../../src/http/application.ts'
import type { ConnectionHost } from '../../src/net/connections/connection-host.ts'
import type { OpenConnection } from '../../src/net/connections/connections.ts'
import { Http2Connection } from '../../src/net/http2/connection.ts'
import { Ticker } from '../../src/net/time/ticker.ts'
import { settled, TestClock } from '../../src/testing/test-clock.ts'
import { EVERY_HOST } from './every-host.ts'

import { simulatedApplication } from './simulated-application.ts'
import { MAX_BODY, MAX_DRAIN } from './simulated-client.ts'
import { type Stage, TEMPERS } from './simulated-handlers.ts'
import { SimulatedHttp2Client, type SimulatedStream } from './simulated-http2-client.ts'
import { type Operation, SimulatedSocket } from './simulated-socket.ts'
import { type AcceptedRequest, isEndless, SimulationNotes } from './simulation-notes.ts'

/** How a run differs from what its seed alone decides. Each of these is a number, counted from 1. */
export interface Http2SimulationOptions {
  /** Of the only operation of a socket that fails. */
  readonly failAt?: number
  /** Of the frame, sent or received by any client, after which its stream is cancelled. */
  readonly resetAt?: number
  /** Of the frame after which the connection breaks. */
  readonly cutAt?: number
  /** Called for everything that happens. */
  readonly trace?: (event: string) => void
}

/** What a run consisted of. */
export interface Http2SimulationCounts {
  readonly operations: number
  readonly frames: number
}

const SOME_STEPS = [40, 120, 300]
const AMOUNTS = [1, 5, 30, 200, 2_000, Number.POSITIVE_INFINITY]
const DURATIONS_MS = [10, 300, 1_500, 6_000]
const MOST_STREAMS = 4

interface Accepted extends AcceptedRequest {
  readonly connection: unknown
}

/** @throws if the server did anything wrong, with everything that happened */
export async function simulateHttp2(seed: number, options: Http2SimulationOptions = {}): Promise<Http2SimulationCounts> {
  const simulation = new Simulation(seed, options)
  await simulation.run()
  return simulation
}

class Simulation implements Http2SimulationCounts {
  readonly #random: SeededRandom
  readonly #clock = new TestClock()
  readonly #options: Http2SimulationOptions
  readonly #hasTime: boolean
  readonly #hasFaults: boolean
  readonly #hasStop: boolean
  readonly #isPatient: boolean
  readonly #notes: SimulationNotes
  readonly #connections = new Map<SimulatedHttp2Client, Http2Connection>()
  readonly #accepted: Accepted[] = []
  readonly #forgotten = new Set<OpenConnection>()
  #isStopping = false
  operations = 0
  frames = 0

  constructor(seed: number, options: Http2SimulationOptions) {
    this.#random = new SeededRandom(seed)
    this.#options = options
    this.#notes = new SimulationNotes(this.#random, this.#clock, (event) => options.trace?.(event), ['request', 'head', 'connection'])
    const isFree = options.failAt === undefined && options.resetAt === undefined && options.cutAt === undefined
    this.#hasTime = this.#random.chance(0.3) && isFree
    this.#hasFaults = this.#random.chance(0.3) && isFree
    this.#hasStop = this.#random.chance(0.25) && isFree
    this.#isPatient = this.#random.chance(0.3) || !isFree
  }

  async run(): Promise<void> {
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
    this.#judge()
    await this.#end()
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
    const limits = resolveLimits({ maxRequestBodySize: MAX_BODY, maxDrainSize: MAX_DRAIN, maxConcurrentStreams: MOST_STREAMS })
    const timeouts = resolveTimeouts({
      headersTimeout: 2_000,
      keepAliveTimeout: 4_000,
      bodyGracePeriod: 2_000,
      writeTimeout: 4_000,
      requestTimeout: random.pick([null, 3_000]),
    })
    const debug = random.chance(0.5)
    const simulation = this
    const host: ConnectionHost = {
      limits,
      timeouts,
      ticker: new Ticker(this.#clock, timeouts),
      application: this.#watched(simulatedApplication(random, stage, limits, timeouts, debug, (error) => this.#notes.hear(error))),
      observers: this.#notes.observers,
      debug,
      proxies: null,
      hostRules: EVERY_HOST,
      basePath: null,
      tap: null,
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
    const count = random.between(1, 2)
    for (let i = 0; i < count; i++) {
      const socket = new SimulatedSocket({
        highWaterMark: random.pick([1, 1_000, 64 * 1024]),
        shared,
        fails: (operation) => this.#fails(i, operation),
        blame: (what) => this.#notes.blame(`connection ${i}: ${what}`),
      })
      const client = new SimulatedHttp2Client(
        random,
        socket,
        (what) => this.#notes.blame(`connection ${i}: ${what}`),
        (client, stream) => this.#countFrame(client, stream),
      )
      const connection = new Http2Connection(host, socket)
      socket.start(connection)
      this.#connections.set(client, connection)
    }
  }

  #watched(inner: Application): Application {
    return {
      routes: inner.routes,
      unmatched: inner.unmatched,
      open: (head, body, connection, match) => {
        const exchange = inner.open(head, body, connection, match)
        this.#accepted.push({ connection, path: exchange.request.path, request: exchange.request })
        this.#notes.trace(`accepted ${exchange.request.path}`)
        return exchange
      },
      gate: (exchange) => inner.gate(exchange),
      handle: (exchange) => inner.handle(exchange),
      refuse: (exchange, error) => inner.refuse(exchange, error),
    }
  }

  // Events.

  #fails(connection: number, operation: Operation): boolean {
    this.operations++
    this.#notes.trace(`${this.operations}: ${operation} on ${connection}`)
    return this.operations === this.#options.failAt || (this.#hasFaults && this.#random.chance(0.003))
  }

  #countFrame(client: SimulatedHttp2Client, stream: SimulatedStream | null): void {
    this.frames++
    if (this.frames === this.#options.resetAt && stream !== null) client.cancel(stream)
    if (this.frames === this.#options.cutAt) client.socket.break()
  }

  async #step(): Promise<void> {
    const random = this.#random
    const client = random.pick([...this.#connections.keys()])
    const { socket } = client
    const dice = random.below(100)
    if (dice < 34) socket.deliver(random.pick(AMOUNTS))
    else if (dice < 56) {
      socket.take(random.pick(AMOUNTS))
      client.read()
    } else if (dice < 68) this.#notes.openGate()
    else if (dice < 94) client.proceed(this.#isPatient)
    else if (dice < 97 && this.#hasTime) await this.#pass(random.pick(DURATIONS_MS))
    else if (dice === 98 && this.#hasFaults && random.chance(0.3)) socket.break()
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
      if (round === 2_000) throw new Error('it never became quiet')
      let moved = this.#notes.gates.length > 0
      for (const client of this.#connections.keys()) {
        const { socket } = client
        for (let acts = 0; acts < 50 && client.proceed(true); acts++) moved = true
        moved = socket.deliverable > 0 || socket.takeable > 0 || moved
        socket.deliver(Number.POSITIVE_INFINITY)
        socket.take(Number.POSITIVE_INFINITY)
        client.read()
        if (socket.hasEnded && !socket.isGone) socket.sendEnd()
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
    if (way === 0) for (const { socket } of this.#connections.keys()) socket.break()
    if (way === 1) for (const { socket } of this.#connections.keys()) socket.sendEnd()
    if (way === 2) await this.#pass(20_000)
    if (way === 3) this.#stop()
    await this.#rest()
    this.#stop()
    await this.#rest()
    for (const [{ socket }, connection] of this.#connections) {
      if (socket.isGone) continue
      connection.abort(new WeirError('WEIR_SERVER_STOPPED'))
      await settled()
      if (!socket.isGone) this.#notes.blame('the connection still existed after its abort')
    }
    await settled()
  }

  // What must hold.

  /** Nothing moves any more: whatever was not answered has been forgotten, unless its handler never settles. */
  #judge(): void {
    for (const [client, connection] of this.#connections) {
      const { socket, streams, hasViolated } = client
      if (client.incompleteBytes > 0 && !socket.isBroken) this.#notes.blame('the server sent an incomplete frame')
      for (const stream of streams) this.#judgeStream(client, stream)
      if (socket.isGone || socket.hasEnded) continue
      if (hasViolated) this.#notes.blame('a connection lives on after a violation')
      const open = streams.filter(({ isOver }) => !isOver).length
      if (connection.wire.openStreams > open) this.#notes.blame(`${open} streams are open, the server has ${connection.wire.openStreams}`)
      if (connection.wire.sender.queuedBytes > 0)
        this.#notes.blame(`${connection.wire.sender.queuedBytes} bytes wait for windows that are open`)
    }
  }

  #judgeStream(client: SimulatedHttp2Client, stream: SimulatedStream): void {
    const { title, status, ending, name, hasEnded, resetCode, isCancelled } = stream
    const where = `the response to ${title} (${status}${hasEnded ? ', ended' : ''}${resetCode === null ? '' : `, reset ${resetCode}`})`
    const { answers } = TEMPERS[name]!
    if (status === 200 && answers !== undefined && stream.method !== 'HEAD') {
      const expected = Buffer.from(answers(stream.n, stream.body))
      const { response } = stream
      if (!expected.subarray(0, response.length).equals(response) || (hasEnded && response.length < expected.length))
        this.#notes.blame(`${where} has ${response.length} bytes instead of ${expected.length}`)
    }
    const sum = stream.trailers?.get('x-sum') ?? null
    const isTrailed = name === 'trailing' && status === 200 && hasEnded && stream.method !== 'HEAD'
    if (sum !== (isTrailed ? `sum ${stream.n}` : null)) this.#notes.blame(`${where} has the trailer ${sum}`)
    // It may have been disturbed: then it need not be complete.
    const isGone = client.socket.isBroken || client.socket.isGone || client.socket.hasEnded || client.hasViolated || client.hasSentGoaway
    const isRefused = client.goaway !== null && stream.id > client.goaway.last
    if (isCancelled || isGone || isRefused || this.#notes.timePassed || resetCode === 7) return
    if (ending === 'nothing') {
      if (hasEnded || resetCode !== null) this.#notes.blame(`${where} should not have come`)
    } else if (ending === 'break') {
      const isEndless = name === 'streamNever'
      const isEarly = name === 'readableFails' && status === 500 && hasEnded
      if (hasEnded && !isEarly) this.#notes.blame(`${where} ended as if it were complete`)
      if (!hasEnded && resetCode === null && !isEndless) this.#notes.blame(`${where} was never reset`)
    } else if (!hasEnded) this.#notes.blame(`${where} never ended`)
    else if (status !== ending) this.#notes.blame(`${where} should be ${ending}`)
  }

  #countEnds(): void {
    this.#notes.countEnds(this.#accepted)
    for (const [client, connection] of this.#connections) {
      for (const { request } of this.#accepted.filter((one) => one.connection === connection)) {
        const stream = client.streams[Number(request.path.split('/').at(-1))]!
        const record = this.#notes.endOf(request)
        if (stream.status !== null && record?.status !== stream.status)
          this.#notes.blame(`${stream.title}: the client received ${stream.status}, observers ${record?.status}`)
        if (stream.hasEnded && record?.outcome === 'client-gone' && !stream.isCancelled && !client.socket.isBroken)
          this.#notes.blame(`${stream.title} is complete, but observers heard that its client has left`)
      }
    }
  }

  /** All connections are gone. */
  #lookAround(): void {
    if (this.#clock.running > 0) this.#notes.blame('the clock is still running')
    for (const { wire } of this.#connections.values()) {
      if (wire.openStreams > 0) this.#notes.blame(`${wire.openStreams} streams of a closed connection are open`)
      if (wire.heldBytes > 0) this.#notes.blame('a closed connection still holds bytes')
    }
  }

  /** All handlers have settled, except those that never do. */
  #lookBack(): void {
    this.#notes.lookBack(this.#accepted)
    for (const connection of this.#connections.values()) {
      const endless = this.#accepted.filter((one) => one.connection === connection && isEndless(one.path)).length
      const { unreleased } = connection.wire
      if (unreleased > endless) this.#notes.blame(`${unreleased} requests were not released, ${endless} never settle`)
      if (!this.#forgotten.has(connection) && endless === 0) this.#notes.blame('a connection was not forgotten')
    }
  }
}
