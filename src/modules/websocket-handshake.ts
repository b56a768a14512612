// Who may open a WebSocket: a request that is a handshake (RFC 6455 §4.2.1), from a page that may (§10.2).

import { isToken } from '../base/ascii.ts'
import { WeirError } from '../base/errors.ts'
import type { HttpSession } from '../http/session.ts'

import type { OriginPredicate } from './origins.ts'

/** A client without Origin is no page, and is let in. @throws WEIR_ORIGIN_REFUSED */
export async function checkOrigin(isAllowed: OriginPredicate, session: HttpSession): Promise<void> {
  const origin = session.request.header('origin')
  if (origin !== null && !(await isAllowed(origin, session))) throw new WeirError('WEIR_ORIGIN_REFUSED')
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
