// Stands between a socket and ws when messages are compressed, and passes on one message at a time.
//
// ws inflates all messages in the bytes that it receives, even while it is paused, and 64 KiB on the wire may be 64 MiB of messages. So it
// receives the bytes up to the end of one message (RFC 6455 §5.2), and the rest when that message has been handled. Control frames pass.

import type { Buffer } from 'node:buffer'
import { Duplex } from 'node:stream'

import { FrameReader, OPCODE_CLOSE } from './frame-reader.ts'

type Done = (error?: Error | null) => void

export class MessageGate extends Duplex {
  readonly #socket: Duplex
  readonly #frames = new FrameReader()
  /** The bytes that the socket delivered, and how many of them have been passed on. */
  #bytes: Buffer | null = null
  #at = 0
  /** Whether a message was passed on that has not been handled yet. */
  #isShut = false
  /** Whether everything passes. */
  #isOpen = false
  #isWanted = false
  #hasEnded = false

  /** It closes with the socket, and not earlier: see `UpgradedSocket`. */
  constructor(socket: Duplex) {
    super({ autoDestroy: false })
    this.#socket = socket
    socket.pause()
    socket.on('data', (bytes: Buffer) => {
      socket.pause()
      this.#bytes = bytes
      this.#at = 0
      this.#flow()
    })
    socket.on('end', () => {
      this.#hasEnded = true
      this.#flow()
    })
    socket.on('error', (error) => this.destroy(error))
    socket.on('close', () => this.destroy())
    if (socket.destroyed) this.destroy()
  }

  /** The message has been handled, so the next one may pass. */
  release(): void {
    this.#isShut = false
    this.#flow()
  }

  /** No more messages are expected: whatever still arrives may pass. */
  open(): void {
    this.#isOpen = true
    this.release()
  }

  override _read(): void {
    this.#isWanted = true
    this.#flow()
  }

  override _write(bytes: Buffer, _encoding: string, done: Done): void {
    this.#socket.write(bytes, done)
  }

  override _writev(pieces: readonly { readonly chunk: Buffer }[], done: Done): void {
    this.#socket.cork()
    pieces.forEach(({ chunk }, i) => void this.#socket.write(chunk, i === pieces.length - 1 ? done : undefined))
    this.#socket.uncork()
  }

  override _final(done: Done): void {
    this.#socket.end(done)
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#socket.destroy()
    done(error)
  }

  #flow(): void {
    while (this.#isWanted && this.#bytes !== null && (this.#isOpen || !this.#isShut)) {
      const bytes = this.#bytes
      const start = this.#at
      this.#at = this.#isOpen ? bytes.length : this.#pass(bytes, start)
      if (this.#at === bytes.length) this.#bytes = null
      this.#isWanted = false // before push, which may call _read
      if (this.push(bytes.subarray(start, this.#at))) this.#isWanted = true
    }
    if (this.#bytes !== null) return
    if (this.#hasEnded) this.push(null)
    else if (this.#isWanted && !this.#isShut) this.#socket.resume()
  }

  /** @returns where the first message ends, after which the gate is shut; or the end of the bytes */
  #pass(bytes: Buffer, start: number): number {
    let at = start
    while (at < bytes.length) {
      at = this.#frames.read(bytes, at)
      if (this.#frames.isInside) break
      if (this.#frames.opcode === OPCODE_CLOSE) this.#isOpen = true // ws reads nothing after it
      if (this.#frames.opcode < OPCODE_CLOSE && this.#frames.isFinal) {
        this.#isShut = true
        break
      }
    }
    return at
  }
}
