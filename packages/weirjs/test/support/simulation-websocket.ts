// WebSockets of a whole server, on simulated sockets and a simulated clock. A seed decides what happens to them, and it is checked afterwards: what
// each client has received, that handlers were called in order and `close` once and last, and that nothing is left.

import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'

import { SeededRandom } from '../../../dev/src/chaos/seeded-random.ts'
import { HttpServer } from '../../src/index.ts'
import { type WebSocketConnection, type WebSocketRoute, websocket } from '../../src/modules/websocket/index.ts'
import { derivedHost } from '../../src/net/connections/derived-host.ts'
import { STRANGER } from '../../src/net/connections/peer.ts'
import { Http1Connection } from '../../src/net/http1/connection.ts'
import { Ticker } from '../../src/net/time/ticker.ts'
import { hostOf } from '../../src/server.ts'
import { settled, TestClock } from '../../src/testing/test-clock.ts'
import { WireWebSocket } from '../../src/wire/websocket/connection.ts'
import { BINARY, CLOSE, closing, frame, PING, PONG, TEXT } from '../conformance/websocket/step.ts'
import { SimulatedSocket } from './simulated-socket.ts'
import { HANDSHAKE } from './websocket-client.ts'

/** How a run differs from what its seed alone decides. */
interface WebSocketSimulationOptions {
  /** The number of the only operation that fails, counted from 1. */
  readonly failAt?: number
  /** Called for everything that happens. */
  readonly trace?: (event: string) => void
}

const SOME_STEPS = [30, 80, 200]
const AMOUNTS = [1, 2, 7, 60, 1_000, Number.POSITIVE_INFINITY]
const DURATIONS_MS = [10, 700, 2_500]
const SIZES = [0, 1, 125, 126, 1_023, 1_024, 5_000]
const PING_INTERVAL_MS = 1_000
const OFFER = 'Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover; server_no_context_takeover\r\n'
const TAIL = Buffer.from([0, 0, 0xff, 0xff])
const PLANNED = 'planned'
/** What a client has sent last: then the server closes with this code, and handles nothing of what follows. Null: it aborts the connection. */
const ENDS: Readonly<Record<string, number | null>> = { close: 4_001, throw: 1_011, terminate: null, fault: 1_002, bye: 1_000 }

/** The receivers of the current run, which connections do not expose. */
let wires = new Set<WireWebSocket>()
const { receive } = WireWebSocket.prototype
WireWebSocket.prototype.receive = function (this: WireWebSocket, ...args) {
  wires.add(this)
  receive.apply(this, args)
}

/** @returns how many operations its sockets performed @throws if the server did anything wrong */
export async function simulateWebSockets(seed: number, options: WebSocketSimulationOptions = {}): Promise<number> {
  const simulation = new Simulation(seed, options)
  await simulation.run()
  return simulation.operations
}

/** What a handler was called with, as far as it has got. */
interface Seen {
  readonly messages: string[]
  isOpen: boolean
  isClosed: boolean
  isHandling: boolean
}

/** One client: what it is going to send, what it expects, and where it is. */
class Client {
  readonly socket: SimulatedSocket
  readonly compresses: boolean
  readonly #pieces: Buffer[] = []
  /** The messages that are echoed, and the payloads of pings, in order. */
  readonly echoes: string[] = []
  readonly pings: string[] = []
  /** Null: it does not end the connection. */
  readonly end: string | null
  #hasAnswered = false

  constructor(random: SeededRandom, socket: SimulatedSocket, name: string) {
    this.socket = socket
    this.compresses = random.chance(0.5)
    this.#pieces.push(Buffer.from(`GET /${name} HTTP/1.1\r\nHost: localhost\r\n${HANDSHAKE}${this.compresses ? OFFER : ''}\r\n`))
    const count = random.between(0, 12)
    for (let n = 0; n < count; n++) this.#plan(random, `${random.pick(['echo', 'later', 'drained', 'room'])} ${n} `)
    this.end = random.chance(0.6) ? random.pick(Object.keys(ENDS)) : null
    if (this.end === 'fault') this.#pieces.push(frame(3, 'x'))
    else if (this.end === 'bye') this.#pieces.push(closing(1_000))
    else if (this.end !== null) this.#pieces.push(frame(TEXT, this.end))
    if (this.end !== null && random.chance(0.5)) this.#pieces.push(frame(TEXT, 'ignored'), frame(PING, 'ignored'))
  }

  #plan(random: SeededRandom, head: string): void {
    const text = head + 'ä'.repeat(Math.floor(random.pick(SIZES) / 2))
    if (!head.startsWith('room')) this.echoes.push(text)
    const opcode = random.pick([TEXT, BINARY])
    const compressed = this.compresses && random.chance(0.5)
    const bytes = compressed ? deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -TAIL.length) : Buffer.from(text)
    const cuts = random.chance(0.4) ? [random.below(bytes.length), random.below(bytes.length)].sort((a, b) => a - b) : []
    const ends = [...cuts, bytes.length]
    for (const [i, end] of ends.entries()) {
      const payload = bytes.subarray(i === 0 ? 0 : ends[i - 1], end)
      this.#pieces.push(frame(i === 0 ? opcode : 0, payload, { fin: i === ends.length - 1, compressed: compressed && i === 0 }))
      if (random.chance(0.3)) this.#ping(`${head}${i}`)
    }
  }

  #ping(payload: string): void {
    this.pings.push(payload)
    this.#pieces.push(frame(PING, payload))
  }

  /** Sends the next piece, or several at once. @returns whether there was one */
  proceed(count: number): boolean {
    const pieces = this.#pieces.splice(0, count)
    for (const piece of pieces) this.socket.send(piece)
    return pieces.length > 0
  }

  get hasSentAll(): boolean {
    return this.#pieces.length === 0
  }

  /** Answers a close. @returns whether there was one */
  answer(): boolean {
    if (this.#hasAnswered || !this.hasSentAll) return false
    const last = this.heard().frames.at(-1)
    this.#hasAnswered = last?.opcode === CLOSE
    if (this.#hasAnswered) this.socket.send(closing(Number(last!.text)))
    return this.#hasAnswered
  }

  /** What it has received: whole frames, and whether bytes are left that are none. */
  heard(): { readonly frames: readonly { readonly opcode: number; readonly text: string }[]; readonly isCut: boolean } {
    const { received } = this.socket
    const frames: { opcode: number; text: string }[] = []
    const start = received.indexOf('\r\n\r\n')
    if (start === -1) return { frames, isCut: received.length > 0 }
    // A request that was too slow.
    if (!received.toString('latin1', 0, start).startsWith('HTTP/1.1 101 ')) return { frames, isCut: false }
    let rest = received.subarray(start + 4)
    for (;;) {
      const short = rest[1] ?? 0
      const at = short < 126 ? 2 : short === 126 ? 4 : 10
      if (rest.length < at) break
      const length = short < 126 ? short : short === 126 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2))
      if (rest.length < at + length) break
      const payload = rest.subarray(at, at + length)
      const isCompressed = (rest[0]! & 0x40) !== 0
      const whole = isCompressed ? inflateRawSync(Buffer.concat([payload, TAIL]), { finishFlush: constants.Z_SYNC_FLUSH }) : payload
      const opcode = rest[0]! & 0x0f
      frames.push({ opcode, text: opcode === CLOSE ? String(payload.length === 0 ? 1_005 : payload.readUInt16BE()) : whole.toString() })
      rest = rest.subarray(at + length)
    }
    return { frames, isCut: rest.length > 0 }
  }
}

class Simulation {
  readonly #random: SeededRandom
  readonly #clock = new TestClock()
  readonly #failAt: number | undefined
  readonly #trace: (event: string) => void
  readonly #hasTime: boolean
  readonly #wrongs: string[] = []
  readonly #clients = new Map<string, Client>()
  readonly #connections: Http1Connection[] = []
  readonly #seen = new Map<string, Seen>()
  #route!: WebSocketRoute<{ readonly name: string }>
  #gates: (() => void)[] = []
  #timePassed = false
  operations = 0

  constructor(seed: number, { failAt, trace = () => {} }: WebSocketSimulationOptions) {
    this.#random = new SeededRandom(seed)
    this.#failAt = failAt
    this.#trace = trace
    this.#hasTime = this.#random.chance(0.3) && failAt === undefined
  }

  async run(): Promise<void> {
    wires = new Set()
    const random = this.#random
    this.#open()
    const steps = random.pick(SOME_STEPS)
    for (let step = 0; step < steps; step++) {
      await this.#step()
      if (random.chance(0.7)) await settled()
    }
    await this.#rest()
    for (const [name, client] of this.#clients) this.#judge(name, client)
    await this.#end()
    this.#lookAround()
    if (this.#wrongs.length > 0) throw new Error(this.#wrongs.join('\n'))
  }

  // The server.

  #open(): void {
    const random = this.#random
    const hear = (_message: string, error: unknown): void => {
      if (!(error instanceof Error) || error.message !== PLANNED) this.#blame(`it logged ${String(error)}`)
    }
    const server = new HttpServer({ hosts: 'any', logger: { error: hear, warn: hear } })
    this.#route = websocket('/:name', {
      pingInterval: PING_INTERVAL_MS,
      perMessageDeflate: true,
      open: (socket) => this.#onOpen(socket),
      message: (socket, data) => this.#onMessage(socket, Buffer.from(data as Uint8Array).toString()),
      close: (socket) => this.#onClose(socket),
    })
    server.use(this.#route)
    const host = hostOf(server)
    const timed = derivedHost(host, { ticker: new Ticker(this.#clock, host.timeouts) })
    const shared = random.chance(0.6) ? Buffer.alloc(random.pick([50, 5_000, 64 * 1024])) : null
    const count = random.between(1, 4)
    for (let i = 0; i < count; i++) {
      const name = `client${i}`
      const socket = new SimulatedSocket({
        highWaterMark: random.pick([1, 1_000, 64 * 1024]),
        shared,
        fails: (operation) => {
          this.operations++
          this.#trace(`${this.operations}: ${operation} on ${name}`)
          return this.operations === this.#failAt
        },
        blame: (what) => {
          // A program may abort a connection, and so may weir when its client is silent.
          const mayDiscard = this.#clients.get(name)?.end === 'terminate' || this.#timePassed
          if (!mayDiscard || !what.startsWith('it discarded')) this.#blame(`${name}: ${what}`)
        },
      })
      this.#clients.set(name, new Client(random, socket, name))
      const connection = new Http1Connection(timed, socket, STRANGER)
      socket.start(connection)
      this.#connections.push(connection)
    }
  }

  #blame(what: string): void {
    this.#trace(`WRONG: ${what}`)
    this.#wrongs.push(what)
  }

  #pause(): Promise<void> {
    return this.#random.chance(0.4) ? Promise.resolve() : new Promise((resolve) => this.#gates.push(resolve))
  }

  #onOpen(socket: WebSocketConnection<{ readonly name: string }>): unknown {
    const { name } = socket.args
    if (this.#seen.has(name)) this.#blame(`${name} was opened twice`)
    this.#seen.set(name, { messages: [], isOpen: true, isClosed: false, isHandling: false })
    socket.join('all')
    return this.#random.chance(0.3) ? this.#handle(name, () => this.#pause()) : undefined
  }

  #onMessage(socket: WebSocketConnection<{ readonly name: string }>, text: string): unknown {
    const { name } = socket.args
    const seen = this.#seen.get(name)!
    if (seen.isClosed || seen.isHandling) this.#blame(`${name} got a message ${seen.isClosed ? 'after its close' : 'too early'}`)
    seen.messages.push(text)
    const [kind] = text.split(' ')
    if (kind === 'close') return socket.close(4_001)
    if (kind === 'terminate') return socket.terminate()
    if (kind === 'throw') throw new Error(PLANNED)
    if (kind === 'room') return void socket.broadcast('all', `${name} ${text}`)
    if (kind === 'echo') return void socket.send(text)
    return this.#handle(name, async () => {
      await this.#pause()
      socket.send(text)
      if (kind === 'drained') await socket.drained()
    })
  }

  #onClose(socket: WebSocketConnection<{ readonly name: string }>): void {
    const seen = this.#seen.get(socket.args.name)!
    if (seen.isClosed || seen.isHandling) this.#blame(`${socket.args.name} was closed ${seen.isClosed ? 'twice' : 'too early'}`)
    seen.isClosed = true
    if (socket.isOpen || socket.rooms.length > 0 || socket.send('late')) this.#blame('a closed socket is open')
  }

  async #handle(name: string, work: () => Promise<void>): Promise<void> {
    const seen = this.#seen.get(name)!
    seen.isHandling = true
    await work()
    seen.isHandling = false
  }

  // Events.

  async #step(): Promise<void> {
    const random = this.#random
    const client = random.pick([...this.#clients.values()])
    const dice = random.below(100)
    if (dice < 35) client.socket.deliver(random.pick(AMOUNTS))
    else if (dice < 60) client.socket.take(random.pick(AMOUNTS))
    else if (dice < 72) this.#gates.splice(random.below(this.#gates.length), 1)[0]?.()
    else if (dice < 94) client.proceed(random.between(1, 4))
    else if (dice < 97 && this.#hasTime) await this.#pass(random.pick(DURATIONS_MS))
  }

  async #pass(ms: number): Promise<void> {
    this.#timePassed = true
    await this.#clock.advance(ms)
  }

  #openGates(): void {
    for (const open of this.#gates.splice(0)) open()
  }

  /** Moves everything that can move without time. */
  async #rest(): Promise<void> {
    for (let round = 0, still = 0; still < 3; round++) {
      if (round === 2_000) return this.#blame('it never became quiet')
      let moved = this.#gates.length > 0
      for (const client of this.#clients.values()) {
        const { socket } = client
        moved = client.proceed(20) || client.answer() || socket.deliverable > 0 || socket.takeable > 0 || moved
        socket.deliver(Number.POSITIVE_INFINITY)
        socket.take(Number.POSITIVE_INFINITY)
        if (socket.hasEnded && !socket.isGone) socket.sendEnd()
      }
      this.#openGates()
      await settled()
      still = moved ? 0 : still + 1
    }
  }

  /** Ends the run in one of the ways in which connections may end. */
  async #end(): Promise<void> {
    const sockets = [...this.#clients.values()].map(({ socket }) => socket)
    const way = this.#random.below(3)
    const open = [...this.#clients].filter(([name, { socket }]) => this.#seen.get(name)?.isClosed === false && !socket.isGone)
    if (way === 0) for (const socket of sockets) socket.break()
    if (way === 1) for (const socket of sockets) socket.sendEnd()
    if (way === 2) {
      for (const connection of this.#connections) connection.drain()
      for (const socket of this.#route.connections) socket.stop()
    }
    await this.#rest()
    if (way === 2 && !this.#timePassed)
      for (const [name, client] of open) {
        const last = client.heard().frames.at(-1)
        const isTold = last?.opcode === CLOSE && (last.text === '1001' || client.end !== null)
        if (!isTold && !client.socket.isBroken) this.#blame(`${name} was not told of the stop`)
      }
    for (const socket of sockets) socket.break()
    await this.#rest()
  }

  // What must hold.

  /** Nothing moves any more. */
  #judge(name: string, client: Client): void {
    const { socket, echoes, pings, end, hasSentAll } = client
    const { frames, isCut } = client.heard()
    if (isCut && !socket.isBroken && !this.#timePassed && end !== 'terminate') this.#blame(`${name} has received a part of a frame`)
    const closes = frames.filter(({ opcode }) => opcode === CLOSE)
    if (closes.length > 1 || (closes.length === 1 && frames.at(-1)!.opcode !== CLOSE)) this.#blame(`${name} got something after a close`)
    const isWhole = hasSentAll && !socket.isBroken && !this.#timePassed && end !== 'terminate'
    this.#compare(
      `${name}: echoes`,
      frames.filter(({ opcode, text }) => isData(opcode) && !text.startsWith('client')).map(textOf),
      echoes,
      isWhole,
    )
    this.#compare(`${name}: pongs`, frames.filter(({ opcode }) => opcode === PONG).map(textOf), pings, isWhole)
    if (!isWhole) return
    const code = end === null ? undefined : ENDS[end]!
    if (closes[0]?.text !== (code === undefined ? undefined : String(code)))
      this.#blame(`${name} was closed with ${closes[0]?.text}, not ${code}`)
    if (this.#seen.get(name)?.isClosed !== (end !== null)) this.#blame(`${name}: close was ${end === null ? '' : 'not '}called`)
  }

  /** What has come is in order. Unless something was disturbed, it is all there is. */
  #compare(what: string, heard: readonly string[], sent: readonly string[], isWhole: boolean): void {
    if (heard.some((text, i) => text !== sent[i]) || (isWhole && heard.length < sent.length))
      this.#blame(`${what} are ${heard.map(short)}, and should be ${sent.map(short)}`)
  }

  /** All connections are gone. */
  #lookAround(): void {
    for (const [name, { isClosed, isHandling }] of this.#seen) if (!isClosed || isHandling) this.#blame(`${name} was not closed`)
    if (this.#route.connections.size > 0) this.#blame('the route has connections')
    if (this.#route.broadcast('all', 'to nobody') > 0) this.#blame('the room has members')
    if (this.#clock.running > 0) this.#blame('the clock is still running')
    for (const wire of wires) if (wire.heldBytes + wire.waitingBytes > 0) this.#blame('a closed connection holds bytes')
  }
}

const isData = (opcode: number): boolean => opcode === TEXT || opcode === BINARY
const textOf = ({ text }: { readonly text: string }): string => text
const short = (text: string): string => text.slice(0, 12)
