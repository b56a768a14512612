// What observers are told when a request switches to another protocol, and when that has ended.

import { clientGone } from '../../base/errors.ts'
import type { Observers } from './observers.ts'
import type { Recording } from './recording.ts'

/** The socket of another protocol. */
export interface OtherProtocol {
  readonly receivedBytes: number
  readonly writtenBytes: number
  /** Whether one of the two sides has closed it, and no reset has. */
  readonly wasClosed: boolean
}

export class UpgradeRecord {
  readonly #observers: Observers
  readonly #recording: Recording
  readonly #other: OtherProtocol
  #hasEnded = false

  /**
   * Ends the record of the request, and begins the record of `protocol`.
   * @param status of the response to the request
   */
  constructor(observers: Observers, request: Recording, status: number, protocol: string, other: OtherProtocol) {
    this.#observers = observers
    this.#other = other
    request.markFirstByte(status)
    observers.end(request)
    this.#recording = observers.beginUpgrade(request, protocol)
  }

  /** @param error null if the client has left, or if the connection was closed */
  end(error: Error | null): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const recording = this.#recording
    const other = this.#other
    recording.bytesIn = other.receivedBytes
    recording.bytesOut = other.writtenBytes
    if (error !== null) recording.abort(error)
    else if (other.wasClosed) recording.markEnd()
    else recording.abort(clientGone())
    this.#observers.end(recording)
  }
}
