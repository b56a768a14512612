// Who may open a WebSocket: a request that is a handshake (RFC 6455 §4.2.1), from a page that may (§10.2).

import { isToken } from '../base/ascii.ts'
import { WeirError } from '../base/errors.ts'
import type { HttpSession } from '../http/session.ts'

/**
 * Which pages may connect, told by the Origin that browsers send. `'same'`: those of the Host that was asked. `'any'`: all. A list:
 * those origins, `https://example.com`. A function decides by itself. A client without Origin is no page, and is let in, unless a function
 * says otherwise.
 */
export type OriginPolicy = 'same' | 'any' | readonly string[] | ((origin: string | null, session: HttpSession) => boolean)

/** @throws WEIR_ORIGIN_REFUSED */
export function checkOrigin(policy: OriginPolicy, session: HttpSession): void {
  const origin = session.request.header('origin')
  if (!isAllowed(policy, origin, session)) throw new WeirError('WEIR_ORIGIN_REFUSED')
}

function isAllowed(policy: OriginPolicy, origin: string | null, session: HttpSession): boolean {
  if (typeof policy === 'function') return policy(origin, session)
  if (origin === null || policy === 'any') return true
  return policy === 'same' ? isSameHost(origin, session.request.header('host') ?? '') : policy.includes(origin.toLowerCase())
}

/** The scheme is the client's: behind a proxy that speaks TLS nobody else knows it. A default port may stand there or not. */
function isSameHost(origin: string, host: string): boolean {
  const [, scheme] = /^(https?):\/\//i.exec(origin) ?? []
  if (scheme === undefined || !URL.canParse(origin) || !URL.canParse(`${scheme}://${host}`)) return false
  return new URL(origin).host === new URL(`${scheme}://${host}`).host
}

/** @throws WEIR_WEBSOCKET_HANDSHAKE */
export function checkHandshake({ request, response }: HttpSession): void {
  const refuse = (what: string): never => {
    response.header('Sec-WebSocket-Version', '13')
    throw new WeirError('WEIR_WEBSOCKET_HANDSHAKE', what)
  }
  if (request.method !== 'GET') refuse('method')
  if (!/^[+/0-9A-Za-z]{22}==$/.test(request.header('sec-websocket-key') ?? '')) refuse('Sec-WebSocket-Key')
  if (request.header('sec-websocket-version') !== '13') refuse('Sec-WebSocket-Version')
  const protocols = request.header('sec-websocket-protocol')
  if (protocols === null) return
  const names = protocols.split(',').map((name) => name.trim())
  if (!names.every(isToken) || new Set(names).size < names.length) refuse('Sec-WebSocket-Protocol')
}
