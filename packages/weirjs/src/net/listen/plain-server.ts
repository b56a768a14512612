// Accepts sockets without TLS: each speaks HTTP, or begins with a PROXY header.

import { createServer, type Server, type ServerOpts } from 'node:net'

import { drainSoon } from '../connections/connections.ts'
import type { Http1Connection } from '../http1/connection.ts'
import type { Http2Connection } from '../http2/connection.ts'
import { SocketTransport } from '../transport/socket-transport.ts'
import type { Entrance } from './entrance.ts'
import type { ProxyStage } from './proxy-stage.ts'

/** What speaks HTTP on a transport. */
type ConnectionClass = typeof Http1Connection | typeof Http2Connection

/** @param stageClass of the PROXY header; null if none is required */
export function plainServer(
  options: ServerOpts,
  sharesBuffer: boolean,
  entrance: Entrance,
  connectionClass: ConnectionClass,
  stageClass: typeof ProxyStage | null,
): Server {
  const { host, connections } = entrance
  return createServer({ ...options, pauseOnConnect: true }, (socket) => {
    if (!entrance.admit(socket)) return
    const transport = new SocketTransport(socket, entrance.isUnixSocket ? 'unix' : 'tcp', sharesBuffer, connections.release)
    if (stageClass !== null) readHeader(entrance, transport, connectionClass, stageClass)
    else {
      const connection = new connectionClass(host, transport, entrance.peerOf(transport, null))
      connections.add(connection)
      transport.start(connection)
    }
  })
}

function readHeader(entrance: Entrance, transport: SocketTransport, connectionClass: ConnectionClass, stageClass: typeof ProxyStage): void {
  const { host, connections } = entrance
  const stage = new stageClass(host, {
    onHeader: (header, rest) => {
      const connection = new connectionClass(host, transport, entrance.peerOf(transport, header))
      connections.add(connection)
      transport.handOver(connection)
      // The stop may have begun in the meantime.
      if (host.isStopping) drainSoon(connection)
      if (rest.length > 0) connection.onBytes(rest, rest.length, true)
    },
    onRefused: (error) => {
      entrance.refuse(error, transport.remoteAddress)
      transport.destroy()
    },
  })
  connections.add(stage)
  transport.start({
    onBytes: (bytes, length) => stage.push(bytes.subarray(0, length)),
    onEnd: () => stage.end(),
    onDrain() {},
    onClose: () => stage.end(),
  })
}
