// Collects what is to be written. Small responses gather here, so that a batch of pipelined requests is answered with one write, and the
// head and the body of a response never leave in two packets.

import { Buffer } from 'node:buffer'
import { giveBackTextBuffer, takeTextBuffer } from './text-buffers.ts'
import type { Transport } from './transport.ts'

/** A body of up to this size is copied after its head: one plain write of both is cheaper than a vectored one. */
const JOIN_BYTES = 16 * 1024
/** The largest amount that waits here before it is written. */
const FULL_CHARS = 64 * 1024
/** Converts text to UTF-8, which is then kept as latin1 text. Allocated on demand, because many programs only send ASCII. */
let scratch: Buffer | null = null

export class Outbox {
  readonly #transport: Transport
  /** What waits to be written, as Latin-1 text. Only the methods change it. */
  text = ''

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Writes what has gathered, if it is much. @returns whether the client must read before more is produced for it */
  relieve(): boolean {
    if (this.text.length >= FULL_CHARS) this.flush()
    return this.#transport.isBlocked
  }

  /** Adds latin1 text, which leaves with the next flush. */
  addText(text: string): void {
    this.text += text
  }

  /** Adds a head and a text, which is sent as UTF-8. `byteLength` is its length in bytes. */
  addUtf8(head: string, text: string, byteLength: number): void {
    if (byteLength > JOIN_BYTES) {
      this.#addLargeText(head, text, byteLength)
      return
    }
    if (byteLength === text.length) {
      this.text += head + text
      return
    }
    scratch ??= Buffer.allocUnsafeSlow(JOIN_BYTES)
    scratch.write(text)
    this.text += head + scratch.toString('latin1', 0, byteLength)
  }

  #addLargeText(head: string, text: string, byteLength: number): void {
    const before = this.text + head
    const buffer = takeTextBuffer(before.length + byteLength)
    if (buffer === null) {
      this.addBytes(head, Buffer.from(text))
      return
    }
    this.text = ''
    const start = buffer.write(before, 0, 'latin1')
    buffer.write(text, start, byteLength === text.length ? 'latin1' : 'utf8')
    const isTaken = this.#transport.writeShared(buffer.subarray(0, start + byteLength))
    if (isTaken) giveBackTextBuffer(buffer)
  }

  /** Writes a head, bytes, which must not change until they are sent, and a tail. They are written immediately. */
  addBytes(head: string, bytes: Uint8Array, tail = ''): void {
    const text = this.text + head
    this.text = ''
    if (text.length + bytes.length > JOIN_BYTES) {
      this.#transport.writeBoth(text, bytes)
      if (tail !== '') this.#transport.writeText(tail)
      return
    }
    const joined = Buffer.allocUnsafe(text.length + bytes.length + tail.length)
    if (text !== '') joined.write(text, 0, 'latin1')
    joined.set(bytes, text.length)
    if (tail !== '') joined.write(tail, text.length + bytes.length, 'latin1')
    this.#transport.writeBytes(joined)
  }

  flush(): void {
    if (this.text === '') return
    const text = this.text
    this.text = ''
    this.#transport.writeText(text)
  }
}
