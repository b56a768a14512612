// What waits to be written. Small answers gather here, so that a batch of pipelined requests is answered with one write, and the
// head and the body of an answer never go out as two packets.

import { Buffer } from 'node:buffer'
import { giveBackTextBuffer, takeTextBuffer } from './text-buffers.ts'
import type { Transport } from './transport.ts'

/** A body of up to this many bytes is copied behind its head: one write of both is cheaper than a vectored one. */
const JOIN_BYTES = 16 * 1024
/** So much waits here at most before it is handed on. */
const FULL_CHARS = 64 * 1024
/** Where a text becomes UTF-8, which is then kept as text of one byte a character. Made when it is needed: many programs answer ASCII only. */
let scratch: Buffer | null = null

export class Outbox {
  readonly #transport: Transport
  #text = ''

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Whether the client must read before more is made for it. */
  get isBlocked(): boolean {
    if (this.#text.length >= FULL_CHARS) this.flush()
    return this.#transport.isBlocked
  }

  /** Text of one byte a character. It goes out with the next flush. */
  addText(text: string): void {
    this.#text += text
  }

  /** A head and the UTF-8 text behind it, whose length in bytes is known. */
  addUtf8(head: string, text: string, byteLength: number): void {
    if (byteLength > JOIN_BYTES) {
      this.#addLargeText(head, text, byteLength)
      return
    }
    if (byteLength === text.length) {
      this.#text += head + text
      return
    }
    scratch ??= Buffer.allocUnsafeSlow(JOIN_BYTES)
    scratch.write(text)
    this.#text += head + scratch.toString('latin1', 0, byteLength)
  }

  #addLargeText(head: string, text: string, byteLength: number): void {
    const before = this.#text + head
    const buffer = takeTextBuffer(before.length + byteLength)
    if (buffer === null) {
      this.addBytes(head, Buffer.from(text))
      return
    }
    this.#text = ''
    const start = buffer.write(before, 0, 'latin1')
    buffer.write(text, start, byteLength === text.length ? 'latin1' : 'utf8')
    const isTaken = this.#transport.writeShared(buffer.subarray(0, start + byteLength))
    if (isTaken) giveBackTextBuffer(buffer)
  }

  /** A head, the bytes behind it, which must not change until they are sent, and a tail. They go out at once. */
  addBytes(head: string, bytes: Uint8Array, tail = ''): void {
    const text = this.#text + head
    this.#text = ''
    if (text.length + bytes.length > JOIN_BYTES) {
      this.#transport.writeBoth(text, bytes)
      if (tail !== '') this.#transport.writeText(tail)
      return
    }
    const joined = Buffer.allocUnsafe(text.length + bytes.length + tail.length)
    joined.write(text, 0, 'latin1')
    joined.set(bytes, text.length)
    joined.write(tail, text.length + bytes.length, 'latin1')
    this.#transport.writeBytes(joined)
  }

  /** As `flush`, but under load it may wait until others can be written with it, for half a millisecond or so (write-batch.ts). */
  flushSoon(): void {
    if (this.#text !== '') this.#transport.flushSoon(this)
  }

  flush(): void {
    if (this.#text === '') return
    const text = this.#text
    this.#text = ''
    this.#transport.writeText(text)
  }
}
