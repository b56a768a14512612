// Lets modules keep or show the fields and bodies of exchanges. Nothing counts as read by the program: an exchange is cached as if no module had
// looked.

import { exchangeOf } from '../../http/exchange.ts'
import { bodyOf } from '../../http/request/request.ts'
import { type HttpResponse, outgoingOf } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'

/** All fields of the request in order, with their names as sent. */
export function requestFields(session: HttpSession): Iterable<readonly [name: string, value: string]> {
  return exchangeOf(session).head.entries()
}

/** All fields of the response in order, as far as they are set. Those that state its length, and that the server sets, are missing. */
export function responseFields(response: HttpResponse): (readonly [name: string, value: string])[] {
  const { type, fields } = outgoingOf(response)
  const found: (readonly [string, string])[] = type === null ? [] : [['Content-Type', type]]
  if (fields !== null) for (let i = 0; i < fields.length; i += 2) found.push([fields[i]!, fields[i + 1]!])
  return found
}

/**
 * Shows all bytes of the request's body to `watcher` too, which must not throw. The memory is valid only during the call.
 * @returns false if the request has no body
 */
export function watchBody(session: HttpSession, watcher: (bytes: Uint8Array) => void): boolean {
  const { request } = exchangeOf(session)
  const body = bodyOf(request)
  if (body === null) return false
  if (body.isWhole) watcher(request.bodySpan)
  else body.watch(watcher)
  return true
}

/**
 * Shows the pieces of a streamed response to `watcher` too, as they are sent, and of a WebSocket its messages: text as a string, a binary message as
 * bytes, which are only valid during the call. It must not throw. Other content is not shown.
 * @param watcher whose second argument is true for a message of the client's
 */
export function watchContent(response: HttpResponse, watcher: (piece: unknown, isFromClient?: boolean) => void): void {
  outgoingOf(response).watchStream(watcher)
}
