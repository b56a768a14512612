// Hashes of passwords, by scrypt (RFC 7914) of Node. A hash is a text in the PHC format, which holds its parameters:
// `$scrypt$ln=15,r=8,p=3$<salt>$<hash>`. So the parameters can change, and old hashes can still be verified.

import { Buffer } from 'node:buffer'
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

import { LimitError, WeirError } from '../../base/errors.ts'
import { isPromise } from '../../base/is-promise.ts'
import { kindOf } from '../../base/kind-of.ts'
import { count, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import { networkOf } from '../../formats/client-network.ts'

import { FairQueue } from './fair-queue.ts'

/** What one hash costs. Memory is 128 × 2^`ln` × `r` bytes; time grows with all three. */
interface PasswordCost {
  /** The logarithm of N, to the base of 2. Default 15. At most 20. */
  readonly ln?: number
  /** The size of blocks. Default 8. At most 32. */
  readonly r?: number
  /** How often the work is repeated. Default 3. At most 16. */
  readonly p?: number
}

interface PasswordOptions extends PasswordCost {
  /** How many hashes are computed at once, each in a thread of libuv's pool, which has four by default. Default 2. */
  readonly maxRunning?: number
  /** How many calls may wait for these. Default 100. When exceeded: WEIR_PASSWORDS_BUSY, for a call of the client that has the most waiting. */
  readonly maxWaiting?: number
}

const MOST = { ln: 20, r: 32, p: 16 }
/** @internal */
export const PASSWORD_RULES = rules<PasswordOptions>('PasswordHasher')({
  ln: count({ least: 1, most: MOST.ln }).or(15),
  r: count({ least: 1, most: MOST.r }).or(8),
  p: count({ least: 1, most: MOST.p }).or(3),
  maxRunning: count({ least: 1 }).or(2),
  maxWaiting: count().or(100),
})
const FROM = text()
const COST_NAMES = ['ln', 'r', 'p'] as const
/** What one hash may take: a parameter in a hash that somebody has planted must not exhaust the memory. */
const MOST_MEMORY = 512 * 1024 * 1024
/** In bytes of UTF-8. */
const MOST_PASSWORD_BYTES = 1024
const SALT_BYTES = 16
const HASH_BYTES = 32
const PHC = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/

interface Parsed {
  readonly ln: number
  readonly r: number
  readonly p: number
  readonly salt: Buffer
  readonly hash: Buffer
}

/** A call that waits. */
interface Waiting {
  readonly run: () => void
  readonly refuse: (error: LimitError) => void
}

/** Hashes passwords, a bounded number at once. Create one for a program: each has its own bound. */
export class PasswordHasher {
  readonly #cost: Required<PasswordCost>
  readonly #maxRunning: number
  readonly #maxWaiting: number
  #running = 0
  readonly #waiting: FairQueue<Waiting>

  /** @throws WEIR_OPTION_INVALID */
  constructor(options: PasswordOptions = {}) {
    const { ln, r, p, maxRunning, maxWaiting } = PASSWORD_RULES.read(options)
    this.#cost = { ln, r, p }
    if (memoryOf(this.#cost) > MOST_MEMORY) throw invalid('PasswordHasher', `a hash would take more than ${MOST_MEMORY} bytes of memory`)
    this.#maxRunning = maxRunning
    this.#maxWaiting = maxWaiting
    this.#waiting = new FairQueue(maxWaiting)
  }

  /**
   * Resolves with a hash to store. Unicode is normalized (NFC), so that the same password from another keyboard is the same.
   * @param from the address of the client, such as `session.clientAddress`. Clients take turns, so that none makes others wait
   * @throws (rejects) WEIR_PASSWORD_TOO_LONG for more than 1,024 bytes; WEIR_PASSWORDS_BUSY
   */
  async hash(password: string, from: string = ''): Promise<string> {
    const bytes = bytesOf(password)
    if (bytes.length > MOST_PASSWORD_BYTES)
      throw new LimitError('WEIR_PASSWORD_TOO_LONG', 'the length of a password in bytes', MOST_PASSWORD_BYTES, bytes.length)
    const salt = randomBytes(SALT_BYTES)
    const { ln, r, p } = this.#cost
    const hash = await this.#derive(bytes, salt, HASH_BYTES, this.#cost, from)
    return `$scrypt$ln=${ln},r=${r},p=${p}$${unpadded(salt)}$${unpadded(hash)}`
  }

  /**
   * Resolves with whether `hash` is that of the password. For null, the hash of a user that does not exist, it resolves with false after the
   * same time as for a hash with the parameters of this hasher.
   * @param from as for `hash`
   * @throws (rejects) WEIR_PASSWORD_HASH for a text that is not a hash of this kind; WEIR_PASSWORDS_BUSY
   */
  async verify(password: string, hash: string | null, from: string = ''): Promise<boolean> {
    const bytes = bytesOf(password)
    const known = hash === null ? null : parse(hash)
    const isTooLong = bytes.length > MOST_PASSWORD_BYTES // no such password has a hash
    const { salt, ...cost } = known ?? { salt: randomBytes(SALT_BYTES), ...this.#cost }
    const derived = await this.#derive(isTooLong ? Buffer.alloc(0) : bytes, salt, known?.hash.length ?? HASH_BYTES, cost, from)
    return known !== null && timingSafeEqual(derived, known.hash) && !isTooLong
  }

  /** Whether a hash has other parameters than this hasher: after the next login, replace it. @throws WEIR_PASSWORD_HASH */
  needsRehash(hash: string): boolean {
    const parsed = parse(hash)
    return COST_NAMES.some((name) => parsed[name] !== this.#cost[name]) || parsed.hash.length < HASH_BYTES
  }

  async #derive(password: Buffer, salt: Buffer, length: number, cost: Required<PasswordCost>, from: string): Promise<Buffer> {
    FROM.read(from, { owner: 'PasswordHasher', option: 'from' })
    if (this.#running < this.#maxRunning) this.#running++
    else await new Promise<void>((run, refuse) => this.#enqueue(from, { run, refuse })) // whoever ends hands over its place
    try {
      return await new Promise((resolve, reject) => {
        const { ln, r, p } = cost
        const options = { N: 2 ** ln, r, p, maxmem: 2 * memoryOf(cost) }
        scrypt(password, salt, length, options, (error, derived) => (error === null ? resolve(derived) : reject(error)))
      })
    } finally {
      const next = this.#waiting.next()
      if (next === null) this.#running--
      else next.run()
    }
  }

  #enqueue(from: string, waiting: Waiting): void {
    this.#waiting.add(networkOf(from), waiting)?.refuse(new LimitError('WEIR_PASSWORDS_BUSY', 'maxWaiting', this.#maxWaiting))
  }
}

let shared: PasswordHasher | null = null

function sharedHasher(): PasswordHasher {
  shared ??= new PasswordHasher()
  return shared
}

/** `hash` of a `PasswordHasher` with the default options, which the whole process shares. */
export function hashPassword(password: string): Promise<string> {
  return sharedHasher().hash(password) // no second argument, so that it can be passed to `map`
}

/** `verify` of the same. */
export function verifyPassword(password: string, hash: string | null, from?: string): Promise<boolean> {
  return sharedHasher().verify(password, hash, from)
}

/** `needsRehash` of the same. */
export function needsRehash(hash: string): boolean {
  return sharedHasher().needsRehash(hash)
}

function bytesOf(password: unknown): Buffer {
  if (typeof password !== 'string') throw invalid('password', 'a password must be a string')
  return Buffer.from(password.normalize('NFC'), 'utf8')
}

/** @param where whose hash it is, such as `basic: user "ann": ` @throws WEIR_PASSWORD_HASH */
export function checkPasswordHash(hash: string, where: string): void {
  parse(hash, where)
}

/** The error does not show the text: it might be a password in the wrong place. @throws WEIR_PASSWORD_HASH */
function parse(text: string, where = ''): Parsed {
  const match = typeof text === 'string' ? PHC.exec(text) : null
  if (match === null) throw new WeirError('WEIR_PASSWORD_HASH', `${where}${mistakenFor(text)}`)
  const [ln, r, p] = [Number(match[1]), Number(match[2]), Number(match[3])] as const
  const cost = { ln, r, p }
  if (COST_NAMES.some((name) => cost[name] < 1 || cost[name] > MOST[name]) || memoryOf(cost) > MOST_MEMORY)
    throw new WeirError('WEIR_PASSWORD_HASH', 'its parameters are out of range')
  return { ...cost, salt: Buffer.from(match[4]!, 'base64'), hash: Buffer.from(match[5]!, 'base64') }
}

function mistakenFor(hash: unknown): string {
  if (isPromise(hash)) return 'it is a promise: await hashPassword(password)'
  return typeof hash === 'string'
    ? 'it is not $scrypt$ln=…,r=…,p=…$salt$hash, which hashPassword(password) resolves with'
    : `it is ${kindOf(hash)}, not a string`
}

function memoryOf({ ln, r }: Required<PasswordCost>): number {
  return 128 * 2 ** ln * r
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '') // only at the end (RFC 4648 §4)
}
