// Lets each fragment of a message have memory of its own.
//
// ws keeps the fragments of an unfinished message as views of the bytes that it received. A fragment of one byte between other frames would
// keep the 64 KiB that arrived with it, and a message of 16 KiB a gigabyte. So what a socket has received is cut around each fragment, and the
// fragment is copied. Messages that are not in fragments pass as they are.

import { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'

import { FrameReader, OPCODE_BINARY, OPCODE_CONTINUATION } from './frame-reader.ts'

/** @param head what has been read from the socket before; it is not cut */
export function ownFragments(socket: Duplex, head: Buffer): void {
  const cutter = new FragmentCutter()
  cutter.cut(head)
  const push = socket.push.bind(socket)
  socket.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (!(chunk instanceof Buffer)) return push(chunk, encoding)
    let wantsMore = true
    for (const piece of cutter.cut(chunk)) wantsMore = push(piece)
    return wantsMore
  }
}

/** A frame of this size gets memory of its own from ws too, when it puts the parts of its payload together. */
const OWN_BYTES = Buffer.poolSize >>> 1
const HEAD_ROOM = 16
const NOTHING = Buffer.alloc(0)

export class FragmentCutter {
  readonly #frames = new FrameReader()
  /** The beginning of a frame that may be a small fragment: it is passed on when it is complete. */
  #held = NOTHING
  #heldBytes = 0

  /** The same bytes, in pieces: each fragment is one, with memory of its own, unless it is large. */
  cut(bytes: Buffer): readonly Buffer[] {
    const frames = this.#frames
    const pieces: Buffer[] = []
    let cutAt = 0
    for (let at = 0; at < bytes.length; ) {
      const start = at
      at = frames.read(bytes, at)
      if (frames.isInside && !this.#mayHold(at - start)) {
        if (this.#heldBytes > 0) pieces.push(this.#takeHeld())
        break
      }
      if (frames.isInside || this.#heldBytes > 0) {
        if (start > cutAt) pieces.push(bytes.subarray(cutAt, start))
        this.#hold(bytes, start, at)
        cutAt = at
        if (!frames.isInside) pieces.push(this.#takeHeld())
        continue
      }
      if (!this.#isFragment) continue
      if (start > cutAt) pieces.push(bytes.subarray(cutAt, start))
      pieces.push(ownCopy(bytes, start, at))
      cutAt = at
    }
    if (cutAt === 0) return [...pieces, bytes]
    // What follows a fragment may be the end of another one.
    if (cutAt < bytes.length) pieces.push(ownCopy(bytes, cutAt, bytes.length))
    return pieces
  }

  get #isFragment(): boolean {
    const { opcode, isFinal } = this.#frames
    return opcode === OPCODE_CONTINUATION || (opcode <= OPCODE_BINARY && !isFinal)
  }

  /** @param more bytes of the frame that have just arrived */
  #mayHold(more: number): boolean {
    return this.#isFragment && this.#heldBytes + more + this.#frames.rest < OWN_BYTES
  }

  #hold(bytes: Buffer, start: number, end: number): void {
    const length = this.#heldBytes + end - start
    if (length > this.#held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(HEAD_ROOM, length + this.#frames.rest))
      this.#held.copy(larger, 0, 0, this.#heldBytes)
      this.#held = larger
    }
    bytes.copy(this.#held, this.#heldBytes, start, end)
    this.#heldBytes = length
  }

  #takeHeld(): Buffer {
    const held = this.#held.length === this.#heldBytes ? this.#held : ownCopy(this.#held, 0, this.#heldBytes)
    this.#held = NOTHING
    this.#heldBytes = 0
    return held
  }
}

/** Not from the pool that `Buffer.from` takes small buffers of: a byte would keep 8 KiB of it. */
function ownCopy(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(end - start)
  bytes.copy(copy, 0, start, end)
  return copy
}
