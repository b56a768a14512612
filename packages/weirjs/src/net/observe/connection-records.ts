// What observers have yet to be told about one connection, apart from the exchange in progress: responses that are still being sent, a head
// that was refused, and the protocol that the connection has switched to.

import { clientGone } from '../../base/errors.ts'
import type { ConnectionInfo } from '../../http/connection-info.ts'
import { escapedBytes, type Observers, type Unsent } from './observers.ts'
import type { Recording } from './recording.ts'
import { type OtherProtocol, UpgradeRecord } from './upgrade-record.ts'

/** The state of sending to the client. */
export interface Sending {
  /** Whether the operating system has accepted everything that was handed over. */
  readonly hasSentAll: boolean
  /** Whether something is waiting in memory, and will be written in this turn of the event loop. */
  readonly writesSoon: boolean
  /** Whether the result of the last write is told in a later turn. */
  readonly awaitsResult: boolean
  /** Nothing more is sent, and the records are about to be closed. */
  readonly hasFailed: boolean
}

/** The response to a head that was refused. */
export interface SentRefusal {
  readonly status: number
  readonly bodyBytes: number
}

/** In how many turns the result of an accepted write is checked. After that, it is checked with the timeouts. */
export const MOST_LOOKS = 3

export class ConnectionRecords implements Unsent {
  readonly #observers: Observers
  readonly #sending: Sending
  /** The oldest response that may not have been sent yet. */
  #unsent: Recording | null = null
  /** The responses after it, if requests are pipelined. */
  #later: Recording[] = []
  /** Whether some responses had not been sent when they were last checked. */
  #hasWaited = false
  /** In how many turns the result of the last write was not known. */
  #looks = 0
  #upgrade: UpgradeRecord | null = null

  constructor(observers: Observers, sending: Sending) {
    this.#observers = observers
    this.#sending = sending
  }

  /** All of a response has been handed over, and its status is known. Call `settle` after that, and whenever some of it may have been sent. */
  handOver(recording: Recording): void {
    if (this.#unsent === null) this.#unsent = recording
    else this.#later.push(recording)
  }

  /** @param now by the clock of the durations, if it has been read */
  settle(now?: number): void {
    const sending = this.#sending
    if (this.#unsent === null || sending.hasFailed) return
    if (sending.writesSoon || (sending.hasSentAll && sending.awaitsResult)) {
      this.#hasWaited = true
      if (sending.writesSoon || this.#looks++ < MOST_LOOKS) this.#observers.lookLater(this)
    } else if (!sending.hasSentAll) {
      this.#hasWaited = true
      markBegun(this.#unsent, now)
      for (const recording of this.#later) markBegun(recording, now)
    } else {
      const hasWaited = this.#hasWaited
      this.#hasWaited = false
      this.#looks = 0
      const first = this.#unsent
      const later = this.#later
      this.#unsent = null
      this.#end(first, hasWaited, now)
      if (later.length === 0) return
      this.#later = []
      for (const recording of later) this.#end(recording, hasWaited, now)
    }
  }

  #end(recording: Recording, hasWaited: boolean, now: number | undefined): void {
    if (!markBegun(recording, now) && hasWaited) recording.markEnd(now)
    this.#observers.end(recording)
  }

  /**
   * A head was refused.
   *
   * @param sent the response; null if the connection ended in the middle of the head
   * @param excerpt its first bytes
   */
  refuseHead(error: Error, sent: SentRefusal | null, excerpt: Uint8Array | null, connection: ConnectionInfo): void {
    const recording = this.#observers.head(error, connection, 'HTTP/1.1')
    if (excerpt !== null) recording.firstBytes = escapedBytes(excerpt)
    if (sent === null) this.#observers.end(recording)
    else {
      recording.markFirstByte(sent.status)
      recording.bytesOut = sent.bodyBytes
      this.handOver(recording)
    }
  }

  /** The connection speaks `protocol` from now on. @param request that it has switched for */
  switchOver(request: Recording, protocol: string, other: OtherProtocol): void {
    this.#upgrade = new UpgradeRecord(this.#observers, request, 101, protocol, other)
  }

  /** Nothing more is sent. @param error null if the client has left, or if the connection was closed */
  close(error: Error | null): void {
    const unsent = this.#unsent === null ? [] : [this.#unsent, ...this.#later]
    this.#unsent = null
    this.#later = []
    for (const recording of unsent) {
      if (recording.firstByteMs === null) recording.status = null
      recording.abort(error ?? clientGone())
      this.#observers.end(recording)
    }
    this.#upgrade?.end(error)
  }
}

/** A response that was handed over as a whole begins when it is written: in a busy server, together with others. @returns whether it begins now */
function markBegun(recording: Recording, now: number | undefined): boolean {
  if (recording.firstByteMs !== null) return false
  recording.markFirstByte(recording.status, now)
  return true
}
