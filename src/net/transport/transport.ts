// What a connection needs of a socket. The same for TCP, Unix sockets, TLS and a request that never leaves the process.

import type { Flushable } from './write-batch.ts'

export interface Transport {
  /** Hands text to the network, one byte a character (latin1). */
  writeText(text: string): void
  /** Hands bytes to the network. They must not change until they are sent. */
  writeBytes(bytes: Uint8Array): void
  /** Like `writeBytes`. @returns whether the network has taken all of them, so that they may change as soon as this returns */
  writeShared(bytes: Uint8Array): boolean
  /** Text and bytes in one packet where that is possible. */
  writeBoth(text: string, bytes: Uint8Array): void
  /** Lets `box` write what waits in it: now, or where writes are dear and many come, together with others in this turn of the event loop. */
  flushSoon(box: Flushable): void
  /**
   * Set to true where the bytes that come next are going to be kept: they may then come in memory of their own (`borrowed` is false),
   * which nobody has to copy. Default false.
   */
  keepsBytes: boolean
  /** Whether enough waits to be sent already; `onDrain` follows. */
  readonly isBlocked: boolean
  /** Bytes that wait to be sent: falls while the client reads, and rises when more is written. */
  readonly unsentBytes: number
  /** Bytes that have been sent: rises while the client reads. */
  readonly sentBytes: number
  /** Asks the network whether the client is still there, where reading does not tell: a reset is then followed by `onClose`. */
  probe(): void
  pause(): void
  resume(): void
  /** Whether it was told to `pause`, and not to `resume` since. */
  readonly isPaused: boolean
  /** Sends what waits, then ends our side; the other side may go on. */
  end(): void
  /** Closes both sides now, orderly if nothing waits. */
  destroy(): void
  /** Closes so that the client notices that something is missing. */
  reset(): void
  /** From now on everything is told to `owner`. */
  handOver(owner: TransportOwner): void
  readonly remoteAddress: string
  readonly remotePort: number
  readonly isSecure: boolean
}

/** Who is told what happens on a transport. */
export interface TransportOwner {
  /** @param borrowed the memory is used again as soon as this returns */
  onBytes(buffer: Buffer, length: number, borrowed: boolean): void
  /** The client has ended its side. */
  onEnd(): void
  /** What waited has been sent. */
  onDrain(): void
  /** The transport is gone. Nothing follows. */
  onClose(): void
}
