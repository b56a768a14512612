// The first stage of a connection at an endpoint that requires PROXY headers: it ends with the header, and TLS or HTTP takes over.

import type { Buffer } from 'node:buffer'
import { isIP } from 'node:net'

import { ProtocolError } from '../../base/errors.ts'
import { type ProxyHeader, ProxyHeaderReader } from '../../formats/proxy-protocol.ts'
import type { ConnectionHost } from '../connections/connection-host.ts'
import type { OpenConnection } from '../connections/connections.ts'
import * as phase from '../time/deadlines.ts'
import { Deadlines } from '../time/deadlines.ts'
import type { Timed } from '../time/ticker.ts'

/** Receives the result of the stage: exactly one of its methods is called, once. */
interface ProxyStageOwner {
  /** @param rest the bytes after the header; their memory may be reused as soon as this returns */
  onHeader(header: ProxyHeader, rest: Buffer): void
  /** There is no valid header. Nothing can be sent. @param error null if the peer sent nothing at all */
  onRefused(error: Error | null): void
}

export class ProxyStage implements OpenConnection, Timed {
  readonly isBusy = false
  readonly isIdle = false
  readonly #host: ConnectionHost
  readonly #owner: ProxyStageOwner
  readonly #reader = new ProxyHeaderReader(isIP)
  readonly #deadlines: Deadlines
  isGone = false

  constructor(host: ConnectionHost, owner: ProxyStageOwner) {
    this.#host = host
    this.#owner = owner
    this.#deadlines = new Deadlines(host.timeouts, host.ticker)
    this.#deadlines.enter(phase.HEAD)
    host.ticker.add(this)
  }

  push(bytes: Buffer): void {
    if (this.isGone) return
    let header: ProxyHeader | null
    try {
      header = this.#reader.push(bytes)
    } catch (error) {
      this.#refuse(error as Error)
      return
    }
    if (header === null) return
    this.#end()
    this.#owner.onHeader(header, bytes.subarray(this.#reader.used))
    this.#host.forget(this)
  }

  /** The peer has ended its side, or is gone, as after a check that the port is open. */
  end(): void {
    this.#refuse(this.#reader.hasBegun ? new ProtocolError('WEIR_PROXY_HEADER', 'it is incomplete') : null)
  }

  tick(elapsedMs: number): void {
    const late = this.#deadlines.checkPhase(elapsedMs)
    if (late !== null) this.#refuse(late)
  }

  /** A header will follow, and then a request. They have `headersTimeout` in any case. */
  drain(): void {}

  abort(): void {
    this.#refuse(null)
  }

  #refuse(error: Error | null): void {
    if (this.isGone) return
    this.#end()
    this.#owner.onRefused(error)
    this.#host.forget(this)
  }

  #end(): void {
    this.isGone = true
    this.#host.ticker.delete(this)
  }
}
