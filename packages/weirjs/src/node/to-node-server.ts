// `toNodeServer`: a server of weir for code that wants an `http.Server`, such as `serverFactory` of Fastify and socket.io.

import type { Server } from 'node:http'
import { kindOf } from '../base/kind-of.ts'
import { invalid } from '../base/options.ts'
import { HttpServer, moveTo } from '../server.ts'
import { mountListeners } from './mount-node.ts'
import { checkNode } from './node-message.ts'
import type { ServerControls } from './node-server.ts'

/**
 * An object in the form of Node's `http.Server`. What listens for its `request` and `upgrade` answers what no route of weir matches. `listen`
 * starts `server`, and `close` stops it.
 *
 * @throws WEIR_OPTION_INVALID for anything but an `HttpServer`; WEIR_ROUTE_CLASH if something is already mounted at `/`
 */
export function toNodeServer(server: HttpServer): Server {
  if (!(server instanceof HttpServer)) throw invalid('toNodeServer()', `${kindOf(server)} is not an HttpServer`)
  checkNode()
  const controls: ServerControls = {
    start: (where) => {
      if (where !== null && !server.isListening) moveTo(server, where)
      return server.start()
    },
    stop: (graceMs) => server.stop(graceMs === undefined ? {} : { graceMs }),
    get endpoints() {
      return server.endpoints
    },
    get connections() {
      return server.connections
    },
  }
  return mountListeners(server, controls) as unknown as Server
}
