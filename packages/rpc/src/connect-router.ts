// Mounts unmodified routers of `@connectrpc/connect`, whose handlers read and write the protocols themselves.

import type { HttpResponse, HttpSession } from 'weirjs'
import { invalid, kindOf, responseHandle } from 'weirjs/kit'

import type { RpcHost } from './map-service.ts'

/** The members that are needed of a router of `createConnectRouter` of `@connectrpc/connect`. */
export interface ConnectRouter {
  readonly handlers: readonly ConnectHandler[]
}

/** A `UniversalHandler` of `@connectrpc/connect`. */
export interface ConnectHandler {
  (request: UniversalRequest): Promise<UniversalResponse>
  readonly requestPath: string
  readonly method: { readonly methodKind: string }
  readonly allowedMethods: readonly string[]
}

/** A `UniversalServerRequest`. */
export interface UniversalRequest {
  httpVersion: string
  url: string
  method: string
  header: Headers
  body: AsyncIterable<Uint8Array>
  signal: AbortSignal
}

/** A `UniversalServerResponse`. */
export interface UniversalResponse {
  readonly status: number
  readonly header?: Headers | undefined
  readonly body?: AsyncIterable<Uint8Array> | Uint8Array | undefined
  readonly trailer?: Headers | undefined
}

/**
 * Maps all methods of a router of Connect, streams included. Policies of the server and its groups apply, and answer as for any route.
 * @throws WEIR_OPTION_INVALID for a router without handlers
 */
export function mountConnect(server: RpcHost, router: ConnectRouter): void {
  const { handlers = [] } = Object(router) as Partial<ConnectRouter>
  const [first] = handlers
  if (first === undefined)
    throw invalid('mountConnect()', `the router is ${kindOf(router)} without handlers: add its services before you mount it`)
  server.use({
    name: `connect router ${first.requestPath}`,
    install(host) {
      for (const handler of handlers)
        for (const method of handler.allowedMethods) {
          // Methods without streams have the limits of the server.
          const limits = handler.method.methodKind === 'unary' ? {} : { maxRequestBodySize: null, minBodyRate: 0, requestTimeout: null }
          const body = method === 'GET' ? {} : ({ body: 'stream', ...limits } as const)
          host.map(method, handler.requestPath, body, (_, session) => respond(handler, session))
        }
    },
  })
}

async function respond(handler: ConnectHandler, { request, response, origin }: HttpSession): Promise<HttpResponse> {
  const { status, header, body, trailer } = await handler({
    httpVersion: request.protocol.replace('HTTP/', ''),
    url: new URL(request.url, origin).href,
    method: request.method,
    header: new Headers([...request.headers]),
    body: request.method === 'GET' ? nothing() : (request.bodyStream() as AsyncIterable<Uint8Array>),
    signal: request.signal,
  })
  response.status(status)
  for (const [name, value] of header ?? []) response.appendHeader(name, value)
  if (trailer !== undefined) responseHandle(response).followWith(() => [...trailer].flat())
  const type = header?.get('content-type') ?? 'application/octet-stream'
  if (body === undefined) return response.body(new Uint8Array(0), type)
  return body instanceof Uint8Array ? response.body(body, type) : response.stream(body, type)
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
