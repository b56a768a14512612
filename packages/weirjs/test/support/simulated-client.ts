// A client of a simulation: the requests that it sends, what each of them must lead to, and how it judges what it received.

import type { SeededRandom } from '../../../dev/src/chaos/seeded-random.ts'
import { readMessage } from './raw-client.ts'
import { type Ending, TEMPERS, type Temper } from './simulated-handlers.ts'
import type { SimulatedSocket } from './simulated-socket.ts'

/** The limits of the simulated server. They are small, so that bodies below and above them are cheap. */
export const MAX_BODY = 8_000
export const MAX_DRAIN = 4_000

/** One request and its required result. */
interface Plan {
  readonly n: number
  /** A title for reports. */
  readonly title: string
  readonly bytes: Buffer
  readonly isHead: boolean
  readonly expectsContinue: boolean
  readonly ending: Ending
  /** The body of a 200; null: any. */
  readonly body: Buffer | null
  /** Whether the connection ends with its response. */
  readonly mustClose: boolean
  /** Whether the connection may end with its response, or after it. */
  readonly mayClose: boolean
  /** Whether its head cannot be read, so that its response cannot name the request. */
  readonly isUnreadable: boolean
}

/** What has happened to a connection, and therefore how a server may have ended it. */
export interface Circumstances {
  /** Whether time has passed, so that timeouts may have ended what was in progress. */
  readonly timePassed: boolean
  /** Whether the server was told to stop. */
  readonly stopped: boolean
  /** Whether everything has moved that could. */
  readonly isQuiet: boolean
  /** The number of requests that the application received. */
  readonly accepted: number
}

const GETS = Object.keys(TEMPERS).filter((name) => TEMPERS[name]!.method === 'GET')
const POSTS = Object.keys(TEMPERS).filter((name) => TEMPERS[name]!.method === 'POST')
/** Handlers that read a body to its end before they respond. */
export const CAREFUL: readonly string[] = ['echo', 'echoLater', 'echoView', 'gathering', 'reading']
const UNREADABLE = [
  'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
  'GET / HTTP/1.1\nHost: a\n\n',
  '\0\0\0\0',
  'GET /a b HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
]

export class SimulatedClient {
  readonly plans: Plan[] = []
  readonly socket: SimulatedSocket
  /** Whether it waits for a response before the next request. */
  readonly isPolite: boolean
  /** Whether it keeps its side open after the server has ended its own. */
  readonly isStubborn: boolean
  /** Whether it ends its side after its last request, or in the middle of one. */
  readonly endsEarly: boolean
  readonly isTruncated: boolean
  /** The pieces that it sends: whole requests, and one that may be incomplete. */
  readonly #parts: Buffer[]
  #sent = 0
  #seenBytes = 0

  /** The statuses of whole responses to requests that the application received, as `judge` last read them. */
  statuses: readonly number[] = []

  constructor(random: SeededRandom, socket: SimulatedSocket) {
    this.socket = socket
    const count = random.between(1, 6)
    while (this.plans.length < count) {
      const plan = makePlan(random, this.plans.length)
      this.plans.push(plan)
      if (plan.isUnreadable) break
    }
    this.isPolite = random.chance(0.4)
    this.isStubborn = random.chance(0.15)
    this.endsEarly = random.chance(0.25)
    this.isTruncated = random.chance(0.12)
    this.#parts = this.plans.map(({ bytes }) => bytes)
    if (this.isTruncated) this.#parts.push(this.#parts.pop()!.subarray(0, -random.between(1, 40)))
  }

  /** Sends what is due. @returns whether it sent anything */
  proceed(isImpatient: boolean): boolean {
    const { socket } = this
    if (socket.isGone) return false
    const before = this.#sent
    const hasNews = socket.received.length > this.#seenBytes || this.#sent === 0
    while (this.#sent < this.#parts.length && (!this.isPolite || isImpatient || hasNews)) {
      socket.send(this.#parts[this.#sent++]!)
      this.#seenBytes = socket.received.length
      if (this.#sent === this.#parts.length && (this.isTruncated || this.endsEarly)) socket.sendEnd()
      if (this.isPolite) break
    }
    if (socket.hasEnded && !this.isStubborn) socket.sendEnd()
    return this.#sent > before
  }

  /** @returns what is wrong with the bytes received; null if nothing is */
  judge(circumstances: Circumstances): string | null {
    const { socket, plans } = this
    const { isQuiet, stopped, timePassed, accepted } = circumstances
    let rest = socket.received
    let saysClose = false
    let answered = 0
    let named = 0
    let hadContinue = false
    const statuses: number[] = []
    this.statuses = statuses
    while (rest.length > 0) {
      const plan = plans[answered]
      if (plan === undefined) return `${rest.length} bytes arrived after the last response: ${quote(rest)}`
      if (saysClose) return `${quote(rest)} arrived after a response with Connection: close`
      // A refusal of an incomplete head has a body, unless the method had already arrived.
      const isOfHead = plan.isHead && (/^x-n:/im.test(rest.toString('latin1', 0, 500)) || rest.indexOf('\r\n\r\n') === rest.length - 4)
      const read = readMessage(rest, isOfHead, socket.hasEnded)
      if (read === null) break
      const { message, length } = read
      rest = rest.subarray(length)
      if (message.status === 100) {
        if (!plan.expectsContinue || hadContinue) return `an unwanted 100 Continue arrived before the response to ${plan.title}`
        hadContinue = true
        continue
      }
      hadContinue = false
      const { status } = message
      const where = `the response to ${plan.title} (${message.head.split('\r\n')[0]})`
      const name = message.header('x-n')
      if (name !== null) statuses.push(status)
      if (name !== null) named++
      if (name !== null && name !== String(plan.n)) return `${where} belongs to request ${name}`
      saysClose = message.header('connection') === 'close'
      if (name === null && !saysClose) return `${where} does not name its request, and keeps the connection open`
      const isOdd = name === null && !plan.isUnreadable
      if (isOdd && !(status === 408 && timePassed)) return `${where} does not name its request`
      const wasTimed = timePassed && (status === 408 || status === 503)
      const wasCut = this.isTruncated && answered === this.#parts.length - 1 && status === 400
      // The signal of a waiting handler fires when its client ends its side. Its rejection becomes a response that the client may still
      // read.
      const wasLeft = socket.hasToldEnd && /\/(?:untilAborted|gateUntilAborted)(?:\/| )/.test(plan.title) && status === 400
      // A Readable that is destroyed discards the pieces that it had not emitted, so its failure may come before the first one.
      const wasEmpty = plan.title.includes('/readableFails/') && status === 500
      if (status !== plan.ending && !wasTimed && !wasCut && !wasLeft && !wasEmpty) return `${where} should be ${plan.ending}`
      if (status === 200 && plan.body !== null && !plan.body.equals(message.body)) {
        return `${where} has ${message.body.length} bytes, ${quote(message.body)}, instead of the ${plan.body.length}, ${quote(plan.body)}`
      }
      if (plan.mustClose && !saysClose) return `${where} lacks Connection: close`
      const mayClose = plan.mayClose || plan.mustClose || stopped || this.isTruncated || this.endsEarly || timePassed
      if (saysClose && !mayClose) return `${where} has Connection: close without need`
      answered++
    }
    const plan = plans[answered]
    const last = plans[answered - 1]
    if (rest.length > 0 && socket.hasEnded)
      return `a response to ${plan?.title} was cut short, but ended as if it were complete: ${quote(rest)}`
    if (named > accepted) return `${named} responses to ${accepted} requests`
    if (socket.hasEnded && !socket.isBroken && named < accepted)
      return `${named} responses to ${accepted} requests on a connection that was closed normally`
    if (!isQuiet || socket.isBroken) {
      // A reset also discards what was still to be sent of earlier responses.
      const mayBreak = timePassed || stopped || this.isTruncated || plans.slice(answered, accepted).some(({ ending }) => ending === 'break')
      if (isQuiet && socket.wasReset && !mayBreak) return `it was reset at ${plan?.title}`
      return null
    }
    // Nothing more will move: whatever is not answered now has been forgotten, unless its handler never settles.
    const mayEnd = saysClose || last?.mayClose === true || stopped || timePassed
    if (plan === undefined || plan.ending === 'nothing' || (this.isTruncated && answered === plans.length - 1)) return null
    if (plan.ending === 'break' && plan.title.includes('streamNever')) return null
    if (mayEnd) return socket.hasEnded || socket.isGone ? null : `it neither closed the connection nor answered ${plan.title}`
    return `${plan.title} was never answered`
  }
}

function makePlan(random: SeededRandom, n: number): Plan {
  const dice = random.below(100)
  if (dice < 3) return unreadable(random, n)
  const isPost = dice < 50
  const name = random.pick(isPost ? POSTS : GETS)
  const temper = TEMPERS[name]!
  if (dice >= 97) return { ...plain(random, n, 'GET', `/nowhere/${n}`), ending: 404 }
  if (dice === 96) return { ...plain(random, n, 'DELETE', `/text/${n}`), ending: 405 }
  if (!isPost) return get(random, n, name, temper)
  return post(random, n, name, temper)
}

function unreadable(random: SeededRandom, n: number): Plan {
  const bytes = Buffer.from(random.pick(UNREADABLE), 'latin1')
  const ways = { isHead: false, expectsContinue: false, body: null, mustClose: true, mayClose: true, isUnreadable: true }
  return { n, title: `request ${n} (unreadable)`, bytes, ending: 400, ...ways }
}

function plain(random: SeededRandom, n: number, method: string, path: string): Plan {
  const version = random.chance(0.06) ? 0 : 1
  const asked = random.below(20)
  const connection = asked === 0 ? 'close' : version === 0 && asked < 10 ? 'keep-alive' : ''
  const field = connection === '' ? '' : `Connection: ${connection}\r\n`
  const bytes = Buffer.from(`${method} ${path} HTTP/1.${version}\r\nHost: h\r\n${field}\r\n`)
  const mustClose = connection === 'close' || (version === 0 && connection === '')
  const ways = { isHead: method === 'HEAD', expectsContinue: false, body: null, mayClose: version === 0, isUnreadable: false }
  return { n, title: `request ${n} (${method} ${path} HTTP/1.${version} ${connection})`, bytes, ending: 200, mustClose, ...ways }
}

function get(random: SeededRandom, n: number, name: string, temper: Temper): Plan {
  const isHead = random.chance(0.1)
  const plan = plain(random, n, isHead ? 'HEAD' : 'GET', `/${name}/${n}`)
  // The stream of a response to HEAD is not read, so it cannot fail.
  const ending = isHead && (temper.ending === 'break' || name === 'streamFailsAtOnce') ? 200 : temper.ending
  const body = isHead || temper.answers === undefined ? null : Buffer.from(temper.answers(n, Buffer.alloc(0)) as string)
  return { ...plan, ending, body, mustClose: plan.mustClose || temper.closes === true }
}

function post(random: SeededRandom, n: number, name: string, temper: Temper): Plan {
  const isCareful = CAREFUL.includes(name)
  const isTooLarge = random.chance(0.05)
  const size = isTooLarge ? MAX_BODY + random.between(1, 3_000) : random.pick([0, 1, 10, 300, MAX_DRAIN, MAX_BODY])
  const sent = Buffer.alloc(size, `${n}-${name}.`)
  const isChunked = random.chance(0.5) && (isCareful || !isTooLarge)
  const isBroken = isChunked && isCareful && !isTooLarge && random.chance(0.15)
  const expectsContinue = random.chance(0.15)
  const isLast = random.chance(0.05)
  const fields = [
    isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${size}`,
    ...(expectsContinue ? ['Expect: 100-continue'] : []),
    ...(isLast ? ['Connection: close'] : []),
  ]
  const head = `POST /${name}/${n} HTTP/1.1\r\nHost: h\r\n${fields.join('\r\n')}\r\n\r\n`
  const body = isChunked ? chunked(random, sent, isBroken) : sent
  const isRead = temper.refuses !== true && temper.ending !== 'nothing'
  const ending = isRead && isBroken ? 400 : isRead && isTooLarge ? 413 : temper.ending
  return {
    n,
    title: `request ${n} (POST /${name} of ${size}${isChunked ? ' chunked' : ''}${isBroken ? ' broken' : ''} bytes; ${fields.slice(1).join(' ')})`,
    bytes: Buffer.concat([Buffer.from(head), body]),
    isHead: false,
    expectsContinue,
    ending,
    body: ending !== 200 || temper.answers === undefined ? null : Buffer.from(temper.answers(n, sent)),
    mustClose: isLast || (isRead && isBroken),
    mayClose: isTooLarge || isBroken || (temper.leavesBody === true && (size > MAX_DRAIN || expectsContinue)),
    isUnreadable: false,
  }
}

function chunked(random: SeededRandom, body: Buffer, isBroken: boolean): Buffer {
  const pieces: Buffer[] = []
  const most = random.pick([50, 1_000, MAX_BODY])
  for (let at = 0; at < body.length; ) {
    const size = Math.min(random.between(1, most), body.length - at)
    const extension = random.chance(0.1) ? ';a="b"' : ''
    pieces.push(Buffer.from(`${size.toString(16)}${extension}\r\n`), body.subarray(at, at + size), Buffer.from('\r\n'))
    at += size
  }
  pieces.push(Buffer.from(isBroken ? 'x\r\n' : random.chance(0.2) ? '0\r\nX-Trailer: 1\r\n\r\n' : '0\r\n\r\n'))
  return Buffer.concat(pieces)
}

function quote(bytes: Buffer): string {
  return JSON.stringify(bytes.toString('latin1', 0, 60))
}
