// A message for several connections: its frame is made once, and so is what it is compressed to for each size of their windows.

import type { Buffer } from 'node:buffer'

import { BINARY, COMPRESSED, FIN, TEXT } from '../../wire/websocket/frame-types.ts'
import { frameOf } from '../../wire/websocket/frame-writer.ts'
import { deflateAlone } from './deflate.ts'

/** A frame that several connections get. */
export class SharedFrame {
  readonly bytes: Buffer
  #text: string | null = null

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** The same as latin1 text. */
  get text(): string {
    this.#text ??= this.bytes.toString('latin1')
    return this.#text
  }
}

export class SharedMessage {
  readonly bytes: Uint8Array
  readonly isBinary: boolean
  #frame: SharedFrame | null = null
  readonly #deflatedFrames: SharedFrame[] = []

  constructor(bytes: Uint8Array, isBinary: boolean) {
    this.bytes = bytes
    this.isBinary = isBinary
  }

  get frame(): SharedFrame {
    this.#frame ??= new SharedFrame(frameOf(FIN | this.#opcode, this.bytes))
    return this.#frame
  }

  /** The compressed frame, which any client can inflate whose window has so many bits. */
  deflatedFrame(bits: number): SharedFrame {
    this.#deflatedFrames[bits] ??= new SharedFrame(frameOf(FIN | COMPRESSED | this.#opcode, deflateAlone(this.bytes, bits)))
    return this.#deflatedFrames[bits]
  }

  get #opcode(): number {
    return this.isBinary ? BINARY : TEXT
  }
}
