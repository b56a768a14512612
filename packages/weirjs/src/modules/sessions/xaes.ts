// XAES-256-GCM (https://c2sp.org/XAES-256-GCM): AES-256-GCM with a key that is derived for each message.
//
// AES-GCM alone has nonces of 96 bits: chosen at random, they are safe for 2^32 messages of one key, which a busy server sends within weeks.
// Here 192 random bits are chosen: half of them derive a key (NIST SP 800-108r1 with AES-CMAC), the other half is the nonce of AES-256-GCM.

import { Buffer } from 'node:buffer'
import { type Cipher, createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto'

export const KEY_BYTES = 32
const NONCE_BYTES = 24
const HALF_NONCE_BYTES = 12
const TAG_BYTES = 16
const BLOCK_BYTES = 16
/** In the blocks that derive a key: after a counter, a letter and a zero. */
const NONCE_AT = 4
const TAG_OPTIONS = { authTagLength: TAG_BYTES } as const
/** What a sealed message has in addition to its text. */
export const OVERHEAD_BYTES = NONCE_BYTES + TAG_BYTES

/** Seals and opens messages with one key. */
export class Xaes {
  /** Encrypts block by block, so it can be reused: a new one for each message would cost as much as the rest. */
  readonly #blocks: Cipher
  /** The two blocks that derive a key, without the nonce. The subkey K1 of CMAC (NIST SP 800-38B §6.1) is in them. */
  readonly #pattern = Buffer.alloc(2 * BLOCK_BYTES)
  readonly #derivation = Buffer.alloc(2 * BLOCK_BYTES)

  /** @param key 32 bytes */
  constructor(key: Uint8Array) {
    this.#blocks = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false)
    const subkey = this.#blocks.update(Buffer.alloc(BLOCK_BYTES))
    const overflows = (subkey[0]! & 0x80) !== 0
    for (let i = 0; i < BLOCK_BYTES; i++) subkey[i] = ((subkey[i]! << 1) | ((subkey[i + 1] ?? 0) >>> 7)) & 0xff
    if (overflows) subkey[BLOCK_BYTES - 1]! ^= 0x87
    for (let i = 0; i < 2; i++) {
      this.#pattern.set([0, i + 1, 0x58], i * BLOCK_BYTES) // X
      for (let at = 0; at < BLOCK_BYTES; at++) this.#pattern[i * BLOCK_BYTES + at]! ^= subkey[at]!
    }
  }

  /** @returns nonce, ciphertext and tag */
  seal(text: Uint8Array): Buffer {
    return this.sealWith(randomFillSync(Buffer.allocUnsafe(NONCE_BYTES)), text)
  }

  /** The same with a given nonce, for test vectors. @param context authenticated, not sent */
  sealWith(nonce: Uint8Array, text: Uint8Array, context?: Uint8Array): Buffer {
    const cipher = createCipheriv('aes-256-gcm', this.#keyFor(nonce), nonce.subarray(HALF_NONCE_BYTES))
    if (context !== undefined) cipher.setAAD(context)
    const encrypted = cipher.update(text)
    cipher.final() // has no bytes: the mode is a stream cipher
    return Buffer.concat([nonce, encrypted, cipher.getAuthTag()])
  }

  /** The text of a sealed message; null if it was not sealed with this key, or was changed. */
  open(sealed: Buffer): Buffer | null {
    const end = sealed.length - TAG_BYTES
    if (end < NONCE_BYTES) return null
    const decipher = createDecipheriv('aes-256-gcm', this.#keyFor(sealed), sealed.subarray(HALF_NONCE_BYTES, NONCE_BYTES), TAG_OPTIONS)
    decipher.setAuthTag(sealed.subarray(end))
    const text = decipher.update(sealed.subarray(NONCE_BYTES, end))
    try {
      decipher.final() // throws if the tag is wrong
      return text
    } catch {
      return null
    }
  }

  /** @param nonce its first 12 bytes count */
  #keyFor(nonce: Uint8Array): Buffer {
    const blocks = this.#derivation
    this.#pattern.copy(blocks)
    for (let i = 0; i < HALF_NONCE_BYTES; i++) {
      blocks[NONCE_AT + i]! ^= nonce[i]!
      blocks[BLOCK_BYTES + NONCE_AT + i]! ^= nonce[i]!
    }
    return this.#blocks.update(blocks)
  }
}
