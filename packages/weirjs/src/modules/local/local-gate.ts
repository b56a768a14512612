// Stands before everything else of a server: who has neither the cookie nor the token gets a page that says how to open the program.

import { randomBytes } from 'node:crypto'

import { type HttpResponse, type HttpSession, WeirError } from '../../index.ts'
import {
  LAUNCH_POLICY,
  LaunchToken,
  launchPage,
  launchTicket,
  newLaunchToken,
  proofOf,
  refusalOf,
  TICKET_MS,
  UsedTickets,
} from '../kit/launch.ts'
import { CHALLENGE_FIELD, HELLO_PATH } from './find-local.ts'

/** The page for the links. */
const OWN_PATH = '/_weir/local'
const ENTER_PATH = `${OWN_PATH}/enter`
/** What `findLocal` sends. */
const CHALLENGE = /^[\w-]{22}$/

export class LocalGate {
  readonly token: string = newLaunchToken()
  /** Names of cookies have it, so that the next start, or another program at this port, neither accepts nor knows the cookies of this one. */
  readonly instance: string = randomBytes(9).toString('hex')
  readonly #name: string
  readonly #isExposed: boolean
  readonly #launch: LaunchToken
  readonly #tickets: UsedTickets

  constructor(name: string, isExposed: boolean) {
    this.#name = name
    this.#isExposed = isExposed
    this.#launch = new LaunchToken(`weir-local-${this.instance}`, '/', this.token)
    this.#tickets = new UsedTickets(this.token)
  }

  /** A gate: returns nothing to let the request pass. */
  readonly check = (session: HttpSession): HttpResponse | undefined => {
    const { request } = session
    const { path, method } = request
    if (path === HELLO_PATH) return this.#prove(session)
    if (path === OWN_PATH && method === 'GET') return this.#page(session, 200)
    if (path === ENTER_PATH && method === 'POST') return this.#enter(session)
    if (this.#launch.isSentBy(session)) return undefined
    const isOpened = this.#launch.hasCookie(session)
    if (isOpened && this.#isOwnPage(session)) return undefined
    return this.#refuse(session, isOpened)
  }

  /** Other pages make a browser send the cookie, too, where they are on another port of this machine: cookies do not know ports. */
  #isOwnPage(session: HttpSession): boolean {
    return refusalOf(session, this.#isExposed ? '' : null, []) === null
  }

  #prove(session: HttpSession): HttpResponse {
    const challenge = session.request.header(CHALLENGE_FIELD)
    if (challenge === null || !CHALLENGE.test(challenge)) return this.#refuse(session, false)
    return closed(session.response).text(proofOf(this.token, challenge))
  }

  #enter(session: HttpSession): HttpResponse {
    const { request } = session
    const ticket = /^Bearer ([\w.-]{1,200})$/i.exec(request.header('authorization') ?? '')?.[1]
    if (ticket === undefined || !this.#isOwnPage(session) || !this.#tickets.redeem(ticket, Date.now())) return this.#refuse(session, false)
    return this.#launch.giveCookie(session)
  }

  /** @throws WEIR_LOCAL_LOCKED, unless a browser can show the page that says more */
  #refuse(session: HttpSession, isOpened: boolean): HttpResponse {
    const { request, response } = session
    if (request.method === 'GET' && /\btext\/html\b/i.test(request.header('accept') ?? '')) return this.#page(session, 401)
    closed(response)
    const why = isOpened
      ? 'a page of another origin has sent the request'
      : `the request has neither the cookie nor the token of ${this.#name}`
    throw new WeirError('WEIR_LOCAL_LOCKED', why, { headers: { 'WWW-Authenticate': this.#challenge, 'Cache-Control': 'no-store' } })
  }

  get #challenge(): string {
    return `Bearer realm="${this.#name}"`
  }

  #page(session: HttpSession, status: 200 | 401): HttpResponse {
    const words = {
      what: this.#name,
      how: `Start <strong>${this.#name}</strong> again: it opens this page, or prints a link that does. A link works once, for ${TICKET_MS / 60_000} minutes.`,
      invalid: `This link has been used, or is too old. Start ${this.#name} again: it makes a new one.`,
    }
    if (status === 401) session.response.header('WWW-Authenticate', this.#challenge)
    return closed(session.response).status(status).header('Content-Security-Policy', LAUNCH_POLICY).html(launchPage(words, ENTER_PATH))
  }
}

/** Nothing of these responses may be kept, framed or read by others. */
function closed(response: HttpResponse): HttpResponse {
  return response
    .header('Cache-Control', 'no-store')
    .header('Referrer-Policy', 'no-referrer')
    .header('X-Content-Type-Options', 'nosniff')
    .header('X-Frame-Options', 'DENY')
    .header('Cross-Origin-Resource-Policy', 'same-origin')
    .header('Cross-Origin-Opener-Policy', 'same-origin')
}

/** A link that opens the program once. @param path of the page to open, with its query */
export function launchUrl({ url, token }: { readonly url: string; readonly token: string }, path: string): string {
  return `${url}${OWN_PATH}#${new URLSearchParams({ token: launchTicket(token, Date.now()), to: path })}`
}
