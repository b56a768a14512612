// What is sent to a client: gathered while bytes of it are handled, written at once otherwise, and held while the client does not read. It knows
// whether more fits, and when all of it has gone out.

import { Buffer } from 'node:buffer'

import type { ByteLink } from '../../http/response/byte-link.ts'
import { frameOf, MOST_HEAD_BYTES, writeHead } from '../../wire/websocket/frame-writer.ts'
import type { SharedFrame } from './shared-message.ts'

/** What a waiting message takes in addition to its bytes, measured as growth of RSS: 350,000 messages of one byte on Node 20. */
const MESSAGE_BYTES = 512
/** Memory in which one connection at a time gathers its frames. */
const BLOCK_BYTES = 64 * 1024
/** A frame of up to this size is copied to others; a larger one is written where it is. */
const MOST_JOINED = 16 * 1024
/** Up to this size, output is written as text, which may wait for other connections (see `flushSoon`) and does not occupy our memory. */
const MOST_TEXT = 4 * 1024

const NO_BYTES = Buffer.alloc(0)
let block: Buffer = NO_BYTES
/** The queue that gathers in the block. */
let gatherer: SendQueue | null = null

interface Waiter {
  /** The round whose end it waits for. */
  readonly round: number
  resolve(): void
}

export class SendQueue {
  readonly #link: ByteLink
  readonly #maxBytes: number
  /** How much of the block is in use, while this is the gatherer. */
  #end = 0
  /** What waits for other connections, as latin1 text. */
  #text = ''
  /** What waits for the client. */
  #held: Uint8Array[] = []
  #heldBytes = 0
  /** How often the system has taken all that was waiting. */
  #round = 0
  /** The link keeps what is written to it, even while the client reads. */
  #keepsWrites = false
  #waiters: Waiter[] | null = null
  #hasEnded = false
  /** Nothing more can be sent: our side has ended. */
  isOver = false

  constructor(link: ByteLink, maxBytes: number) {
    this.#link = link
    this.#maxBytes = maxBytes
  }

  /** Bytes that wait for the client. */
  get waitingBytes(): number {
    this.flush() // that does not wait for the client
    return this.#link.isBlocked ? this.#link.waitingBytes + this.#heldBytes : 0
  }

  /** Whether so many bytes may wait in addition to those that do. */
  hasRoom(bytes: number): boolean {
    const waiting = this.#link.isBlocked ? this.#link.waitingBytes + this.#link.keptBytes : 0
    return waiting + bytes <= this.#maxBytes && this.#link.hasRoomFor(bytes)
  }

  /** Frames are gathered until `endGathering`. Without effect if another connection gathers. */
  beginGathering(): void {
    if (gatherer !== null) return
    gatherer = this
    this.#end = 0
  }

  endGathering(): void {
    if (gatherer !== this) return
    this.#writeBlock()
    gatherer = null
  }

  /** Sends a frame. @param first FIN, RSV1 and the opcode @param payload must not change until it is sent */
  send(first: number, payload: Uint8Array): void {
    const { length } = payload
    if (gatherer === this && length <= MOST_JOINED && this.#reserve(length)) {
      const at = writeHead(block, this.#end, first, length)
      block.set(payload, at)
      this.#end = at + length
      return
    }
    this.#sendAlone(first, payload)
  }

  /** Sends a string, as UTF-8. @param byteLength its length in bytes */
  sendText(first: number, text: string, byteLength: number): void {
    if (gatherer === this && byteLength <= MOST_JOINED && this.#reserve(byteLength)) {
      const at = writeHead(block, this.#end, first, byteLength)
      block.write(text, at, byteLength === text.length ? 'latin1' : 'utf8')
      this.#end = at + byteLength
      return
    }
    if (byteLength !== text.length || byteLength <= MOST_JOINED) {
      this.#sendAlone(first, Buffer.from(text))
      return
    }
    // ASCII, which the system copies as it is.
    this.flush()
    if (this.#link.isBlocked) this.#sendAlone(first, Buffer.from(text, 'latin1'))
    else this.#link.writeText(headText(first, byteLength) + text)
  }

  /** Sends a frame that others get as well. */
  sendShared(frame: SharedFrame): void {
    const { bytes } = frame
    const { length } = bytes
    if (gatherer === this && length <= MOST_JOINED && this.#reserve(length)) {
      block.set(bytes, this.#end)
      this.#end += length
    } else if (gatherer !== this && length < MOST_TEXT && !this.#link.isBlocked) {
      this.#text += frame.text
      if (this.#text.length === length) this.#link.flushSoon(this)
      else if (this.#text.length > MOST_JOINED) this.flush()
    } else {
      this.flush()
      this.#write(bytes)
    }
  }

  /** Writes what is gathered, and what waits for other connections. */
  flush(): void {
    if (gatherer === this) this.#writeBlock()
    if (this.#text === '') return
    const text = this.#text
    this.#text = ''
    if (this.#link.isBlocked) this.#hold(Buffer.from(text, 'latin1'))
    else this.#link.writeText(text)
  }

  /** The link has room again: all that was waiting in the system has gone out. */
  onRoom(): void {
    this.#nextRound()
    this.#passOn()
    if (!this.#link.isBlocked) this.#nextRound()
  }

  /** Writes what is held; small pieces together. */
  #passOn(): void {
    const held = this.#held
    this.#held = []
    this.#heldBytes = this.#link.keptBytes = 0
    let small: Uint8Array[] = []
    for (const piece of held) {
      if (piece.length <= MOST_JOINED) small.push(piece)
      else {
        if (small.length > 0) this.#link.write(Buffer.concat(small))
        small = []
        this.#link.write(piece)
      }
    }
    if (small.length > 0) this.#link.write(Buffer.concat(small))
  }

  #nextRound(): void {
    this.#round++
    if (this.#waiters === null) return
    while (this.#waiters.length > 0 && this.#waiters[0]!.round <= this.#round) this.#waiters.shift()!.resolve()
  }

  /** Resolves when everything that was sent so far has gone out, or the connection has ended. */
  drained(): Promise<void> {
    this.flush()
    if (this.#hasEnded || !this.#link.isBlocked) return Promise.resolve()
    const round = this.#round + (this.#held.length > 0 ? 2 : 1)
    return new Promise((resolve) => {
      this.#waiters ??= []
      this.#waiters.push({ round, resolve })
    })
  }

  /** Passes everything to the link, and ends our side. */
  end(): void {
    if (this.isOver) return
    this.isOver = true
    this.flush()
    this.#passOn()
    this.#link.end()
  }

  /** The connection has ended. */
  close(): void {
    this.#hasEnded = this.isOver = true
    if (gatherer === this) gatherer = null
    this.#held = []
    this.#heldBytes = this.#link.keptBytes = 0
    this.#text = ''
    for (const { resolve } of this.#waiters ?? []) resolve()
    this.#waiters = null
  }

  /** @returns whether the block has room for a frame with so many bytes of payload */
  #reserve(length: number): boolean {
    if (this.#link.isBlocked) return false
    if (this.#end + MOST_HEAD_BYTES + length > BLOCK_BYTES) this.#writeBlock()
    if (this.#link.isBlocked) return false
    // The link may have kept what was just written.
    if (block.length === 0) block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
    return true
  }

  #writeBlock(): void {
    const end = this.#end
    this.#end = 0
    if (end === 0) return
    if (end <= MOST_TEXT) {
      const isFirst = this.#text === ''
      this.#text += block.toString('latin1', 0, end)
      if (isFirst) this.#link.flushSoon(this)
      return
    }
    if (this.#text !== '') this.flush()
    if (this.#keepsWrites || this.#link.isBlocked) this.#write(Buffer.from(block.subarray(0, end)))
    else if (!this.#link.writeShared(block.subarray(0, end))) {
      block = NO_BYTES
      this.#keepsWrites = !this.#link.isBlocked
    }
  }

  #sendAlone(first: number, payload: Uint8Array): void {
    this.flush()
    if (payload.length > MOST_JOINED && !this.#link.isBlocked) this.#link.writeBoth(headText(first, payload.length), payload)
    else this.#write(frameOf(first, payload))
  }

  #write(frame: Uint8Array): void {
    if (this.#link.isBlocked) this.#hold(frame)
    else this.#link.write(frame)
  }

  #hold(bytes: Uint8Array): void {
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    this.#link.keptBytes += bytes.length + MESSAGE_BYTES
  }
}

/** The head of a frame as latin1 text. */
function headText(first: number, length: number): string {
  const head = Buffer.allocUnsafe(MOST_HEAD_BYTES)
  return head.toString('latin1', 0, writeHead(head, 0, first, length))
}
