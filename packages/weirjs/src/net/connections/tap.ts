// How a recorder receives the bytes of an HTTP/1.1 connection.

import type { Buffer } from 'node:buffer'

import type { Head } from '../../wire/head/head.ts'
import type { Transport } from '../transport/transport.ts'
import type { Peer } from './peer.ts'

/** Called with everything that one connection receives and sends. Its methods never throw. Bytes are borrowed: they are reused as soon as it returns. */
export interface ConnectionTap {
  /** `bytes[0, length)` have arrived. */
  received(bytes: Buffer, length: number): void
  /** The client has ended its side. */
  receivedEnd(): void
  /** The head of a request is complete. */
  requestBegun(head: Head): void
  /** A request is complete. @param waiting how many of the received bytes come after it */
  requestEnded(waiting: number): void
  sent(bytes: Uint8Array): void
  /** Nothing more is received or sent. */
  closed(): void
}

/** Called for each new connection. */
export type OpenTap = (transport: Transport, peer: Peer) => ConnectionTap
