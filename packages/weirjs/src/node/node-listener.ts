// `toNodeListener`: the routes of a server inside a program's own `http.Server`, Express application, Vite server or serverless function.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { kindOf } from '../base/kind-of.ts'
import { invalid } from '../base/options.ts'
import type { Arrival } from '../net/connections/arrival.ts'
import type { ConnectionHost } from '../net/connections/connection-host.ts'
import { NoConnection } from '../net/connections/no-connection.ts'
import { peerAt, STRANGER } from '../net/connections/peer.ts'
import { HostedExchange } from '../net/hosted/hosted-exchange.ts'
import type { Http2ServerRequest, Http2ServerResponse } from '../net/hosted/node-http2.ts'
import { HttpServer, hostedOf, hostOf } from '../server.ts'

/** Called by a host's server with each request. */
export interface NodeListener {
  /**
   * @param next called if no route matches, and no other reading of the path or host has one; otherwise, the client gets weir's 404
   */
  (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void
  (request: Http2ServerRequest, response: Http2ServerResponse, next?: (error?: unknown) => void): void
  /** For the event `checkContinue` of the host's server: `100 Continue` is sent when the body is about to be read, not before. */
  readonly checkContinue: (request: IncomingMessage, response: ServerResponse) => void
}

/**
 * Runs the routes of `server` inside a server of Node: `createServer(toNodeListener(server))`, or `app.use(toNodeListener(server))` in Express.
 * The server does not have to be started. Its `stop` waits for these requests.
 *
 * @throws WEIR_OPTION_INVALID for anything but an `HttpServer`
 */
export function toNodeListener(server: HttpServer): NodeListener {
  if (!(server instanceof HttpServer)) throw invalid('toNodeListener()', `${kindOf(server)} is not an HttpServer`)
  const host = hostOf(server)
  const sockets = new WeakMap<Socket, NoConnection>()

  /** Null if the client has left before its address was known. */
  const connectionOf = (socket: Socket): NoConnection | null => {
    const known = sockets.get(socket)
    if (known !== undefined) return known
    if (hasLeft(socket)) return null
    const connection = new NoConnection(host, arrivalOf(host, socket))
    sockets.set(socket, connection)
    return connection
  }
  const run = (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
    owesContinue: boolean,
    next?: (error?: unknown) => void,
  ): void => {
    const connection = connectionOf(socketOf(request))
    if (connection === null) {
      response.destroy()
      return
    }
    const exchange = new HostedExchange(connection, hostedOf(server), request, response)
    if (!exchange.start(next !== undefined, owesContinue)) next!()
  }
  const listener = (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
    next?: (error?: unknown) => void,
  ): void => run(request, response, false, next)
  return Object.assign(listener, {
    checkContinue: (request: IncomingMessage, response: ServerResponse) => run(request, response, true),
  })
}

/** In HTTP/2, what Node shows as the socket of a request refuses most calls. */
function socketOf(request: IncomingMessage | Http2ServerRequest): Socket {
  return 'stream' in request ? (request.stream.session?.socket ?? request.socket) : request.socket
}

/**
 * Whether a client has left and its address is unknown: a TCP socket that has been reset has no address. A Unix socket has none either, and its
 * other end may be trusted, but it has no local address either.
 */
function hasLeft({ remoteAddress, localAddress, destroyed }: Socket): boolean {
  return remoteAddress === undefined && (destroyed || localAddress !== undefined)
}

function arrivalOf({ proxies }: ConnectionHost, socket: Socket): Arrival {
  const { remoteAddress, remotePort = 0 } = socket
  const address = remoteAddress ?? ''
  const isSecure = (socket as { readonly encrypted?: boolean }).encrypted === true
  const isUnixSocket = remoteAddress === undefined
  const peer = proxies === null ? STRANGER : peerAt(proxies.networks, { endpointName: null, isUnixSocket }, address, null)
  return { address, port: remotePort, isSecure, peer }
}
