// A transport without a socket. It passes what the server writes to its holder, which also acts as the client.
//
// It behaves like a socket. What the client sends waits while the server does not read, and what the server writes waits while the client
// does not read. Each side ends separately, and an end is reported only after the current work is done.

import { Buffer } from 'node:buffer'
import type { Transport, TransportOwner } from './transport.ts'
import type { Flushable } from './write-batch.ts'

/** When this many bytes wait for the client, the server has to wait as well. */
const HIGH_WATER_BYTES = 16 * 1024

export class MemoryTransport implements Transport {
  readonly isConnected = true
  readonly remoteAddress: string
  readonly remotePort: number
  readonly isSecure: boolean
  /** Its bytes are never borrowed. */
  keepsBytes = false
  #owner: TransportOwner | null = null
  /** Whether both sides have ended. */
  isClosed = false
  /** Whether the connection was reset, so that what was written is incomplete. */
  wasReset = false
  /** What the client has sent and the server has not read. */
  #incoming: Buffer[] = []
  isPaused = false
  /** Whether the client has ended its side, after what it has sent. */
  #endsIncoming = false
  #hasToldEnd = false
  /** Whether the client has left without a reset. The next write then breaks the connection. */
  #hasLeft = false
  /** What was written while the client was not reading. */
  #held: Buffer[] = []
  #isHolding = false
  #written = 0
  unsentBytes = 0
  isBlocked = false
  #isEnding = false
  /** Called with each write, and with null when no more follows. */
  onOutput: ((bytes: Buffer | null) => void) | null = null
  /** Called when the server has read everything that was sent, or never will. */
  onTaken: (() => void) | null = null

  constructor(remoteAddress = '', remotePort = 0, isSecure = false) {
    this.remoteAddress = remoteAddress
    this.remotePort = remotePort
    this.isSecure = isSecure
  }

  /** Whether bytes from the client wait for the server. */
  get isWaiting(): boolean {
    return this.#incoming.length > 0
  }

  start(owner: TransportOwner): void {
    this.#owner = owner
  }

  handOver(owner: TransportOwner): void {
    this.#owner = owner
  }

  // The client's side.

  /** The client sends bytes. */
  send(bytes: Buffer): void {
    if (this.isClosed || this.#endsIncoming) return
    this.#incoming.push(bytes)
    this.#deliver()
  }

  /** The client ends its side, after what it has sent. */
  sendEnd(): void {
    if (this.isClosed || this.#endsIncoming) return
    this.#endsIncoming = true
    this.#deliver()
  }

  /** The client leaves like a process that exits: its side ends, and what is still sent to it is lost. */
  leave(): void {
    this.#hasLeft = true
    this.onOutput = null
    if (this.unsentBytes > 0 || this.#isEnding) this.#close()
    else this.sendEnd()
  }

  /** The client leaves with a reset. */
  break(): void {
    this.onOutput = null
    this.#close()
  }

  /** The client stops reading. */
  hold(): void {
    this.#isHolding = true
  }

  /** The client continues to read. */
  release(): void {
    this.#isHolding = false
    while (this.#held.length > 0 && !this.#isHolding) {
      const bytes = this.#held.shift()!
      this.unsentBytes -= bytes.length
      this.onOutput?.(bytes)
    }
    if (this.unsentBytes > 0 || this.isClosed) return
    if (this.#isEnding) this.#tellEnd()
    else if (this.isBlocked) {
      this.isBlocked = false
      this.#owner!.onDrain()
    }
  }

  // The server's side.

  get isDestroyed(): boolean {
    return this.isClosed
  }

  readonly awaitsResult = false

  get sentBytes(): number {
    return this.#written - this.unsentBytes
  }

  flushSoon(box: Flushable): void {
    box.flush()
  }

  writeText(text: string): void {
    this.#write(Buffer.from(text, 'latin1'))
  }

  writeBytes<B extends Uint8Array>(bytes: B, onSent?: (bytes: B) => void): void {
    this.#write(Buffer.from(bytes))
    onSent?.(bytes)
  }

  writeShared(bytes: Uint8Array): boolean {
    this.#write(Buffer.from(bytes))
    return true
  }

  writeBoth(text: string, bytes: Uint8Array): void {
    this.#write(Buffer.concat([Buffer.from(text, 'latin1'), bytes]))
  }

  #write(bytes: Buffer): void {
    if (this.isClosed || bytes.length === 0) return
    this.#written += bytes.length
    if (this.#hasLeft) this.#close()
    else if (this.#isHolding) {
      this.#held.push(bytes)
      this.unsentBytes += bytes.length
      if (this.unsentBytes >= HIGH_WATER_BYTES) this.isBlocked = true
    } else this.onOutput?.(bytes)
  }

  /** Nothing to do: a break is always reported immediately here. */
  probe(): void {}

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    if (!this.isPaused) return
    this.isPaused = false
    queueMicrotask(() => this.#deliver())
  }

  end(): void {
    if (this.isClosed || this.#isEnding) return
    this.#isEnding = true
    if (this.#hasLeft) this.#close()
    else if (this.unsentBytes === 0) this.#tellEnd()
  }

  destroy(): void {
    if (this.unsentBytes > 0) this.wasReset = true
    this.#close()
  }

  reset(): void {
    if (!this.isClosed) this.wasReset = true
    this.#close()
  }

  #deliver(): void {
    while (this.#incoming.length > 0 && !this.isPaused && !this.isClosed) {
      const bytes = this.#incoming.shift()!
      this.#owner!.onBytes(bytes, bytes.length, false)
    }
    if (this.#incoming.length > 0 || this.isClosed) return
    this.onTaken?.()
    if (!this.#endsIncoming || this.#hasToldEnd || this.isPaused) return
    this.#hasToldEnd = true
    this.#owner!.onEnd()
    if (this.#isEnding && this.unsentBytes === 0) this.#close()
  }

  #tellEnd(): void {
    queueMicrotask(() => {
      if (!this.isClosed) this.onOutput?.(null)
      if (this.#hasToldEnd) this.#close()
    })
  }

  #close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.#incoming = []
    this.#held = []
    this.unsentBytes = 0
    queueMicrotask(() => {
      this.#owner!.onClose()
      this.onTaken?.()
      this.onOutput?.(null)
    })
  }
}
