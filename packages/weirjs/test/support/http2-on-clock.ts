// An HTTP/2 server on real sockets, with a clock that a test moves.

import type { TestContext } from 'node:test'
import { createServer, type TLSSocket } from 'node:tls'

import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { derivedHost } from '../../src/net/connections/derived-host.ts'
import { STRANGER } from '../../src/net/connections/peer.ts'
import { Http2Connection } from '../../src/net/http2/connection.ts'
import { Ticker } from '../../src/net/time/ticker.ts'
import { SocketTransport } from '../../src/net/transport/socket-transport.ts'
import { hostOf } from '../../src/server.ts'
import { TestClock } from '../../src/testing/test-clock.ts'

import { cert, key } from './certificate.ts'
import type { RawHttp2 } from './http2-client.ts'
import { eventually } from './serving.ts'

export class Http2OnClock {
  readonly clock = new TestClock()
  /** The codes of the errors that the server reported for its connections, newest last. */
  readonly reported: unknown[] = []
  readonly port: number
  readonly #sockets: TLSSocket[] = []

  private constructor(t: TestContext, server: HttpServer, listen: (onSocket: (socket: TLSSocket) => void) => number) {
    const host = hostOf(server)
    const timed = derivedHost(host, {
      ticker: new Ticker(this.clock, host.timeouts),
      report: (error) => void this.reported.push((error as { code?: unknown }).code),
    })
    this.port = listen((socket) => {
      this.#sockets.push(socket)
      const transport = new SocketTransport(socket, 'tls', false)
      transport.start(new Http2Connection(timed, transport, STRANGER))
    })
    t.after(() => {
      for (const socket of this.#sockets) socket.destroy()
    })
  }

  static async start(t: TestContext, map: (server: HttpServer) => void, options: ServerOptions = {}): Promise<Http2OnClock> {
    const server = new HttpServer({ logger: null, ...options })
    map(server)
    const door = createServer({ key, cert, ALPNProtocols: ['h2'], allowHalfOpen: true })
    await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve))
    t.after(() => door.close())
    return new Http2OnClock(t, server, (onSocket) => {
      door.on('secureConnection', onSocket)
      return (door.address() as { port: number }).port
    })
  }

  /** How many sockets of the server are open. */
  get openSockets(): number {
    return this.#sockets.filter(({ destroyed }) => !destroyed).length
  }

  /** Lets `ms` milliseconds pass after the server has read everything that the clients have sent. */
  async elapse(ms: number, ...clients: readonly RawHttp2[]): Promise<void> {
    const sent = clients.reduce((sum, { sentBytes }) => sum + sentBytes, 0)
    await eventually(() => this.#sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0) >= sent, 'the arrival of what was sent')
    await this.clock.advance(ms)
  }
}
