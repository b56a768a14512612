// Lets each fragment of a message have memory of its own.
//
// ws keeps the fragments of an unfinished message as views of the bytes that it received. A fragment of one byte between other frames would
// keep the 64 KiB that arrived with it, and a message of 16 KiB a gigabyte. So what a socket has received is cut around each fragment, and the
// fragment is copied. Messages that are not in fragments pass as they are.

import { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'

import { FrameReader, OPCODE_CLOSE, OPCODE_CONTINUATION } from './frame-reader.ts'

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

export class FragmentCutter {
  readonly #frames = new FrameReader()

  /** The same bytes, in pieces: each fragment that ends in `bytes` is one, with memory of its own. */
  cut(bytes: Buffer): readonly Buffer[] {
    const frames = this.#frames
    const pieces: Buffer[] = []
    let cutAt = 0
    for (let at = 0; at < bytes.length; ) {
      const start = at
      at = frames.read(bytes, at)
      if (frames.isInside) break
      if (frames.opcode >= OPCODE_CLOSE || (frames.isFinal && frames.opcode !== OPCODE_CONTINUATION)) continue
      if (start > cutAt) pieces.push(bytes.subarray(cutAt, start))
      pieces.push(ownCopy(bytes, start, at))
      cutAt = at
    }
    if (cutAt === 0) return [bytes]
    // What follows a fragment may be the beginning of another one.
    if (cutAt < bytes.length) pieces.push(ownCopy(bytes, cutAt, bytes.length))
    return pieces
  }
}

/** Not from the pool that `Buffer.from` takes small buffers of: a byte would keep 8 KiB of it. */
function ownCopy(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(end - start)
  bytes.copy(copy, 0, start, end)
  return copy
}
