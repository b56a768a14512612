// What a connection needs from a socket. It is the same for TCP, Unix sockets, TLS and requests that never leave the process.

import type { Flushable } from './write-batch.ts'

export interface Transport {
  /** Writes text as latin1. */
  writeText(text: string): void
  /**
   * Writes bytes. They must not change until they are sent.
   * @param onSent called with them when their memory is free again; not at all if the transport fails before that
   */
  writeBytes<B extends Uint8Array>(bytes: B, onSent?: (bytes: B) => void): void
  /** Like `writeBytes`. @returns whether the network has accepted all of them, so that they may change as soon as this returns */
  writeShared(bytes: Uint8Array): boolean
  /** Writes text and bytes, in one packet if possible. */
  writeBoth(text: string, bytes: Uint8Array): void
  /** Lets `box` write what is waiting in it: now, or, under load, together with others in this turn of the event loop. */
  flushSoon(box: Flushable): void
  /**
   * Set it to true if the next bytes are going to be kept. They may then arrive in memory of their own (`borrowed` is false), which does
   * not have to be copied. Default false.
   */
  keepsBytes: boolean
  /** Whether enough is waiting to be sent. `onDrain` follows. */
  readonly isBlocked: boolean
  /** Bytes that are waiting to be sent. Falls while the client reads, and rises when more is written. */
  readonly unsentBytes: number
  /** Whether it has been closed, or has failed: nothing more is sent, and `onClose` follows if it has not been called. */
  readonly isDestroyed: boolean
  /** Whether the result of the last write is not known yet. Under TLS it is told a turn of the event loop later, and never after some failures. */
  readonly awaitsResult: boolean
  /** Bytes that have been sent. Rises while the client reads. */
  readonly sentBytes: number
  /** Checks whether the client is still there when reading would not show it. If it has reset the connection, `onClose` follows. */
  probe(): void
  pause(): void
  resume(): void
  /** Whether `pause` was called, and `resume` has not been called since. */
  readonly isPaused: boolean
  /** Sends what is waiting, then ends our side; the other side may continue. */
  end(): void
  /** Closes both sides now. The client sees a normal end if nothing is waiting to be sent. */
  destroy(): void
  /** Closes so that the client notices that something is missing. */
  reset(): void
  /** From now on all events go to `owner`. */
  handOver(owner: TransportOwner): void
  /** Asks the system whether it still knows the other end. Only this call notices a reset that has not been read yet. */
  readonly isConnected: boolean
  readonly remoteAddress: string
  readonly remotePort: number
  readonly isSecure: boolean
}

/** Receives the events of a transport. */
export interface TransportOwner {
  /** How many requests end with it. Absent for at most one. */
  readonly load?: number
  /** @param borrowed whether the memory is reused as soon as this returns */
  onBytes(buffer: Buffer, length: number, borrowed: boolean): void
  /** The client has ended its side. */
  onEnd(): void
  /** Everything that was waiting has been sent. */
  onDrain(): void
  /**
   * The transport is gone. No event follows.
   * @param failure what has ended it, such as a reset by the client; null or absent if it was closed
   */
  onClose(failure?: Error | null): void
}

export const TRANSPORT_EVENTS = ['onBytes', 'onEnd', 'onDrain', 'onClose'] as const
