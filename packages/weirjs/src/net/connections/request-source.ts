// What requests may know about the connection on which they arrived, in either protocol.

import type { Clock } from '../../base/clock.ts'
import { networkOf } from '../../formats/client-network.ts'
import type { ClientCertificate, Forwarding, HostRule, SocketPeer } from '../../http/connection-info.ts'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { MOST_UNTOLD, requestTurns as turns, untold } from '../../http/work-turns.ts'
import type { Transport } from '../transport/transport.ts'
import type { ConnectionHost } from './connection-host.ts'
import { connectionId, nextConnection } from './connection-id.ts'
import { clientAddressOf, clientPortOf, isProxiedTls, type Peer, socketPeerOf } from './peer.ts'

/**
 * How much one connection reads in a row, before the event loop turns to others: 64 requests, or 64 KiB of their heads. Over HTTP/2 a head of 64 KB
 * may be received in 60 bytes.
 */
const WORK_IN_A_ROW = 64 * 1024
const WORK_OF_REQUEST = 1024
/** A MiB of completed bodies. Most bodies arrive in the same read as their request: with a smaller number, each such read would end the row. */
const BODY_BYTES_FOR_WORK = 16
/**
 * 256 Ki characters of responses that are text. A request of some hundred bytes may have a large one, which takes time to make even if only its head is
 * sent. Bytes are there already, as in an echo: to rest so often would cost more than they do.
 */
const TEXT_FOR_WORK = 4
/** Pieces of bodies. A chunk of one byte takes six bytes on the wire, and as much time as a large one. */
export const PIECES_IN_A_ROW = 4_096
const WORK_OF_PIECE = WORK_IN_A_ROW / PIECES_IN_A_ROW

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
  protected workInARow = 0
  /** Enough requests, or pieces of bodies, have been read in a row: the rest waits for the next turn of the event loop. */
  protected isAtRest = false
  /** The same inside a body. */
  protected isBodyAtRest = false
  /** What has been received, or waits to begin, is read in a later turn. The client is not to blame for the time until then. */
  isHeldUp = false

  constructor(host: ConnectionHost, transport: Transport, peer: Peer) {
    this.host = host
    this.peer = peer
    this.isTest = peer.isTest
    this.hosts = peer.hosts
    this.transport = transport
  }

  /** Reads what has been received. */
  abstract run(): void

  /** Whether something has been received that has not been read or has not begun. */
  protected abstract readonly hasMore: boolean

  /** A request begins. */
  protected countRequest(headBytes: number): void {
    this.requests++
    const work = headBytes > WORK_OF_REQUEST ? headBytes : WORK_OF_REQUEST
    untold.work += work
    if ((this.workInARow += work) >= WORK_IN_A_ROW || untold.work >= MOST_UNTOLD) this.#endRow()
  }

  /** A body is complete. Many bodies may each lack one last byte, so that one read completes all of them for their handlers. */
  protected countBody(bytes: number): void {
    this.#count(Math.max(0, bytes / BODY_BYTES_FOR_WORK - WORK_OF_REQUEST)) // its request has been counted
  }

  /** A client has ended a request that was in progress, or its request was refused: that takes as much time as one that begins. */
  protected countEnd(): void {
    this.#count(WORK_OF_REQUEST)
  }

  /** A response has been made. One that is streamed takes turns of its own. */
  countResponse({ content }: OutgoingResponse): void {
    if (content.kind !== 'text') return
    const work = content.text.length / TEXT_FOR_WORK
    untold.work += work
    if ((this.workInARow += work) >= WORK_IN_A_ROW || untold.work >= MOST_UNTOLD) this.#endRow()
  }

  /** A piece of a body has been read. */
  protected countPiece(): void {
    this.#count(WORK_OF_PIECE)
    this.isBodyAtRest = this.isAtRest
  }

  /** The same is written out where every request comes along. */
  #count(work: number): void {
    untold.work += work
    if ((this.workInARow += work) >= WORK_IN_A_ROW || untold.work >= MOST_UNTOLD) this.#endRow()
  }

  /** This connection has read a row, or all of them have together: that is counted over several turns, because each turn that counts costs time. */
  #endRow(): void {
    if (untold.work >= MOST_UNTOLD) {
      // While the turn is over, every connection comes here, and rests if it has more to read.
      if (turns.isOver) untold.work = MOST_UNTOLD
      else {
        turns.spend(untold.work)
        untold.work = 0
      }
    }
    if (this.workInARow < WORK_IN_A_ROW && !(turns.isOver && this.hasMore)) return
    this.workInARow = 0
    if (this.isAtRest) return
    this.isAtRest = true
    if (turns.isOver) turns.wait(networkOf(this.clientAddress), () => this.endRest())
    else setImmediate(endRest, this)
  }

  /** `run` leaves something for the next turn. @returns false */
  protected holdUp(): boolean {
    this.isHeldUp = true
    return false
  }

  /** @internal */
  endRest(): void {
    this.isAtRest = this.isBodyAtRest = false
    if (!this.isHeldUp) return
    this.isHeldUp = false
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
