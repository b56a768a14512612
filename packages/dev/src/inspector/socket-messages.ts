// The last messages of one WebSocket, without secrets.

import { Buffer } from 'node:buffer'
import type { dev } from 'weirjs/kit'

/** A message of a WebSocket. */
export interface KeptMessage {
  readonly isFromClient: boolean
  /** Milliseconds since 1970. */
  readonly at: number
  readonly isBinary: boolean
  /** The beginning: text, or base64 of bytes. */
  readonly text: string
  /** Of the whole message: in bytes, or in characters if it is text. */
  readonly length: number
  readonly isCut: boolean
}

const MOST_MESSAGES = 100
const MOST_LENGTH = 1_000
/** How many secrets of earlier messages are looked for in later ones. */
const MOST_SECRETS = 100
/** About how much memory the messages of a WebSocket may take: base64 is a third longer. */
export const MESSAGES_BYTES = 2 * MOST_MESSAGES * MOST_LENGTH * (4 / 3)

export class SocketMessages {
  readonly #masking: dev.Masking
  readonly #findSecrets: () => readonly string[]
  /** The secrets of the request and of the last messages; null before the first message. */
  #secrets: string[] | null = null
  /** The oldest first. */
  readonly kept: KeptMessage[] = []
  /** How many there have been. */
  count = 0
  #isOver = false

  /** @param findSecrets finds the secrets of the request */
  constructor(masking: dev.Masking, findSecrets: () => readonly string[]) {
    this.#masking = masking
    this.#findSecrets = findSecrets
  }

  /** Keeps no more of them: others take the memory. */
  stop(): void {
    this.#isOver = true
    this.kept.length = 0
  }

  add(isFromClient: boolean, data: string | Uint8Array): void {
    this.count++
    if (this.#isOver) return
    const { length } = data
    const isBinary = typeof data !== 'string'
    // Bytes have one character each, so that the names of secrets are found in them.
    const start = isBinary ? Buffer.from(data.subarray(0, MOST_LENGTH)).toString('latin1') : data.slice(0, MOST_LENGTH)
    const { text, secrets } = this.#masking.body(start, null)
    this.#secrets ??= [...this.#findSecrets()]
    this.#secrets.push(...secrets)
    if (this.#secrets.length > MOST_SECRETS) this.#secrets.splice(0, this.#secrets.length - MOST_SECRETS)
    const shown = this.#masking.without(text, this.#secrets)
    this.kept.push({
      isFromClient,
      at: Date.now(),
      isBinary,
      text: isBinary ? Buffer.from(shown, 'latin1').toString('base64') : shown,
      length,
      isCut: length > MOST_LENGTH,
    })
    if (this.kept.length > MOST_MESSAGES) this.kept.shift()
  }
}
