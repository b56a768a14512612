// Watches an upgrade that has not been answered yet: if its handler never reads the socket, it does not notice that its client has left.
//
// The server's timeouts end when another protocol takes over. Until the handler has written something there is no other protocol: a client that has
// left gets `lingerTimeout`, in which a handler may still answer one that has only ended its side. Behind more bytes than are kept for the handler,
// the end of a client cannot be seen: such a client gets `keepAliveTimeout`. A handler that has ended the socket and has never read it is done, and
// the client has `lingerTimeout` to close its side.

import type { ConnectionHost } from '../connections/connection-host.ts'
import type { Timed } from '../time/ticker.ts'
import type { Transport } from '../transport/transport.ts'
import type { UpgradedSocket } from './upgraded-socket.ts'

export class UnansweredUpgrade implements Timed {
  readonly isIdle = true
  readonly #host: ConnectionHost
  readonly #transport: Transport
  readonly #socket: UpgradedSocket
  #endedMs = 0
  #fullMs = 0

  constructor(host: ConnectionHost, transport: Transport, socket: UpgradedSocket) {
    this.#host = host
    this.#transport = transport
    this.#socket = socket
    host.ticker.add(this)
  }

  tick(elapsedMs: number): void {
    const socket = this.#socket
    const { ticker, timeouts } = this.#host
    if (!socket.isAbandonable) {
      ticker.delete(this)
      return
    }
    const { isPaused, unsentBytes } = this.#transport
    this.#endedMs = socket.wasClosed && unsentBytes === 0 ? this.#endedMs + elapsedMs : 0
    this.#fullMs = isPaused ? this.#fullMs + elapsedMs : 0
    if (this.#endedMs > timeouts.lingerTimeout) socket.destroy()
    else if (timeouts.keepAliveTimeout !== null && this.#fullMs > timeouts.keepAliveTimeout) socket.destroy()
    else if (isPaused) this.#transport.probe()
  }
}
