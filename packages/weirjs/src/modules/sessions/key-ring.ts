// Keys that seal values for clients: the first one seals, all of them open. So keys can be replaced while values that were sealed with an
// older one are still in use.

import { Buffer } from 'node:buffer'
import { hkdfSync } from 'node:crypto'

import { kindOf } from '../../base/kind-of.ts'
import { list } from '../../base/option-kinds.ts'
import { invalid } from '../../base/options.ts'

import { KEY_BYTES, OVERHEAD_BYTES, Xaes } from './xaes.ts'

const KEYS = list().filled()
/** 32 random bytes, or their text in base64, base64url or hexadecimal. */
export type SealingKey = Uint8Array | string

const ID_BYTES = 6
/** The version of the format, the id of the key, and what separates them from the message. */
const HEAD_CHARACTERS = '1.'.length + (ID_BYTES * 8) / 6 + '.'.length
const SEALED = /^1\.([\w-]{8})\.([\w-]+)$/
/** A key with fewer different bytes is a placeholder. Only one of more than 10^15 random keys has fewer than twenty. */
const LEAST_DIFFERENT_BYTES = 12

interface RingKey {
  readonly id: string
  readonly bytes: Buffer
}

export class KeyRing {
  readonly #keys: readonly RingKey[]

  /** @param owner whose option `keys` it is @throws WEIR_OPTION_INVALID */
  constructor(owner: string, keys: readonly SealingKey[]) {
    KEYS.read(keys, { owner, option: 'keys' })
    this.#keys = keys.map((key, i) => {
      const bytes = bytesOf(owner, key, i)
      return { bytes, id: derive(bytes, 'key id', ID_BYTES).toString('base64url') }
    })
    if (new Set(this.#keys.map(({ id }) => id)).size < keys.length) throw invalid(owner, 'keys has the same key twice: leave one out')
  }

  /** @param purpose what is sealed: a value that was sealed for one purpose does not open for another */
  boxFor(purpose: string): SealedBox {
    return new SealedBox(this.#keys.map(({ id, bytes }) => ({ id, cipher: new Xaes(derive(bytes, `seal ${purpose}`, KEY_BYTES)) })))
  }
}

interface BoxKey {
  readonly id: string
  readonly cipher: Xaes
}

/** Seals text for one purpose. */
export class SealedBox {
  readonly #first: BoxKey
  readonly #ciphers: ReadonlyMap<string, Xaes>

  /** @param keys at least one */
  constructor(keys: readonly BoxKey[]) {
    this.#first = keys[0]!
    this.#ciphers = new Map(keys.map(({ id, cipher }) => [id, cipher]))
  }

  /** @returns letters, digits, `-`, `_` and two dots */
  seal(text: string): string {
    return `1.${this.#first.id}.${this.#first.cipher.seal(Buffer.from(text)).toString('base64url')}`
  }

  /** The text; null if no key of the ring has sealed it for this purpose, or it was changed. */
  open(sealed: string): string | null {
    const [, id, message] = SEALED.exec(sealed) ?? []
    const cipher = this.#ciphers.get(id!)
    if (cipher === undefined) return null
    const bytes = Buffer.from(message!, 'base64url')
    // The last character may have bits that belong to no byte: there is only one text for each message.
    if (bytes.toString('base64url') !== message) return null
    return cipher.open(bytes)?.toString() ?? null
  }

  /** Whether a key other than the first one has sealed it. */
  isOld(sealed: string): boolean {
    return !sealed.startsWith(this.#first.id, 2)
  }
}

/** The length of what `seal` returns. @param bytes of the text */
export function sealedLength(bytes: number): number {
  return HEAD_CHARACTERS + Math.ceil(((bytes + OVERHEAD_BYTES) * 8) / 6)
}

/** RFC 5869. The given key is random, so a salt would add nothing. */
function derive(key: Uint8Array, purpose: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `weir ${purpose}`, bytes))
}

/** Errors never contain the key. */
function bytesOf(owner: string, key: SealingKey, index: number): Buffer {
  const bytes = typeof key === 'string' ? decoded(key) : key instanceof Uint8Array ? Buffer.from(key) : null
  if (bytes?.length !== KEY_BYTES)
    throw invalid(
      owner,
      `keys[${index}] is ${lengthOf(key)}, not ${KEY_BYTES} bytes or their text in base64 or hexadecimal: use crypto.randomBytes(32).toString('base64')`,
    )
  if (new Set(bytes).size < LEAST_DIFFERENT_BYTES)
    throw invalid(owner, `keys[${index}] is not random: crypto.randomBytes(32) returns a key`)
  return bytes
}

function decoded(text: string): Buffer | null {
  if (/^[\da-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  return /^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : null
}

function lengthOf(key: unknown): string {
  if (typeof key === 'string') return `a text of ${key.length} characters`
  return key instanceof Uint8Array ? `${key.length} bytes` : kindOf(key)
}
