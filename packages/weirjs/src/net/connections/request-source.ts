// What requests may know about the connection on which they arrived, in either protocol.

import type { Clock } from '../../base/clock.ts'
import type { ClientCertificate, Forwarding, HostRule, SocketPeer } from '../../http/connection-info.ts'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'

import type { Transport } from '../transport/transport.ts'
import type { ConnectionHost } from './connection-host.ts'
import { connectionId, nextConnection } from './connection-id.ts'
import { clientAddressOf, clientPortOf, isProxiedTls, type Peer, socketPeerOf } from './peer.ts'

/** How many requests of one connection are read in a row, before the event loop turns to others. */
const REQUESTS_IN_A_ROW = 64
/** The same in bytes of their heads. Over HTTP/2 a head of 64 KB may be received in 60 bytes. */
const HEAD_BYTES_IN_A_ROW = 64 * 1024
/**
 * The same in bytes of completed bodies. Most bodies arrive in the same read as their request: with a smaller number, each such read would end the
 * row.
 */
const BODY_BYTES_IN_A_ROW = 1024 * 1024
/**
 * The same in characters of responses that are text. A request of some hundred bytes may have a large one, which takes time to make even if only its
 * head is sent. Bytes are there already, as in an echo: to rest so often would cost more than they do.
 */
const TEXT_IN_A_ROW = 256 * 1024
/** The same in pieces of bodies. A chunk of one byte takes six bytes on the wire, and as much time as a large one. */
export const PIECES_IN_A_ROW = 4_096

/** The base of connections. */
export abstract class RequestSource {
  readonly host: ConnectionHost
  readonly peer: Peer
  // Not getters: they are read for every request.
  readonly isTest: boolean
  readonly hosts: HostRule | null
  protected readonly transport: Transport
  /** A number until the text is needed. */
  #id: number | string = nextConnection()
  /** How many requests it has carried. */
  requests = 0
  #requestsInARow = 0
  #headBytesInARow = 0
  #bodyBytesInARow = 0
  #textInARow = 0
  #piecesInARow = 0
  /** Enough requests, or pieces of bodies, have been read in a row: the rest waits for the next turn of the event loop. */
  protected isAtRest = false
  /** The same inside a body. */
  protected isBodyAtRest = false
  #isHeldUp = false

  constructor(host: ConnectionHost, transport: Transport, peer: Peer) {
    this.host = host
    this.peer = peer
    this.isTest = peer.isTest
    this.hosts = peer.hosts
    this.transport = transport
  }

  /** Reads what has been received. */
  abstract run(): void

  /**
   * A request begins. Rests are counted over all turns, not within each: that costs almost nothing, and a connection with one request a turn is
   * at rest only when it waits for the client.
   */
  protected countRequest(headBytes: number): void {
    this.requests++
    this.#headBytesInARow += headBytes
    if (++this.#requestsInARow >= REQUESTS_IN_A_ROW || this.#headBytesInARow >= HEAD_BYTES_IN_A_ROW) this.#rest()
  }

  /** A body is complete. Many bodies may each lack one last byte, so that one read completes all of them for their handlers. */
  protected countBody(bytes: number): void {
    this.#bodyBytesInARow += bytes
    if (this.#bodyBytesInARow >= BODY_BYTES_IN_A_ROW) this.#rest()
  }

  /** A response has been made. One that is streamed takes turns of its own. */
  countResponse({ content }: OutgoingResponse): void {
    if (content.kind === 'text') this.#textInARow += content.text.length
    if (this.#textInARow >= TEXT_IN_A_ROW) this.#rest()
  }

  /** A piece of a body has been read. */
  protected countPiece(): void {
    if (++this.#piecesInARow < PIECES_IN_A_ROW) return
    this.isBodyAtRest = true
    this.#rest()
  }

  #rest(): void {
    this.#requestsInARow = this.#headBytesInARow = this.#bodyBytesInARow = this.#textInARow = this.#piecesInARow = 0
    this.isAtRest = true
    setImmediate(endRest, this)
  }

  /** `run` leaves something for the next turn. @returns false */
  protected holdUp(): boolean {
    this.#isHeldUp = true
    return false
  }

  /** @internal */
  endRest(): void {
    this.isAtRest = this.isBodyAtRest = false
    if (!this.#isHeldUp) return
    this.#isHeldUp = false
    this.run()
  }

  get clientAddress(): string {
    return clientAddressOf(this.peer, this.transport.remoteAddress)
  }

  get clientPort(): number {
    return clientPortOf(this.peer, this.transport.remotePort)
  }

  get isSecure(): boolean {
    return this.transport.isSecure || isProxiedTls(this.peer)
  }

  get forwarding(): Forwarding | null {
    return this.peer.isTrustedProxy ? this.host.proxies : null
  }

  get testPrincipal(): object | null {
    return this.peer.testPrincipal
  }

  get endpointName(): string | null {
    return this.peer.endpointName
  }

  get clock(): Clock {
    return this.host.ticker.clock
  }

  get isConnected(): boolean {
    return this.transport.isConnected
  }

  describePeer(): SocketPeer {
    const { remoteAddress, remotePort, isSecure } = this.transport
    return socketPeerOf(this.peer, remoteAddress, remotePort, isSecure)
  }

  get clientCertificate(): ClientCertificate | null {
    return this.peer.clientCertificate
  }

  get connectionId(): string {
    if (typeof this.#id === 'number') this.#id = connectionId(this.#id)
    return this.#id
  }
}

function endRest(source: RequestSource): void {
  source.endRest()
}
