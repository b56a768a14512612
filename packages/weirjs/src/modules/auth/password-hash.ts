// The text of a password's hash, and how it is made: by argon2id (RFC 9106) where Node has it, or scrypt (RFC 7914). A hash is a text in
// the PHC format, which holds its parameters, such as `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>`. So the parameters can change, and old
// hashes can still be verified.

import { Buffer } from 'node:buffer'
import * as crypto from 'node:crypto'

import { WeirError } from '../../base/errors.ts'
import { isPromise } from '../../base/is-promise.ts'
import { kindOf } from '../../base/kind-of.ts'

/** Memory is 128 × 2^`ln` × `r` bytes; time grows with all three. */
interface ScryptCost {
  readonly algorithm: 'scrypt'
  readonly ln: number
  readonly r: number
  readonly p: number
}

interface Argon2Cost {
  readonly algorithm: 'argon2id'
  /** In KiB. */
  readonly m: number
  readonly t: number
  readonly p: number
}

export type HashCost = ScryptCost | Argon2Cost

interface PasswordHash {
  readonly cost: HashCost
  readonly salt: Buffer
  readonly hash: Buffer
}

/** The most memory that one hash may take: a planted hash must not exhaust the memory by its parameters. */
export const MOST_HASH_MEMORY = 512 * 1024 * 1024
export const MOST_SCRYPT = { ln: 20, r: 32, p: 16 }
export const MOST_PASSES = 16
const MOST_LANES = 16
const SCRYPT = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/
const ARGON2ID = /^\$argon2id\$v=19\$m=(\d{1,6}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/

type Derived = (error: Error | null, hash: Buffer) => void

interface Argon2Options {
  readonly message: Buffer
  readonly nonce: Buffer
  readonly parallelism: number
  readonly tagLength: number
  readonly memory: number
  readonly passes: number
}

/** What Node has from 24.7. */
interface Argon2 {
  readonly argon2: (algorithm: 'argon2id', options: Argon2Options, then: Derived) => void
  readonly argon2Sync: (algorithm: 'argon2id', options: Argon2Options) => Buffer
}

let isThere: boolean | null = null

/** Whether this Node computes argon2id. One that was built with an older OpenSSL has the function, which throws. */
export function hasArgon2(): boolean {
  isThere ??= canRun()
  return isThere
}

function canRun(): boolean {
  try {
    const least = { message: Buffer.alloc(1), nonce: Buffer.alloc(8), parallelism: 1, tagLength: 16, memory: 8, passes: 1 }
    return argon2().argon2Sync('argon2id', least).length === 16
  } catch {
    return false
  }
}

function argon2(): Argon2 {
  return crypto as unknown as Argon2
}

export function memoryOf(cost: HashCost): number {
  return cost.algorithm === 'scrypt' ? 128 * 2 ** cost.ln * cost.r : cost.m * 1024
}

/** In a thread of libuv's pool. */
export function derive(password: Buffer, salt: Buffer, length: number, cost: HashCost): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const then: Derived = (error, hash) => (error === null ? resolve(hash) : reject(error))
    if (cost.algorithm === 'scrypt') {
      const { ln, r, p } = cost
      crypto.scrypt(password, salt, length, { N: 2 ** ln, r, p, maxmem: 2 * memoryOf(cost) }, then)
    } else {
      const { m, t, p } = cost
      const options = { message: password, nonce: salt, parallelism: p, tagLength: length, memory: m, passes: t }
      // Null or, in some versions, undefined.
      argon2().argon2('argon2id', options, (error, hash) => then(error ?? null, hash))
    }
  })
}

export function writeHash({ cost, salt, hash }: PasswordHash): string {
  const parameters = cost.algorithm === 'scrypt' ? `ln=${cost.ln},r=${cost.r}` : `v=19$m=${cost.m},t=${cost.t}`
  return `$${cost.algorithm}$${parameters},p=${cost.p}$${unpadded(salt)}$${unpadded(hash)}`
}

/** The error does not show the text: it might be a password in the wrong place. @param where as for `checkPasswordHash` @throws WEIR_PASSWORD_HASH */
export function readHash(text: string, where = ''): PasswordHash {
  const ofScrypt = typeof text === 'string' ? SCRYPT.exec(text) : null
  const match = ofScrypt ?? (typeof text === 'string' ? ARGON2ID.exec(text) : null)
  if (match === null) throw new WeirError('WEIR_PASSWORD_HASH', `${where}${mistakenFor(text)}`)
  const [first, second, p] = [Number(match[1]), Number(match[2]), Number(match[3])] as const
  const cost: HashCost =
    ofScrypt === null ? { algorithm: 'argon2id', m: first, t: second, p } : { algorithm: 'scrypt', ln: first, r: second, p }
  if (!isInRange(cost)) throw new WeirError('WEIR_PASSWORD_HASH', `${where}its parameters are out of range`)
  if (ofScrypt === null && !hasArgon2())
    throw new WeirError('WEIR_PASSWORD_HASH', `${where}it is a hash of argon2id, which needs Node.js 24.7 or newer, not ${process.version}`)
  return { cost, salt: Buffer.from(match[4]!, 'base64'), hash: Buffer.from(match[5]!, 'base64') }
}

/** @param where whose hash it is, such as `basic: user "ann": ` @throws WEIR_PASSWORD_HASH */
export function checkPasswordHash(hash: string, where: string): void {
  readHash(hash, where)
}

export function isSameCost(one: HashCost, other: HashCost): boolean {
  return Object.entries(one).every(([name, value]) => (other as unknown as Record<string, unknown>)[name] === value)
}

function isInRange(cost: HashCost): boolean {
  if (cost.p < 1 || memoryOf(cost) > MOST_HASH_MEMORY) return false
  if (cost.algorithm === 'argon2id') return cost.t >= 1 && cost.t <= MOST_PASSES && cost.p <= MOST_LANES && cost.m >= 8 * cost.p
  return (['ln', 'r', 'p'] as const).every((name) => cost[name] >= 1 && cost[name] <= MOST_SCRYPT[name])
}

function mistakenFor(hash: unknown): string {
  if (isPromise(hash)) return 'it is a promise: await hashPassword(password)'
  return typeof hash === 'string'
    ? 'it is neither $argon2id$v=19$m=…,t=…,p=…$salt$hash nor $scrypt$ln=…,r=…,p=…$salt$hash, which hashPassword(password) resolves with'
    : `it is ${kindOf(hash)}, not a string`
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '') // only at the end (RFC 4648 §4)
}
