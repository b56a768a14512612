// Checksums of what one request appends: Upload-Checksum of tus, and Content-Digest of RFC 9530.

import { Buffer } from 'node:buffer'
import { createHash, type Hash, timingSafeEqual } from 'node:crypto'

/** As in Tus-Checksum-Algorithm. */
export const TUS_ALGORITHMS = ['sha1', 'sha256', 'sha512'] as const
/** The algorithms of RFC 9530 §5 that are not insecure. */
const DIGEST_ALGORITHMS: ReadonlyMap<string, string> = new Map([
  ['sha-256', 'sha256'],
  ['sha-512', 'sha512'],
])
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** Compares bytes with what a client has stated about them. */
export class Checksum {
  readonly #hash: Hash
  readonly #expected: Buffer

  constructor(algorithm: string, base64: string) {
    this.#hash = createHash(algorithm)
    this.#expected = Buffer.from(base64, 'base64')
  }

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes)
  }

  /** To be called once. */
  isRight(): boolean {
    const actual = this.#hash.digest()
    return actual.length === this.#expected.length && timingSafeEqual(actual, this.#expected)
  }
}

/** Upload-Checksum: `sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=`. Null if it is malformed, or has another algorithm. */
export function tusChecksum(field: string): Checksum | null {
  const [algorithm = '', value = '', ...more] = field.split(' ')
  if (!TUS_ALGORITHMS.includes(algorithm as (typeof TUS_ALGORITHMS)[number]) || !BASE64.test(value) || more.length > 0) return null
  return new Checksum(algorithm, value)
}

/** Over HTTP/2, a client may send a long field by reference again and again, for a few bytes each. */
const MOST_DIGESTS_LENGTH = 8_192

/** Content-Digest: `sha-256=:…:, sha-512=:…:`. Null without one that can be verified: RFC 9530 §2 lets recipients ignore it. */
export function contentDigest(field: string | null): Checksum | null {
  if (field === null || field.length > MOST_DIGESTS_LENGTH) return null
  for (const member of field.split(',')) {
    const [, name = '', value = ''] = /^\s*([a-z0-9*_.-]+)=:([^:]*):\s*$/.exec(member) ?? []
    const algorithm = DIGEST_ALGORITHMS.get(name)
    if (algorithm !== undefined && BASE64.test(value)) return new Checksum(algorithm, value)
  }
  return null
}
