// XAES-256-GCM (https://c2sp.org/XAES-256-GCM): AES-256-GCM with a key that is derived for each message.
//
// AES-GCM alone has nonces of 96 bits: chosen at random, they are safe for 2^32 messages of one key, which a busy server sends within weeks.
// Here 192 random bits are chosen: half of them derive a key (NIST SP 800-108r1 with AES-CMAC), the other half is the nonce of AES-256-GCM.

import { Buffer } from 'node:buffer'
import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto'

export const KEY_BYTES = 32
const NONCE_BYTES = 24
const HALF_NONCE_BYTES = 12
const TAG_BYTES = 16
const BLOCK_BYTES = 16
/** What a sealed message has in addition to its text. */
export const OVERHEAD_BYTES = NONCE_BYTES + TAG_BYTES

/** Seals and opens messages with one key. */
export class Xaes {
  readonly #key: Buffer
  /** The subkey K1 of CMAC (NIST SP 800-38B §6.1). */
  readonly #subkey: Buffer

  /** @param key 32 bytes */
  constructor(key: Uint8Array) {
    this.#key = Buffer.from(key)
    const block = encryptBlocks(this.#key, Buffer.alloc(BLOCK_BYTES))
    const overflows = (block[0]! & 0x80) !== 0
    for (let i = 0; i < BLOCK_BYTES; i++) block[i] = ((block[i]! << 1) | ((block[i + 1] ?? 0) >>> 7)) & 0xff
    if (overflows) block[BLOCK_BYTES - 1]! ^= 0x87
    this.#subkey = block
  }

  /** @returns nonce, ciphertext and tag */
  seal(text: Uint8Array): Buffer {
    const nonce = randomFillSync(Buffer.allocUnsafe(NONCE_BYTES))
    return this.sealWith(nonce, text)
  }

  /** The same with a given nonce, for test vectors. @param context authenticated, not sent */
  sealWith(nonce: Uint8Array, text: Uint8Array, context?: Uint8Array): Buffer {
    const cipher = createCipheriv('aes-256-gcm', this.#keyFor(nonce), nonce.subarray(HALF_NONCE_BYTES))
    if (context !== undefined) cipher.setAAD(context)
    return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()])
  }

  /** The text of a sealed message; null if it was not sealed with this key, or was changed. */
  open(sealed: Buffer): Buffer | null {
    const end = sealed.length - TAG_BYTES
    if (end < NONCE_BYTES) return null
    const nonce = sealed.subarray(0, NONCE_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', this.#keyFor(nonce), nonce.subarray(HALF_NONCE_BYTES), { authTagLength: TAG_BYTES })
    decipher.setAuthTag(sealed.subarray(end))
    const text = decipher.update(sealed.subarray(NONCE_BYTES, end))
    try {
      decipher.final() // throws if the tag is wrong
      return text
    } catch {
      return null
    }
  }

  #keyFor(nonce: Uint8Array): Buffer {
    const blocks = Buffer.alloc(2 * BLOCK_BYTES)
    for (let i = 0; i < 2; i++) {
      const at = i * BLOCK_BYTES
      blocks[at + 1] = i + 1
      blocks[at + 2] = 0x58 // X
      blocks.set(nonce.subarray(0, HALF_NONCE_BYTES), at + 4)
    }
    for (let i = 0; i < blocks.length; i++) blocks[i]! ^= this.#subkey[i % BLOCK_BYTES]!
    return encryptBlocks(this.#key, blocks)
  }
}

function encryptBlocks(key: Buffer, blocks: Buffer): Buffer {
  return createCipheriv('aes-256-ecb', key, null).setAutoPadding(false).update(blocks)
}
