// Has a head begun that has not ended? Node hands over heads that are whole, and is silent about the others (RFC 9113 §4.3, §3.4).
//
// What it lets us see is how many bytes have come, and of which stream a head has begun last (nghttp2 notes it behind the frame's head, nine
// bytes). A head that Node refuses never comes whole either; so the client is asked with PING, which it cannot answer inside a head.

import type { ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'

export class OpenHead {
  readonly #socket: TLSSocket
  readonly #session: ServerHttp2Session
  readonly #ping: (onAnswer: (error: Error | null) => void) => void
  /** The preface of the client has come, up to its first frame. */
  #hasPreface = false
  /** Stream of the last head that is over. */
  #lastOver = 0
  #readBytes = 0
  #isOpen = false

  constructor(socket: TLSSocket, session: ServerHttp2Session, ping: (onAnswer: (error: Error | null) => void) => void) {
    this.#socket = socket
    this.#session = session
    this.#ping = ping
    session.once('remoteSettings', () => {
      this.#hasPreface = true
    })
  }

  /** The head of `stream` has come whole. */
  end(stream: number): void {
    this.#lastOver = stream
    this.#isOpen = false
  }

  /** Whether there is one now. Costs little where nothing has come since it was asked last. */
  look(): boolean {
    const { bytesRead } = this.#socket
    if (bytesRead === this.#readBytes) return this.#isOpen
    this.#readBytes = bytesRead
    const wasOpen = this.#isOpen
    this.#isOpen = !this.#hasPreface || this.#lastBegun > this.#lastOver
    if (this.#isOpen && !wasOpen && this.#hasPreface && !this.#session.destroyed) this.#ask()
    return this.#isOpen
  }

  get #lastBegun(): number {
    return this.#session.state.lastProcStreamID ?? 0
  }

  #ask(): void {
    // Called while the answer is being read: of what came behind it nothing has begun yet.
    this.#ping((error) => {
      if (error === null) this.end(this.#lastBegun)
    })
  }
}
