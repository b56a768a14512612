// The bytes of a connection that one of weir's own engines takes over. There is no stream in between, because it would cost more than the engine
// itself. Over HTTP/1.1 it is the transport, over HTTP/2 a stream of the connection (RFC 8441).

import type { Buffer } from 'node:buffer'

import type { TakeOver } from './response-content.ts'

export interface ByteLink {
  readonly receivedBytes: number
  readonly writtenBytes: number
  /** Whether enough waits for the client. `onRoom` follows. What is written all the same waits as well. */
  readonly isBlocked: boolean
  /** Bytes that wait for the client. */
  readonly waitingBytes: number
  /** How many bytes the engine keeps for the client until `onRoom`. The engine sets it, for connections with many links. */
  keptBytes: number
  /** Whether the connection allows so many more bytes to wait for the client. The engine has its own limit in addition. */
  hasRoomFor(bytes: number): boolean
  /** All events go to `owner`. Nothing is read before `resume`. */
  start(owner: LinkOwner): void
  /** Sends the head that accepts the protocol: 101, or 200 over HTTP/2. @param fields name, value, name, value */
  sendHead(protocol: string, fields: readonly string[]): void
  /** Writes text as latin1. */
  writeText(text: string): void
  /** Writes bytes, which must not change until they are sent. */
  write(bytes: Uint8Array): void
  /** @returns whether the bytes may change as soon as this returns */
  writeShared(bytes: Uint8Array): boolean
  /** Writes text and bytes, in one packet if possible. */
  writeBoth(text: string, bytes: Uint8Array): void
  /** Lets `box` write what waits in it: now, or, under load, together with others in this turn of the event loop. */
  flushSoon(box: { flush(): void }): void
  pause(): void
  resume(): void
  readonly isPaused: boolean
  /** Sends what waits, then ends our side. */
  end(): void
  /** Closes both sides now. `onClose` follows, perhaps before this returns. */
  destroy(): void
  /** Whether the client has read any of the bytes that were waiting for it at the previous call. */
  hasBeenRead(): boolean
}

/** Receives the events of a link. */
export interface LinkOwner {
  /** `buffer[start, end)` has arrived. It is borrowed: its memory is used again as soon as this returns. */
  onBytes(buffer: Buffer, start: number, end: number): void
  /** The client has ended its side. */
  onEnd(): void
  /** What waited has been sent. */
  onRoom(): void
  /** The connection is gone. No event follows. */
  onClose(): void
}

/**
 * Takes over a connection to speak another protocol, as an engine of weir's own. It calls `start` before it returns.
 * @param head bytes that have already arrived after the request
 */
type TakeLink = (link: ByteLink, head: Buffer) => void

const TAKES_LINK = Symbol('takes a link')

/** @returns an argument for `response.upgrade` to which the connection passes a link instead of a socket */
export function overLink(takeLink: TakeLink): TakeOver {
  const takeOver = (): never => {
    throw new Error('weir: this protocol has no socket')
  }
  return Object.assign(takeOver, { [TAKES_LINK]: takeLink })
}

/** The function that takes a link; null if `takeOver` takes a socket. */
export function linkTakerOf(takeOver: TakeOver): TakeLink | null {
  return (takeOver as { readonly [TAKES_LINK]?: TakeLink })[TAKES_LINK] ?? null
}
