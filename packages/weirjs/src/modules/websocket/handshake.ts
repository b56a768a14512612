// Decides who may open a WebSocket: a request that is a valid handshake (RFC 6455 §4.2.1), from a page that may (§10.2).

import { isToken } from '../../base/ascii.ts'
import { WeirError } from '../../base/errors.ts'
import type { HttpSession } from '../../http/session.ts'

import type { OriginPredicate } from '../cors/origins.ts'

/** Accepts a client without Origin, because it is not a page. @throws WEIR_ORIGIN_REFUSED */
export async function checkOrigin(isAllowed: OriginPredicate, session: HttpSession): Promise<void> {
  const origin = session.request.header('origin')
  if (origin !== null && !(await isAllowed(origin, session))) throw new WeirError('WEIR_ORIGIN_REFUSED')
}

/** `extension *("," extension)` of RFC 6455 §9.1: a name and parameters, each with or without a value. A quoted value contains a token. */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const EXTENSION = `${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}(?:=(?:${TOKEN}|"${TOKEN}"))?)*`
const EXTENSIONS = new RegExp(`^${EXTENSION}(?:[ \\t]*,[ \\t]*${EXTENSION})*$`)
/** The parameters of an offer (RFC 7692 §7.1). Each may appear once. */
const DEFLATE_PARAMETER =
  /^(?:server_no_context_takeover|client_no_context_takeover|server_max_window_bits=(?:[89]|1[0-5])|client_max_window_bits(?:=(?:[89]|1[0-5]))?)$/

/** @throws WEIR_WEBSOCKET_HANDSHAKE */
export function checkHandshake({ request, response }: HttpSession): void {
  const refuse = (what: string): never => {
    response.header('Sec-WebSocket-Version', '13')
    throw new WeirError('WEIR_WEBSOCKET_HANDSHAKE', what)
  }
  if (request.method !== 'GET') refuse('method')
  // Over HTTP/2, extended CONNECT says what the key proves (RFC 8441 §5).
  if (request.protocol !== 'HTTP/2.0' && !/^[+/0-9A-Za-z]{22}==$/.test(request.header('sec-websocket-key') ?? ''))
    refuse('Sec-WebSocket-Key')
  if (request.header('sec-websocket-version') !== '13') refuse('Sec-WebSocket-Version')
  const extensions = request.header('sec-websocket-extensions')
  if (extensions !== null && !EXTENSIONS.test(extensions)) refuse('Sec-WebSocket-Extensions')
  const protocols = request.header('sec-websocket-protocol')
  if (protocols === null) return
  const names = protocols.split(',').map((name) => name.trim())
  if (!names.every(isToken) || new Set(names).size < names.length) refuse('Sec-WebSocket-Protocol')
}

/** The first acceptable offer of permessage-deflate. Others are declined, which is not an error (RFC 7692 §7.1). Null: there is none. */
export function deflateOffer({ request }: HttpSession): string | null {
  const offers = request.header('sec-websocket-extensions')?.split(',') ?? []
  for (const offer of offers) {
    const [name, ...parameters] = offer.split(';').map((part) => part.trim().replaceAll('"', ''))
    const names = new Set(parameters.map((parameter) => parameter.split('=')[0]))
    if (name !== 'permessage-deflate' || names.size < parameters.length) continue
    if (parameters.every((parameter) => DEFLATE_PARAMETER.test(parameter))) return [name, ...parameters].join('; ')
  }
  return null
}
