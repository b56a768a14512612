// What the network needs of the application, and nothing else: the one seam between net/ and app/.

import type { Head } from '../wire/head/head.ts'
import type { HttpResponse } from './answer/response.ts'
import type { RequestBody } from './body/body.ts'
import type { ConnectionInfo } from './connection-info.ts'
import type { HttpRequest } from './request/request.ts'
import type { RouteMatch } from './route-info.ts'
import type { HttpSession } from './session.ts'

/** A complete request head. */
export type RequestHead = Head

/** A request on its way through the application. */
export interface Exchange {
  readonly request: HttpRequest
  readonly session: HttpSession
  readonly head: Head
  readonly match: RouteMatch
  readonly requestId: string
  /** The error that is answered; null if none is. */
  readonly failure: unknown
}

export interface Application<E extends Exchange = Exchange> {
  /** Which route answers: asked as soon as the head is in, because the route decides what becomes of the body. Never throws. */
  match(head: Head): RouteMatch
  /** Begins the exchange. Never throws. @param body null when there is none */
  open(head: Head, body: RequestBody | null, connection: ConnectionInfo, match: RouteMatch): E
  /** Runs middleware and handler. Never throws and never rejects: what goes wrong is an answer too. No promise unless a handler needs one. */
  handle(exchange: E): HttpResponse | Promise<HttpResponse>
  /** Answers for the engine when a request cannot reach its handler: its body is too large, too slow or malformed. Never throws. */
  refuse(exchange: E, error: Error): HttpResponse | Promise<HttpResponse>
}
