// A transport without a socket: what is written is handed to whoever holds it, and the client's side is played there too.

import type { Transport, TransportListener } from './transport.ts'

export class MemoryTransport implements Transport {
  #listener: TransportListener | null = null
  #isClosed = false
  #wasReset = false
  readonly unsentBytes = 0
  readonly isBlocked = false
  readonly remoteAddress = ''
  readonly remotePort = 0
  readonly isSecure = false
  /** Called with each write, and with nothing at the end. */
  onOutput: ((bytes: Buffer | null) => void) | null = null

  /** Whether the server has ended its side. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Whether it ended with a break: what was written is not whole. */
  get wasReset(): boolean {
    return this.#wasReset
  }

  start(listener: TransportListener): void {
    this.#listener = listener
  }

  handOver(listener: TransportListener): void {
    this.#listener = listener
  }

  /** Plays the client: bytes arrive. */
  send(bytes: Buffer): void {
    if (!this.#isClosed) this.#listener!.onBytes(bytes, bytes.length, false)
  }

  /** Plays the client: it goes away. */
  leave(): void {
    this.#close()
  }

  writeText(text: string): void {
    this.#write(Buffer.from(text, 'latin1'))
  }

  writeBytes(bytes: Uint8Array): void {
    this.#write(Buffer.from(bytes))
  }

  writeBoth(text: string, bytes: Uint8Array): void {
    this.#write(Buffer.concat([Buffer.from(text, 'latin1'), bytes]))
  }

  #write(bytes: Buffer): void {
    this.onOutput?.(bytes)
  }

  probe(): void {}

  pause(): void {}

  resume(): void {}

  end(): void {
    this.#close()
  }

  destroy(): void {
    this.#close()
  }

  reset(): void {
    this.#wasReset = true
    this.#close()
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    // As with a socket, the news comes when the present work is done.
    queueMicrotask(() => {
      this.#listener!.onClose()
      this.onOutput?.(null)
    })
  }
}
