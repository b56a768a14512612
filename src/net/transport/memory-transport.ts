// A transport without a socket: what is written is handed to whoever holds it, and the client's side is played there too.
//
// It behaves as a socket does. What the client sends waits while the server does not read; what the server writes waits while the client
// does not; each side ends by itself; and the news of an end comes when the present work is done.

import { Buffer } from 'node:buffer'
import type { Transport, TransportOwner } from './transport.ts'
import type { Flushable } from './write-batch.ts'

/** With so many bytes waiting for the client, the server is to wait as well. */
const HIGH_WATER_BYTES = 16 * 1024

export class MemoryTransport implements Transport {
  readonly remoteAddress = ''
  readonly remotePort = 0
  readonly isSecure = false
  /** Its bytes are never borrowed. */
  keepsBytes = false
  #owner: TransportOwner | null = null
  #isClosed = false
  #wasReset = false
  /** What the client has sent and the server has not read. */
  #incoming: Buffer[] = []
  #isPaused = false
  /** The client has ended its side, behind what it has sent. */
  #endsIncoming = false
  #hasToldEnd = false
  /** It has left without a word: whatever is sent to it breaks the connection. */
  #hasLeft = false
  /** What was written while the client does not read. */
  #held: Buffer[] = []
  #isHolding = false
  #written = 0
  #unsent = 0
  #isBlocked = false
  #isEnding = false
  /** Called with each write, and with nothing when no more comes. */
  onOutput: ((bytes: Buffer | null) => void) | null = null
  /** Called when the server has read all that was sent, or never will. */
  onTaken: (() => void) | null = null

  /** Whether both sides have ended. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Whether it ended with a break: what was written is not whole. */
  get wasReset(): boolean {
    return this.#wasReset
  }

  /** Whether bytes of the client wait for the server. */
  get isWaiting(): boolean {
    return this.#incoming.length > 0
  }

  start(owner: TransportOwner): void {
    this.#owner = owner
  }

  handOver(owner: TransportOwner): void {
    this.#owner = owner
  }

  // The client's part.

  /** Bytes arrive. */
  send(bytes: Buffer): void {
    if (this.#isClosed || this.#endsIncoming) return
    this.#incoming.push(bytes)
    this.#deliver()
  }

  /** It ends its side, behind what it has sent. */
  sendEnd(): void {
    if (this.#isClosed || this.#endsIncoming) return
    this.#endsIncoming = true
    this.#deliver()
  }

  /** It goes away as a process does that ends: an end of its side, and nobody there for what is still sent to it. */
  leave(): void {
    this.#hasLeft = true
    this.onOutput = null
    if (this.#unsent > 0 || this.#isEnding) this.#close()
    else this.sendEnd()
  }

  /** It goes away with a reset. */
  break(): void {
    this.onOutput = null
    this.#close()
  }

  /** It stops reading. */
  hold(): void {
    this.#isHolding = true
  }

  /** It reads on. */
  release(): void {
    this.#isHolding = false
    while (this.#held.length > 0 && !this.#isHolding) {
      const bytes = this.#held.shift()!
      this.#unsent -= bytes.length
      this.onOutput?.(bytes)
    }
    if (this.#unsent > 0 || this.#isClosed) return
    if (this.#isEnding) this.#tellEnd()
    else if (this.#isBlocked) {
      this.#isBlocked = false
      this.#owner!.onDrain()
    }
  }

  // The server's part.

  get unsentBytes(): number {
    return this.#unsent
  }

  get sentBytes(): number {
    return this.#written - this.#unsent
  }

  flushSoon(box: Flushable): void {
    box.flush()
  }

  get isBlocked(): boolean {
    return this.#isBlocked
  }

  writeText(text: string): void {
    this.#write(Buffer.from(text, 'latin1'))
  }

  writeBytes(bytes: Uint8Array): void {
    this.#write(Buffer.from(bytes))
  }

  writeShared(bytes: Uint8Array): boolean {
    this.writeBytes(bytes)
    return true
  }

  writeBoth(text: string, bytes: Uint8Array): void {
    this.#write(Buffer.concat([Buffer.from(text, 'latin1'), bytes]))
  }

  #write(bytes: Buffer): void {
    if (this.#isClosed || bytes.length === 0) return
    this.#written += bytes.length
    if (this.#hasLeft) this.#close()
    else if (this.#isHolding) {
      this.#held.push(bytes)
      this.#unsent += bytes.length
      if (this.#unsent >= HIGH_WATER_BYTES) this.#isBlocked = true
    } else this.onOutput?.(bytes)
  }

  /** A break is always told at once here. */
  probe(): void {}

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    queueMicrotask(() => this.#deliver())
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  end(): void {
    if (this.#isClosed || this.#isEnding) return
    this.#isEnding = true
    if (this.#hasLeft) this.#close()
    else if (this.#unsent === 0) this.#tellEnd()
  }

  destroy(): void {
    if (this.#unsent > 0) this.#wasReset = true
    this.#close()
  }

  reset(): void {
    if (!this.#isClosed) this.#wasReset = true
    this.#close()
  }

  #deliver(): void {
    while (this.#incoming.length > 0 && !this.#isPaused && !this.#isClosed) {
      const bytes = this.#incoming.shift()!
      this.#owner!.onBytes(bytes, bytes.length, false)
    }
    if (this.#incoming.length > 0 || this.#isClosed) return
    this.onTaken?.()
    if (!this.#endsIncoming || this.#hasToldEnd || this.#isPaused) return
    this.#hasToldEnd = true
    this.#owner!.onEnd()
    if (this.#isEnding && this.#unsent === 0) this.#close()
  }

  #tellEnd(): void {
    queueMicrotask(() => {
      if (!this.#isClosed) this.onOutput?.(null)
      if (this.#hasToldEnd) this.#close()
    })
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#incoming = []
    this.#held = []
    this.#unsent = 0
    queueMicrotask(() => {
      this.#owner!.onClose()
      this.onTaken?.()
      this.onOutput?.(null)
    })
  }
}
