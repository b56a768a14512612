// A socket that exists only in memory, between a server and the network of a simulation. Nothing moves before the network moves it.
//
// It is as strict as a real socket, and stricter where a real one would hide a mistake. Written memory must not change before it is sent,
// nothing may be written after the end, and memory that is lent to the server is overwritten as soon as the server returns.

import type { Transport, TransportOwner } from '../../src/net/transport/transport.ts'
import type { Flushable } from '../../src/net/transport/write-batch.ts'

const NOTHING = Buffer.alloc(0)
/**
 * What was in progress when the socket became full may still be written: the rest of a piece, and the response of a handler that was
 * running.
 */
const MOST_WRITES_WHILE_BLOCKED = 4

/** One thing that the network does for the server, or that the server calls. */
export type Operation = 'deliver' | 'take' | 'write' | 'end'

interface Pending {
  /** The server's memory. */
  readonly bytes: Uint8Array
  /** Its content when it was written. */
  readonly copy: Buffer
  /** Tells the server that its memory is not read any more. */
  readonly onSent: (() => void) | null
}

export interface SocketOptions {
  /** With this many unsent bytes, the server is told to wait. */
  readonly highWaterMark: number
  /** The memory that all sockets lend to the server; null: new memory for each delivery. */
  readonly shared: Buffer | null
  /** Called before each operation. It returns whether the operation fails. */
  readonly fails: (operation: Operation) => boolean
  /** Reports something that a server must not do. */
  readonly blame: (what: string) => void
}

export class SimulatedSocket implements Transport {
  readonly #options: SocketOptions
  #owner: TransportOwner | null = null
  readonly isConnected = true
  readonly remoteAddress = '192.0.2.1'
  readonly remotePort = 1
  readonly isSecure = false
  keepsBytes = false

  // From the client to the server.
  #incoming: Buffer = NOTHING
  #isEndComing = false
  #isEndTold = false
  #isPaused = false

  // From the server to the client.
  #pending: Pending[] = []
  #unsent = 0
  sentBytes = 0
  #needsDrain = false
  #writesWhileBlocked = 0
  #isEnding = false
  #received: Buffer[] = []

  /** Whether the client has seen the end of the server's side. Everything that was written arrived before it. */
  hasEnded = false
  /** Whether the connection was broken: by the client, by the network, or by the server on purpose. */
  isBroken = false
  /** Whether the server reset the connection, so that the client notices. */
  wasReset = false
  #isDestroyed = false
  /** Whether the server has been told that the connection is over. */
  isClosed = false
  onClosed: (() => void) | null = null

  constructor(options: SocketOptions) {
    this.#options = options
  }

  start(owner: TransportOwner): void {
    this.#owner = owner
  }

  handOver(owner: TransportOwner): void {
    this.#owner = owner
  }

  // The client's side.

  /** Sends bytes. They wait in the network until it delivers them. */
  send(bytes: Buffer): void {
    this.#incoming = Buffer.concat([this.#incoming, bytes])
  }

  /** The client ends its side, after what it has sent. */
  sendEnd(): void {
    this.#isEndComing = true
  }

  /** Everything that has arrived. */
  get received(): Buffer {
    if (this.#received.length > 1) this.#received = [Buffer.concat(this.#received)]
    return this.#received[0] ?? NOTHING
  }

  // The network's side.

  get isGone(): boolean {
    return this.#isDestroyed
  }

  /** Whether the server knows that the client has ended its side. */
  get hasToldEnd(): boolean {
    return this.#isEndTold
  }

  /** Bytes on their way to the server, if it reads. An end counts as one. */
  get deliverable(): number {
    if (this.#isDestroyed || this.#isPaused) return 0
    return this.#incoming.length + (this.#isEndComing && !this.#isEndTold ? 1 : 0)
  }

  /** Bytes on their way to the client. An end counts as one. */
  get takeable(): number {
    if (this.#isDestroyed) return 0
    return this.#unsent + (this.#isEnding && !this.hasEnded ? 1 : 0)
  }

  /** Delivers up to `most` bytes to the server. */
  deliver(most: number): void {
    if (this.deliverable === 0 || this.#failsAt('deliver')) return
    const length = Math.min(most, this.#incoming.length, this.#options.shared?.length ?? Number.POSITIVE_INFINITY)
    if (length === 0) {
      this.#isEndTold = true
      this.#owner!.onEnd()
      this.#closeIfBothEnded()
      return
    }
    const piece = this.#incoming.subarray(0, length)
    this.#incoming = this.#incoming.subarray(length)
    const { shared } = this.#options
    if (shared === null) {
      this.#owner!.onBytes(Buffer.from(piece), length, false)
      return
    }
    piece.copy(shared)
    this.#owner!.onBytes(shared, length, true)
    shared.fill(0xee, 0, length)
  }

  /** Delivers up to `most` bytes to the client. */
  take(most: number): void {
    if (this.takeable === 0 || this.#failsAt('take')) return
    let rest = Math.min(most, this.#unsent)
    this.#unsent -= rest
    this.sentBytes += rest
    while (rest > 0) {
      const { bytes, copy, onSent } = this.#pending[0]!
      const length = Math.min(rest, bytes.length)
      if (!copy.equals(bytes)) this.#options.blame('bytes changed between write and send')
      this.#received.push(copy.subarray(0, length))
      if (length === bytes.length) {
        this.#pending.shift()
        onSent?.()
      } else this.#pending[0] = { bytes: bytes.subarray(length), copy: copy.subarray(length), onSent }
      rest -= length
    }
    if (this.#unsent > 0) return
    if (this.#isEnding) {
      this.hasEnded = true
      this.#closeIfBothEnded()
    } else if (this.#needsDrain) {
      this.#needsDrain = false
      this.#writesWhileBlocked = 0
      this.#owner!.onDrain()
    }
  }

  /** Breaks the connection: the client has reset it, or a write has failed. */
  break(): void {
    if (this.#isDestroyed) return
    this.isBroken = true
    this.#destroy()
  }

  #failsAt(operation: Operation): boolean {
    if (!this.#options.fails(operation)) return false
    this.break()
    return true
  }

  #closeIfBothEnded(): void {
    if (this.hasEnded && this.#isEndTold) this.#destroy()
  }

  #destroy(): void {
    if (this.#isDestroyed) return
    this.#isDestroyed = true
    this.#pending = []
    this.#unsent = 0
    process.nextTick(() => {
      this.isClosed = true
      this.onClosed?.()
      this.#owner!.onClose()
    })
  }

  // The server's side.

  get isDestroyed(): boolean {
    return this.#isDestroyed
  }

  readonly awaitsResult = false

  get unsentBytes(): number {
    return this.#unsent
  }

  flushSoon(box: Flushable): void {
    box.flush()
  }

  get isBlocked(): boolean {
    return this.#needsDrain
  }

  writeText(text: string): void {
    this.writeBytes(Buffer.from(text, 'latin1'))
  }

  writeBytes<B extends Uint8Array>(bytes: B, onSent?: (bytes: B) => void): void {
    if (this.#isEnding && !this.#isDestroyed) this.#options.blame('it wrote after its end')
    if (this.#isDestroyed || bytes.length === 0 || this.#failsAt('write')) return
    this.#pending.push({ bytes, copy: Buffer.from(bytes), onSent: onSent === undefined ? null : () => onSent(bytes) })
    this.#unsent += bytes.length
    if (this.#needsDrain && ++this.#writesWhileBlocked > MOST_WRITES_WHILE_BLOCKED)
      this.#options.blame('it kept writing to a client that does not read')
    if (this.#unsent >= this.#options.highWaterMark) this.#needsDrain = true
  }

  /** Accepted as a whole if the network has room; held if something is already waiting. */
  writeShared(bytes: Uint8Array): boolean {
    const isTaken = this.#unsent === 0
    this.writeBytes(isTaken ? Buffer.from(bytes) : bytes)
    return isTaken
  }

  writeBoth(text: string, bytes: Uint8Array): void {
    this.writeText(text)
    this.writeBytes(bytes)
  }

  /** Nothing to do: a break is always reported immediately here. */
  probe(): void {}

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  end(): void {
    if (this.#isDestroyed || this.#isEnding || this.#failsAt('end')) return
    this.#isEnding = true
  }

  destroy(): void {
    if (this.#unsent > 0) this.#options.blame('it discarded what was still to be sent, without telling the client')
    this.#destroy()
  }

  reset(): void {
    if (this.#isDestroyed) return
    this.isBroken = this.wasReset = true
    this.#destroy()
  }
}
