// Decides who may open a WebSocket: a request that is a valid handshake (RFC 6455 §4.2.1), from a page that may (§10.2).

import { createHash } from 'node:crypto'

import { isToken } from '../../base/ascii.ts'
import { WeirError } from '../../base/errors.ts'
import type { HttpRequest } from '../../http/request/request.ts'
import { outgoingOf } from '../../http/response/response.ts'
import type { PieceWatcher } from '../../http/response/response-content.ts'
import type { HttpSession } from '../../http/session.ts'

import type { OriginPredicate } from '../cors/origins.ts'
import type { PerMessageDeflate } from './deflate.ts'

/** Over HTTP/2, a client may send a long list by reference again and again, for a few bytes each. */
const MOST_PROTOCOLS_LENGTH = 8_192

/** Accepts a client without Origin, because it is not a page. @throws WEIR_ORIGIN_REFUSED */
export async function checkOrigin(isAllowed: OriginPredicate, session: HttpSession): Promise<void> {
  const origin = session.request.header('origin')
  if (origin !== null && !(await isAllowed(origin, session))) throw new WeirError('WEIR_ORIGIN_REFUSED')
}

/** What was negotiated. @internal */
export interface Negotiated {
  readonly protocol: string
  /** Null if messages are not compressed. */
  readonly deflate: PerMessageDeflate | null
  /** Called with each message. */
  readonly watcher?: PieceWatcher | undefined
}

/** A version is a number up to 255 (§4.1). A 426 must name a protocol in Upgrade, which HTTP/2 does not have. */
const OTHER_VERSION = /^(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])$/
/** RFC 6455 §1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
/** `extension *("," extension)` of RFC 6455 §9.1: a name and parameters, each with or without a value. A quoted value contains a token. */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const EXTENSION = `${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}(?:=(?:${TOKEN}|"${TOKEN}"))?)*`
const EXTENSIONS = new RegExp(`^${EXTENSION}(?:[ \\t]*,[ \\t]*${EXTENSION})*$`)
/** @throws WEIR_WEBSOCKET_HANDSHAKE, WEIR_WEBSOCKET_VERSION */
export function checkHandshake({ request, response }: HttpSession): void {
  const refuse = (what: string): never => {
    response.header('Sec-WebSocket-Version', '13')
    throw new WeirError('WEIR_WEBSOCKET_HANDSHAKE', what)
  }
  if (request.method !== 'GET') refuse('method')
  // Over HTTP/2, extended CONNECT says what the key proves (RFC 8441 §5).
  if (request.protocol !== 'HTTP/2.0' && !/^[+/0-9A-Za-z]{22}==$/.test(request.header('sec-websocket-key') ?? ''))
    refuse('Sec-WebSocket-Key')
  const version = request.header('sec-websocket-version')
  if (version !== '13') {
    if (request.protocol === 'HTTP/2.0' || !OTHER_VERSION.test(version ?? '')) refuse('Sec-WebSocket-Version')
    response.header('Sec-WebSocket-Version', '13')
    outgoingOf(response).offerUpgrade('websocket')
    throw new WeirError('WEIR_WEBSOCKET_VERSION')
  }
  const extensions = request.header('sec-websocket-extensions')
  if (extensions !== null && !EXTENSIONS.test(extensions)) refuse('Sec-WebSocket-Extensions')
  const protocols = request.header('sec-websocket-protocol')
  if (protocols === null) return
  if (protocols.length > MOST_PROTOCOLS_LENGTH) refuse('Sec-WebSocket-Protocol')
  const names = protocols.split(',').map((name) => name.trim())
  if (!names.every(isToken) || new Set(names).size < names.length) refuse('Sec-WebSocket-Protocol')
}

/** The first supported subprotocol that the client offers; empty if there is none. */
export function protocolOf(request: HttpRequest, ours: readonly string[]): string {
  if (ours.length === 0) return ''
  const offered = request
    .header('sec-websocket-protocol')
    ?.split(',')
    .map((name) => name.trim())
  return ours.find((name) => offered?.includes(name)) ?? ''
}

/** The proof that the key was read (§4.2.2). Over HTTP/2 there is no key. */
export function acceptOf(request: HttpRequest): readonly [name: string, value: string] | readonly [] {
  if (request.protocol === 'HTTP/2.0') return []
  const key = request.header('sec-websocket-key')
  return ['Sec-WebSocket-Accept', createHash('sha1').update(`${key}${GUID}`).digest('base64')]
}
