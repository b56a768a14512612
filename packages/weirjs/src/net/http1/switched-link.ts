// The transport of an HTTP/1.1 connection, handed over to an engine of weir's own.

import type { AsyncResource } from 'node:async_hooks'
import type { Buffer } from 'node:buffer'

import type { ByteLink, LinkOwner } from '../../http/response/byte-link.ts'

import { inContext } from '../connections/in-context.ts'
import type { OtherProtocol } from '../observe/upgrade-record.ts'
import { TRANSPORT_EVENTS, type Transport, type TransportOwner } from '../transport/transport.ts'
import type { Flushable } from '../transport/write-batch.ts'

/** After a read of this size there may be more bytes, which the system would deliver in the same turn of the event loop. */
const MUCH_BYTES = 64 * 1024

export class SwitchedLink implements TransportOwner, ByteLink, OtherProtocol {
  readonly #transport: Transport
  readonly #onGone: () => void
  #owner: LinkOwner | null = null
  /** The client had ended its side before the link was taken. */
  #owesEnd: boolean
  #wantsBytes = false
  #isResting = false
  wasClosed = false
  #wasDestroyed = false
  /** How much had been sent when it was last checked; null if nothing was waiting then. */
  #sentBefore: number | null = null
  receivedBytes = 0
  writtenBytes = 0
  keptBytes = 0

  /** @param onGone called when the transport has closed @param context in which it tells what happens */
  constructor(transport: Transport, hasEnded: boolean, onGone: () => void, context: AsyncResource) {
    this.#transport = transport
    this.#onGone = onGone
    this.#owesEnd = hasEnded
    transport.handOver(inContext(context, this, TRANSPORT_EVENTS))
    transport.keepsBytes = false
  }

  start(owner: LinkOwner): void {
    this.#owner = owner
  }

  // Events of the transport.

  onBytes(buffer: Buffer, length: number): void {
    this.receivedBytes += length
    this.#owner!.onBytes(buffer, 0, length)
    if (length >= MUCH_BYTES && this.#wantsBytes && !this.#wasDestroyed) this.#rest()
  }

  /** Gives other connections their turn first. */
  #rest(): void {
    this.#isResting = true
    this.#transport.pause()
    setImmediate(() => {
      this.#isResting = false
      if (this.#wantsBytes && !this.#transport.isDestroyed) this.#transport.resume()
    })
  }

  onEnd(): void {
    this.wasClosed = true
    this.#owner!.onEnd()
  }

  onDrain(): void {
    this.#owner!.onRoom()
  }

  onClose(): void {
    if (this.#wasDestroyed) this.wasClosed = true // by the program
    this.#owner!.onClose()
    this.#onGone()
  }

  // Called by the engine.

  hasRoomFor(): boolean {
    return true
  }

  get isBlocked(): boolean {
    return this.#transport.isBlocked
  }

  get waitingBytes(): number {
    return this.#transport.unsentBytes
  }

  get isPaused(): boolean {
    return !this.#wantsBytes
  }

  sendHead(protocol: string, fields: readonly string[]): void {
    let head = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${protocol}\r\nConnection: Upgrade\r\n`
    for (let i = 0; i < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`
    this.writeText(`${head}\r\n`)
  }

  writeText(text: string): void {
    this.writtenBytes += text.length
    this.#transport.writeText(text)
  }

  write(bytes: Uint8Array): void {
    this.writtenBytes += bytes.length
    this.#transport.writeBytes(bytes)
  }

  writeShared(bytes: Uint8Array): boolean {
    this.writtenBytes += bytes.length
    return this.#transport.writeShared(bytes)
  }

  writeBoth(text: string, bytes: Uint8Array): void {
    this.writtenBytes += text.length + bytes.length
    this.#transport.writeBoth(text, bytes)
  }

  flushSoon(box: Flushable): void {
    this.#transport.flushSoon(box)
  }

  pause(): void {
    this.#wantsBytes = false
    if (!this.#transport.isPaused) this.#transport.pause()
  }

  resume(): void {
    this.#wantsBytes = true
    if (this.#owesEnd) {
      this.#owesEnd = false
      this.onEnd()
    }
    if (!this.#isResting && this.#transport.isPaused) this.#transport.resume()
  }

  end(): void {
    this.wasClosed = true
    this.#transport.end()
  }

  destroy(): void {
    this.#wasDestroyed = true
    this.#transport.destroy()
  }

  hasBeenRead(): boolean {
    const { unsentBytes, sentBytes } = this.#transport
    const before = this.#sentBefore
    // While nothing is waiting, the bytes sent prove nothing: the system accepts them even if the peer is gone.
    this.#sentBefore = unsentBytes === 0 ? null : sentBytes
    return before !== null && sentBytes > before
  }
}
