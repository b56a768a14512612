// A model of an event service on many machines: processes behind a balancer, clients with EventSource, and a relay between the processes.
//
// It computes what no two cores can run: a thousand processes and a million clients. Its costs are those that were measured on one process
// (measure.ts); everything else is an assumption, and docs/reliability.md lists them. Times are in milliseconds.

import { SeededRandom } from '../../packages/dev/src/chaos/seeded-random.ts'
import { EventQueue } from './event-queue.ts'

export interface Assumptions {
  readonly processes: number
  readonly clients: number
  /** Events a second. Every client hears all of them. */
  readonly eventsPerSecond: number
  /** CPU time that a process needs to accept a client and to send the head and what the client missed. */
  readonly connectMs: number
  /** CPU time that a process needs for one event to one client. */
  readonly deliverMs: number
  /** From the start of a process until it listens. */
  readonly startMs: number
  /** Connections that may wait at the socket of a process; one more is refused. */
  readonly backlog: number
  /** How many processes the balancer tries for one connection. When all refuse, it responds with 503. */
  readonly tries: number
  /** How long the balancer still tries a process that has died. One that is restarted has said before that it is not ready. */
  readonly noticeMs: number
  /** How long the balancer waits for the head of a response. After that, it responds with 504. */
  readonly answerTimeoutMs: number
  /** What `retry` says: how long a client waits at least before it reconnects. */
  readonly retryMs: number
  /** The random part of `retry`, which is added to it: uniform between 0 and this. */
  readonly jitterMs: number
  /** What a client does after a 503 or 504. EventSource gives up for ever; a program's own loop tries again. */
  readonly afterRefusal: 'give-up' | 'retry'
  readonly relay: Relay
  /** Whose clock makes the ids of events. By those of the processes, which differ by up to `skewMs` in either direction. */
  readonly ids: 'relay' | 'process'
  readonly skewMs: number
  readonly seed: number
}

/** What a client gets of the events that it missed while it was away. */
export type Relay =
  /** Those that the process it reaches has heard, at most `history`. */
  | { readonly kind: 'publish-subscribe'; readonly history: number }
  /** Those that the stream still holds. */
  | { readonly kind: 'stream'; readonly maxLength: number }

export interface Findings {
  /** Events that clients never received, summed over all clients. */
  readonly lost: number
  /** Events that clients received twice, summed over all clients. */
  readonly repeated: number
  /** Clients that lost at least one event. */
  readonly clientsWithLoss: number
  /** Clients that gave up after a 503 or 504. */
  readonly gaveUp: number
  /** Responses of 503 or 504. */
  readonly refusals: number
  /** From the first disturbance until every client that has not given up is connected again. */
  readonly steadyAfterMs: number
  /** The longest time that a client was away. */
  readonly longestAwayMs: number
  /** The most connections that waited at one process. */
  readonly longestQueue: number
  /** The most connection attempts in one second. */
  readonly peakAttempts: number
}

/** What happens to the service. */
export type Disturbance =
  /** Processes restart in turn, `batch` at a time. The next batch waits until this one listens. */
  | { readonly kind: 'rolling-restart'; readonly batch: number }
  /** A share of the processes dies, and starts again. */
  | { readonly kind: 'crash'; readonly share: number }
  /** The balancer loses all connections. The processes go on. */
  | { readonly kind: 'balancer-restart' }
  /** A share of the processes cannot reach the relay for a time. Their clients stay connected. */
  | { readonly kind: 'partition'; readonly share: number; readonly forMs: number }

const AWAY = -1
const GONE = -2

export function simulate(assumptions: Assumptions, disturbance: Disturbance): Findings {
  return new Model(assumptions).run(disturbance)
}

class Model {
  readonly #given: Assumptions
  readonly #random: SeededRandom
  /** Numbers of what is due: a client that connects, one that arrives, one that is refused (each kind `clients` numbers), or an action. */
  readonly #queue = new EventQueue()
  readonly #actions: (() => void)[] = []
  /** Of each client: where it is, since when it is away, what it has lost and at which start of which process its connection waits. */
  readonly #processOf: Int32Array
  readonly #lastProcessOf: Int32Array
  readonly #awaySince: Float64Array
  readonly #lostOf: Float64Array
  readonly #waitsAt: Int32Array
  readonly #waitsForStart: Float64Array
  /** Of each process: since when it listens or is down, who is connected, what waits, and when that is worked off. */
  readonly #isUp: Uint8Array
  readonly #startedAt: Float64Array
  readonly #noticedAt: Float64Array
  readonly #connected: Int32Array
  readonly #waiting: Int32Array
  readonly #busyUntil: Float64Array
  readonly #skew: Float64Array
  #now = 0
  #nextProcess = 0
  #attempts = 0
  #attemptsSecond = 0
  #peakAttempts = 0
  #steadyAt = 0
  #longestAwayMs = 0
  #longestQueue = 0
  #refusals = 0
  #gaveUp = 0
  #repeated = 0
  #away = 0

  constructor(given: Assumptions) {
    this.#given = given
    this.#random = new SeededRandom(given.seed)
    const { processes, clients } = given
    this.#processOf = new Int32Array(clients)
    this.#lastProcessOf = new Int32Array(clients)
    this.#awaySince = new Float64Array(clients)
    this.#lostOf = new Float64Array(clients)
    this.#waitsAt = new Int32Array(clients)
    this.#waitsForStart = new Float64Array(clients)
    this.#isUp = new Uint8Array(processes).fill(1)
    this.#startedAt = new Float64Array(processes).fill(-Infinity)
    this.#noticedAt = new Float64Array(processes)
    this.#connected = new Int32Array(processes)
    this.#waiting = new Int32Array(processes)
    this.#busyUntil = new Float64Array(processes)
    this.#skew = Float64Array.from({ length: processes }, () => (this.#random.fraction() * 2 - 1) * given.skewMs)
    for (let client = 0; client < clients; client++) {
      this.#processOf[client] = client % processes
      this.#connected[client % processes]!++
    }
  }

  run(disturbance: Disturbance): Findings {
    this.#disturb(disturbance)
    while (this.#queue.size > 0) {
      this.#now = this.#queue.nextTime
      this.#happen(this.#queue.take())
    }
    return {
      lost: this.#lostOf.reduce((sum, events) => sum + events, 0),
      repeated: this.#repeated,
      clientsWithLoss: this.#lostOf.reduce((count, events) => count + (events > 0 ? 1 : 0), 0),
      gaveUp: this.#gaveUp,
      refusals: this.#refusals,
      steadyAfterMs: this.#steadyAt,
      longestAwayMs: this.#longestAwayMs,
      longestQueue: this.#longestQueue,
      peakAttempts: Math.max(this.#peakAttempts, this.#attempts),
    }
  }

  #happen(due: number): void {
    const { clients } = this.#given
    if (due < clients) this.#connect(due)
    else if (due < 2 * clients) this.#arrive(due - clients)
    else if (due < 3 * clients) this.#refuse(due - 2 * clients)
    else this.#actions[due - 3 * clients]!()
  }

  #disturb(disturbance: Disturbance): void {
    const { processes, clients, noticeMs } = this.#given
    switch (disturbance.kind) {
      case 'rolling-restart':
        this.#restartFrom(0, disturbance.batch)
        break
      case 'crash':
        this.#restart(0, Math.round(processes * disturbance.share), noticeMs)
        break
      case 'balancer-restart':
        for (let client = 0; client < clients; client++) this.#disconnect(client)
        break
      case 'partition':
        this.#partition(Math.round(processes * disturbance.share), disturbance.forMs)
    }
  }

  #after(ms: number, action: () => void): void {
    this.#actions.push(action)
    this.#queue.add(this.#now + ms, 3 * this.#given.clients + this.#actions.length - 1)
  }

  #restartFrom(first: number, batch: number): void {
    const end = Math.min(first + batch, this.#given.processes)
    this.#restart(first, end, 0)
    if (end < this.#given.processes) this.#after(this.#given.startMs, () => this.#restartFrom(end, batch))
  }

  /** The processes stop and lose their clients. They listen again after `startMs`. */
  #restart(first: number, end: number, noticeMs: number): void {
    for (let process = first; process < end; process++) {
      this.#isUp[process] = 0
      this.#noticedAt[process] = this.#now + noticeMs
      this.#waiting[process] = 0
    }
    this.#after(this.#given.startMs, () => {
      for (let process = first; process < end; process++) {
        this.#isUp[process] = 1
        this.#startedAt[process] = this.#now
        this.#busyUntil[process] = this.#now
      }
    })
    for (let client = 0; client < this.#given.clients; client++) {
      const process = this.#processOf[client]!
      if (process >= first && process < end) this.#disconnect(client)
    }
  }

  #partition(cut: number, forMs: number): void {
    const { relay, eventsPerSecond, clients } = this.#given
    const missed = (forMs * eventsPerSecond) / 1000
    const lost = relay.kind === 'stream' ? Math.max(0, missed - relay.maxLength) : missed
    for (let client = 0; client < clients; client++) if (this.#processOf[client]! < cut) this.#lostOf[client] = lost
    this.#steadyAt = forMs
  }

  #disconnect(client: number): void {
    const process = this.#processOf[client]!
    this.#connected[process]!--
    this.#lastProcessOf[client] = process
    this.#processOf[client] = AWAY
    this.#awaySince[client] = this.#now
    this.#away++
    this.#retry(client)
  }

  #retry(client: number): void {
    this.#queue.add(this.#now + this.#given.retryMs + this.#random.fraction() * this.#given.jitterMs, client)
  }

  /** A client reaches the balancer, which passes it to a process. */
  #connect(client: number): void {
    const { clients, answerTimeoutMs } = this.#given
    this.#countAttempt()
    const process = this.#choose()
    if (process === null) {
      this.#refuse(client)
      return
    }
    const doneAt = Math.max(this.#busyUntil[process]!, this.#now) + this.#connectMs(process)
    if (doneAt - this.#now > answerTimeoutMs) {
      this.#queue.add(this.#now + answerTimeoutMs, 2 * clients + client)
      return
    }
    this.#busyUntil[process] = doneAt
    this.#longestQueue = Math.max(this.#longestQueue, ++this.#waiting[process]!)
    this.#waitsAt[client] = process
    this.#waitsForStart[client] = this.#startedAt[process]!
    this.#queue.add(doneAt, clients + client)
  }

  /** Connecting is slower while events use a part of the core. */
  #connectMs(process: number): number {
    const { eventsPerSecond, deliverMs, connectMs } = this.#given
    const busy = Math.min(0.95, ((this.#connected[process]! + this.#waiting[process]!) * eventsPerSecond * deliverMs) / 1000)
    return connectMs / (1 - busy)
  }

  /** Round robin over the processes that are not known to be down. At most `tries` may refuse. */
  #choose(): number | null {
    const { processes, backlog } = this.#given
    let tries = this.#given.tries
    for (let i = 0; i < processes && tries > 0; i++) {
      const process = this.#nextProcess
      this.#nextProcess = (process + 1) % processes
      const isUp = this.#isUp[process] === 1
      if (isUp && this.#waiting[process]! < backlog) return process
      if (isUp || this.#now < this.#noticedAt[process]!) tries--
    }
    return null
  }

  #arrive(client: number): void {
    const process = this.#waitsAt[client]!
    // What waited at a process that was restarted in between is lost.
    if (this.#isUp[process] === 0 || this.#startedAt[process] !== this.#waitsForStart[client]) {
      this.#retry(client)
      return
    }
    this.#waiting[process]!--
    this.#processOf[client] = process
    this.#connected[process]!++
    const awayMs = this.#now - this.#awaySince[client]!
    this.#longestAwayMs = Math.max(this.#longestAwayMs, awayMs)
    this.#catchUp(client, process, (awayMs * this.#given.eventsPerSecond) / 1000)
    this.#endAbsence()
  }

  /** What of the events that a client missed it does not get, and what it gets again. */
  #catchUp(client: number, process: number, missed: number): void {
    const { relay, eventsPerSecond, ids } = this.#given
    const aheadMs = ids === 'relay' ? 0 : this.#skew[this.#lastProcessOf[client]!]! - this.#skew[process]!
    const skipped = Math.min(missed, (Math.max(0, aheadMs) * eventsPerSecond) / 1000)
    this.#repeated += (Math.max(0, -aheadMs) * eventsPerSecond) / 1000
    const heard = ((this.#now - this.#startedAt[process]!) * eventsPerSecond) / 1000
    const kept = relay.kind === 'stream' ? relay.maxLength : Math.min(relay.history, heard)
    this.#lostOf[client]! += Math.max(skipped, missed - kept, 0)
  }

  #refuse(client: number): void {
    this.#refusals++
    if (this.#given.afterRefusal === 'retry') {
      this.#retry(client)
      return
    }
    this.#processOf[client] = GONE
    this.#gaveUp++
    this.#endAbsence()
  }

  #endAbsence(): void {
    if (--this.#away === 0) this.#steadyAt = this.#now
  }

  #countAttempt(): void {
    const second = Math.floor(this.#now / 1000)
    if (second !== this.#attemptsSecond) {
      this.#peakAttempts = Math.max(this.#peakAttempts, this.#attempts)
      this.#attempts = 0
      this.#attemptsSecond = second
    }
    this.#attempts++
  }
}
