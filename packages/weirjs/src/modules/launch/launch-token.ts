// Pages and programs that only the person who has started a server may use. A client that knows the token acts for that person. The token is in the
// fragment of a link, which browsers never send, so no proxy, log, recording or Referer has it. The page behind the link sends it once, in
// Authorization, and gets a cookie for it.

import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'
import { credentialsOf } from '../auth/authorization.ts'
import { exchange } from '../kit/exchange.ts'

/** How many random bytes a token has. */
const TOKEN_BYTES = 24
/** A text of this form can be sent in a fragment and in Authorization unencoded. 22 characters of base64url hold 128 bits. */
const TOKEN = /^[\w.~-]{22,200}$/

/** What a token that a program chooses looks like, for messages. */
export const TOKEN_FORM = 'from 22 to 200 letters, digits and ".", "_", "~", "-"'

export function isLaunchToken(text: string): boolean {
  return TOKEN.test(text)
}

export function newLaunchToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

export class LaunchToken {
  readonly #name: string
  readonly #path: string
  readonly #token: string
  readonly #tokenDigest: Buffer
  /** The value of the cookie. It does not reveal the token, and is the same for the same token, even after a restart. */
  readonly #cookie: string
  readonly #cookieDigest: Buffer
  readonly #instance: string | null

  /**
   * @param name with which the names of its cookies begin
   * @param path at which browsers send them
   * @param instance the end of the names of its cookies; null: the port
   */
  constructor(name: string, path: string, token: string, instance: string | null = null) {
    this.#name = name
    this.#instance = instance
    this.#path = path
    this.#token = token
    this.#tokenDigest = digestOf(token)
    this.#cookie = LaunchToken.proofOf(token, `cookie ${name}`)
    this.#cookieDigest = digestOf(this.#cookie)
  }

  /** Proves knowledge of the token without revealing it. @param text what it is a proof for */
  static proofOf(token: string, text: string): string {
    return createHmac('sha256', token).update(text).digest('base64url')
  }

  /** Compares in a time that does not depend on where the texts differ. */
  static isSame(text: string, secret: string): boolean {
    return isEqual(text, digestOf(secret))
  }

  linkTo(url: string): string {
    return `${url}#token=${this.#token}`
  }

  /** Whether the request has the cookie, or the token itself. */
  admits(session: HttpSession): boolean {
    return this.hasCookie(session) || this.isSentBy(session)
  }

  hasCookie(session: HttpSession): boolean {
    const cookie = exchange(session).cookie(this.#cookieName(session))
    return cookie !== null && isEqual(cookie, this.#cookieDigest)
  }

  /** Whether the request has the token, as `Authorization: Bearer`. */
  isSentBy(session: HttpSession): boolean {
    const token = credentialsOf(session, 'Bearer')
    return token !== null && isEqual(token, this.#tokenDigest)
  }

  /** For a browser that has sent the token. The cookie is gone when the browser ends. */
  giveCookie(session: HttpSession): HttpResponse {
    const { response, isSecure } = session
    const options = { httpOnly: true, sameSite: 'strict', path: this.#path, secure: isSecure } as const
    return response.cookie(this.#cookieName(session), this.#cookie, options).header('Cache-Control', 'no-store').noContent()
  }

  /** Browsers send a cookie to every port of a host, and would take two servers on this machine for one. */
  #cookieName(session: HttpSession): string {
    if (this.#instance !== null) return `${this.#name}-${this.#instance}`
    const port = /:(\d+)$/.exec(exchange(session).statedHost)?.[1] ?? (session.isSecure ? '443' : '80')
    return `${this.#name}-${port}`
  }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Compares in a time that does not depend on where the texts differ. */
function isEqual(text: string, digest: Buffer): boolean {
  return timingSafeEqual(digestOf(text), digest)
}
