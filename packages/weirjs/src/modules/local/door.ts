// The door of a local server: decides which clients get in, and how others are refused. It comes before routes, files, WebSockets and mounted code.

import { randomBytes } from 'node:crypto'
import type { Policy } from '../../app/policies/policy.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { WeirError } from '../../base/errors.ts'
import { keepNewest } from '../../base/keep-newest.ts'
import { invalid } from '../../base/options.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'
import { accessOf } from '../auth/plan.ts'
import { exchange } from '../kit/exchange.ts'
import { responseHandle } from '../kit/response.ts'
import { LAUNCH_POLICY, launchPage } from '../launch/launch-page.ts'
import { LaunchTickets } from '../launch/launch-tickets.ts'
import { LaunchToken, newLaunchToken } from '../launch/launch-token.ts'
import { answerToHello, HELLO_PATH, PROOF_FIELD } from './handshake.ts'
import { foreignness, opensPage } from './own-pages.ts'
import { isOfAnotherUser } from './peer-user.ts'

/** The page of launch URLs. Nothing of the program is at this path, or at the next one. */
const LAUNCH_PATH = '/_local'
const ENTER_PATH = '/_local/enter'

/** Fields that keep pages of other sites from using responses. A field that a handler has set itself is kept. */
const FIELDS = [
  ...['X-Frame-Options', 'DENY', 'Content-Security-Policy', "frame-ancestors 'none'", 'Referrer-Policy', 'no-referrer'],
  ...['X-Content-Type-Options', 'nosniff', 'Cross-Origin-Resource-Policy', 'same-origin', 'Cross-Origin-Opener-Policy', 'same-origin'],
]

/** Directives with which a handler says for how long browsers may use a response. They also store those that they have to revalidate each time. */
const FOR_LATER = /(?:^|[\s,])(?:immutable|(?:max-age|stale-while-revalidate|stale-if-error)\s*=\s*"?0*[1-9])/i

/** How many connections are known to be of this user. */
const MOST_CONNECTIONS = 256

export interface DoorSettings {
  readonly name: string
  readonly title: string
  readonly isExposed: boolean
}

/** The keys of the door, for one start. */
interface Keys {
  readonly token: string
  readonly tickets: LaunchTickets
  readonly access: LaunchToken
}

function newKeys({ name }: DoorSettings, clock: Clock): Keys {
  const token = newLaunchToken()
  // The name of the cookie distinguishes this instance from another one that had its port before.
  const access = new LaunchToken(`weir-local-${name}`, '/', token, randomBytes(8).toString('hex'))
  return { token, tickets: new LaunchTickets(token, clock), access }
}

export class Door {
  readonly #clock: Clock
  #settings: DoorSettings
  #keys: Keys
  /** The ids of connections of this user, the oldest first. */
  readonly #own = new Set<string>()
  /** Where it is reached; empty before the start. */
  url = ''

  constructor(settings: DoorSettings, clock: Clock = systemClock) {
    this.#clock = clock
    this.#settings = settings
    this.#keys = newKeys(settings, clock)
  }

  /** Prepares for another start of the same server: no earlier key opens the door any more. */
  renew(settings: DoorSettings): void {
    this.#settings = settings
    this.#keys = newKeys(settings, this.#clock)
  }

  /** The token that programs send. */
  get token(): string {
    return this.#keys.token
  }

  newLaunchUrl(): string {
    return launchUrl(this.url, this.#keys.tickets.issue())
  }

  /** Without a name: no group and no route can replace it. */
  get policy(): Omit<Policy, 'name'> {
    const door = this
    return {
      gate: function local(session) {
        return door.#admit(session)
      },
      foresee: (session) => this.#foresee(session),
      beforeSend: (_, response) => {
        if (response.content.kind === 'upgrade') return
        responseHandle(response).addMissing(FIELDS)
        // After a crash, another program may have the port, and its pages read what the browser has kept of this origin.
        if (!FOR_LATER.test(responseHandle(response).listHeader('Cache-Control') ?? '')) response.header('Cache-Control', 'no-store')
      },
      check: (policies, where, route) => {
        if (!this.#settings.isExposed) return
        const access = accessOf(policies.map(({ description }) => description))
        if (access === null || (route === null && access.isOpen))
          throw invalid('local', `exposed is true, and no policy of auth closes ${where}: use auth({ schemes }) on the server`)
      },
      describe: () => ({ refuses: [401] }),
    }
  }

  #admit(session: HttpSession): HttpResponse | undefined {
    const { request, response } = session
    if (request.path === ENTER_PATH && request.method === 'POST') return this.#enter(session)
    if (request.path === HELLO_PATH && request.method === 'POST') {
      const proof = answerToHello(this.token, exchange(session).field(PROOF_FIELD))
      if (proof !== null) return response.header('Cache-Control', 'no-store').header(PROOF_FIELD, proof).noContent()
    }
    if (request.path === LAUNCH_PATH && opensPage(session)) return this.#page(session, 200)
    const isProgram = this.#keys.access.isSentBy(session)
    const why = isProgram ? null : this.#keys.access.hasCookie(session) ? this.#whyNot(session) : lackOf(session)
    if (why === null) return undefined
    if (opensPage(session)) return this.#page(session, 401)
    throw this.#refusal(why)
  }

  /** For `explain`, which sees neither tokens nor the peer. */
  #foresee(session: HttpSession): 'unknown' {
    const request = exchange(session)
    const isOwn = [ENTER_PATH, HELLO_PATH, LAUNCH_PATH].includes(session.request.path)
    if (isOwn || request.field('authorization') !== null || request.field('cookie') !== null) return 'unknown'
    throw this.#refusal('no credentials')
  }

  /** Why a request with the cookie is refused; null if it is not. */
  #whyNot(session: HttpSession): string | null {
    return foreignness(session, this.#settings.isExposed) ?? (this.#isOfUser(session) ? null : 'a program of another user has sent it')
  }

  /** Found out once for each connection. */
  #isOfUser(session: HttpSession): boolean {
    const { connectionId } = session
    const { peer } = exchange(session)
    if (this.#own.has(connectionId)) return true
    // A proxy of the person's own may run as any user.
    if (peer.address === '' || (!peer.isTrusted && isOfAnotherUser(peer, process.getuid?.(), this.#settings.isExposed))) return false
    // After a reset, another program may have taken the address and the port, so the result would be about that program.
    if (!exchange(session).isConnected) return false
    this.#own.add(connectionId)
    keepNewest(this.#own, MOST_CONNECTIONS)
    return true
  }

  /** The page of a launch URL exchanges its token for the cookie. No other page can: browsers state who sends a POST. */
  #enter(session: HttpSession): HttpResponse {
    const why = exchange(session).field('origin') === null ? 'no Origin' : foreignness(session, this.#settings.isExposed)
    if (why !== null) throw this.#refusal(why)
    const ticket = /^Bearer ([\w-]+)$/i.exec(exchange(session).field('authorization') ?? '')?.[1]
    // A link that is opened twice in the same browser still leads on, but not one that another page has made up.
    if (
      ticket === undefined ||
      !(this.#keys.tickets.use(ticket) || (this.#keys.tickets.knows(ticket) && this.#keys.access.hasCookie(session)))
    )
      throw this.#refusal('the launch URL was used, or is too old')
    return this.#keys.access.giveCookie(session)
  }

  #refusal(why: string): WeirError {
    return new WeirError('WEIR_LOCAL_CLOSED', why, {
      headers: { 'WWW-Authenticate': `Bearer realm="${this.#settings.name}"`, 'Cache-Control': 'no-store' },
    })
  }

  #page({ response }: HttpSession, status: 200 | 401): HttpResponse {
    const { name, title } = this.#settings
    const words = {
      what: title,
      how: [
        `Start ${title} again: it opens this page, or prints a link to it. The link works once, within ten minutes.`,
        `If ${title} is open in this browser, <a href="${status === 200 ? '/' : ''}">continue</a>.`,
      ],
      refused: `This link was used before, or is too old. Start ${title} again to get a new one.`,
    }
    if (status === 401) response.header('WWW-Authenticate', `Bearer realm="${name}"`)
    return response
      .status(status)
      .header('Content-Security-Policy', LAUNCH_POLICY)
      .header('Cache-Control', 'no-store')
      .html(launchPage(words, ENTER_PATH, '/'))
  }
}

/** A token is for one start: programs read it anew from the file of the instance. */
function lackOf(session: HttpSession): string {
  return exchange(session).field('authorization') === null ? 'no credentials' : 'its Authorization is not the token of this start'
}

/** @param ticket of `LaunchTickets` */
export function launchUrl(url: string, ticket: string): string {
  return `${url}${LAUNCH_PATH}#token=${ticket}`
}
