// A transport that reports what is written to it.

import { Buffer } from 'node:buffer'

import type { Transport, TransportOwner } from './transport.ts'
import type { Flushable } from './write-batch.ts'

export class TappedTransport implements Transport {
  readonly #transport: Transport
  readonly #onSent: (bytes: Uint8Array) => void

  /** @param onSent called with bytes that may change when it has returned */
  constructor(transport: Transport, onSent: (bytes: Uint8Array) => void) {
    this.#transport = transport
    this.#onSent = onSent
  }

  writeText(text: string): void {
    this.#onSent(Buffer.from(text, 'latin1'))
    this.#transport.writeText(text)
  }

  writeBytes<B extends Uint8Array>(bytes: B, onSent?: (bytes: B) => void): void {
    this.#onSent(bytes)
    this.#transport.writeBytes(bytes, onSent)
  }

  writeShared(bytes: Uint8Array): boolean {
    this.#onSent(bytes)
    return this.#transport.writeShared(bytes)
  }

  writeBoth(text: string, bytes: Uint8Array): void {
    this.#onSent(Buffer.from(text, 'latin1'))
    this.#onSent(bytes)
    this.#transport.writeBoth(text, bytes)
  }

  flushSoon(box: Flushable): void {
    this.#transport.flushSoon(box)
  }

  get keepsBytes(): boolean {
    return this.#transport.keepsBytes
  }

  set keepsBytes(keeps: boolean) {
    this.#transport.keepsBytes = keeps
  }

  get isBlocked(): boolean {
    return this.#transport.isBlocked
  }

  get unsentBytes(): number {
    return this.#transport.unsentBytes
  }

  get isDestroyed(): boolean {
    return this.#transport.isDestroyed
  }

  get awaitsResult(): boolean {
    return this.#transport.awaitsResult
  }

  get sentBytes(): number {
    return this.#transport.sentBytes
  }

  probe(): void {
    this.#transport.probe()
  }

  pause(): void {
    this.#transport.pause()
  }

  resume(): void {
    this.#transport.resume()
  }

  get isPaused(): boolean {
    return this.#transport.isPaused
  }

  end(): void {
    this.#transport.end()
  }

  destroy(): void {
    this.#transport.destroy()
  }

  reset(): void {
    this.#transport.reset()
  }

  handOver(owner: TransportOwner): void {
    this.#transport.handOver(owner)
  }

  get isConnected(): boolean {
    return this.#transport.isConnected
  }

  get remoteAddress(): string {
    return this.#transport.remoteAddress
  }

  get remotePort(): number {
    return this.#transport.remotePort
  }

  get isSecure(): boolean {
    return this.#transport.isSecure
  }
}
