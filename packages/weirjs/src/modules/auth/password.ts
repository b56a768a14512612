// Hashing of passwords: how much of it runs and waits at once. What a hash is: password-hash.ts.

import { Buffer } from 'node:buffer'
import { randomBytes, timingSafeEqual } from 'node:crypto'

import { LimitError } from '../../base/errors.ts'
import { FairQueue } from '../../base/fair-queue.ts'
import { count, oneOf, size, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { Size } from '../../base/size.ts'
import { networkOf } from '../../formats/client-network.ts'

import {
  derive,
  type HashCost,
  hasArgon2,
  isSameCost,
  MOST_HASH_MEMORY,
  MOST_PASSES,
  MOST_SCRYPT,
  memoryOf,
  readHash,
  writeHash,
} from './password-hash.ts'

/** What new hashes are made with, and how many at once. Hashes of both algorithms are verified. */
interface PasswordOptions {
  /**
   * What new hashes are made with. Default `'argon2id'` where Node.js has it (24.7 and newer), otherwise `'scrypt'`. State `'scrypt'` while
   * machines with an older Node.js read the same hashes: they cannot verify hashes of argon2id.
   */
  readonly algorithm?: 'argon2id' | 'scrypt'
  /** The memory that one hash of argon2id takes. Default `'19MiB'`. At most 512 MiB. */
  readonly memory?: Size
  /** How often argon2id passes over the memory. Default 2. At most 16. */
  readonly passes?: number
  /** Of scrypt: the logarithm of N, to the base of 2. Default 15. At most 20. Memory is 128 × 2^`ln` × `r` bytes; time grows with all three. */
  readonly ln?: number
  /** Of scrypt: the size of blocks. Default 8. At most 32. */
  readonly r?: number
  /** Of scrypt: how often the work is repeated. Default 3. At most 16. */
  readonly p?: number
  /** How many hashes are computed at once, each in a thread of libuv's pool, which has four by default. Default 2. */
  readonly maxRunning?: number
  /** How many calls may wait for these. Default 100. When exceeded: WEIR_PASSWORDS_BUSY, for a call of the client that has the most waiting. */
  readonly maxWaiting?: number
}

/** argon2 does not run with less memory. */
const LEAST_ARGON2_MEMORY = 8 * 1024
const OPTIONS_OF = {
  argon2id: {
    memory: size({ least: LEAST_ARGON2_MEMORY }).or('19MiB', '19 MiB'),
    passes: count({ least: 1, most: MOST_PASSES }).or(2),
  },
  scrypt: {
    ln: count({ least: 1, most: MOST_SCRYPT.ln }).or(15),
    r: count({ least: 1, most: MOST_SCRYPT.r }).or(8),
    p: count({ least: 1, most: MOST_SCRYPT.p }).or(3),
  },
}
/** @internal */
export const PASSWORD_RULES = rules<PasswordOptions>('PasswordHasher')({
  algorithm: oneOf('argon2id', 'scrypt').optional("'argon2id' where Node.js has it"),
  ...OPTIONS_OF.argon2id,
  ...OPTIONS_OF.scrypt,
  maxRunning: count({ least: 1 }).or(2),
  maxWaiting: count().or(100),
})
const FROM = text()
/** In bytes of UTF-8. */
const MOST_PASSWORD_BYTES = 1024
const SALT_BYTES = 16
const HASH_BYTES = 32

/** What new hashes cost. An option of one algorithm chooses it. @throws WEIR_OPTION_INVALID */
function costOf(options: PasswordOptions, settings: typeof PASSWORD_RULES.settings): HashCost {
  const given = (of: 'argon2id' | 'scrypt'): string | undefined =>
    Object.keys(OPTIONS_OF[of]).find((name) => options[name as keyof PasswordOptions] !== undefined)
  const algorithm = settings.algorithm ?? (given('scrypt') === undefined && (given('argon2id') || hasArgon2()) ? 'argon2id' : 'scrypt')
  const other = algorithm === 'scrypt' ? 'argon2id' : 'scrypt'
  if (given(other) !== undefined)
    throw invalid('PasswordHasher', `${given(other)} is an option of ${other}, and the algorithm is ${algorithm}`)
  if (algorithm === 'scrypt') return { algorithm, ln: settings.ln, r: settings.r, p: settings.p }
  if (!hasArgon2())
    throw invalid('PasswordHasher', `argon2id needs Node.js 24.7 or newer, not ${process.version}: write algorithm: 'scrypt'`)
  return { algorithm, m: Math.floor(settings.memory / 1024), t: settings.passes, p: 1 }
}

/** A call that waits. */
interface Waiting {
  readonly run: () => void
  readonly refuse: (error: LimitError) => void
}

/** Hashes passwords, a bounded number at once. Create one for a program: each has its own bound. */
export class PasswordHasher {
  readonly #cost: HashCost
  readonly #maxRunning: number
  readonly #maxWaiting: number
  #running = 0
  readonly #waiting: FairQueue<Waiting>

  /** @throws WEIR_OPTION_INVALID */
  constructor(options: PasswordOptions = {}) {
    const settings = PASSWORD_RULES.read(options)
    const { maxRunning, maxWaiting } = settings
    this.#cost = costOf(options, settings)
    if (memoryOf(this.#cost) > MOST_HASH_MEMORY)
      throw invalid('PasswordHasher', `a hash would take more than ${MOST_HASH_MEMORY} bytes of memory: choose smaller parameters`)
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
    return writeHash({ cost: this.#cost, salt, hash: await this.#derive(bytes, salt, HASH_BYTES, this.#cost, from) })
  }

  /**
   * Resolves with whether `hash` is a hash of the password. For null, the hash of a user that does not exist, it resolves with false after the
   * same time as for a hash with the parameters of this hasher.
   * @param from as for `hash`
   * @throws (rejects) WEIR_PASSWORD_HASH for a text that is not a hash of this kind; WEIR_PASSWORDS_BUSY
   */
  async verify(password: string, hash: string | null, from: string = ''): Promise<boolean> {
    const bytes = bytesOf(password)
    const known = hash === null ? null : readHash(hash)
    const isTooLong = bytes.length > MOST_PASSWORD_BYTES // no hash has such a password
    const { salt, cost } = known ?? { salt: randomBytes(SALT_BYTES), cost: this.#cost }
    const derived = await this.#derive(isTooLong ? Buffer.alloc(0) : bytes, salt, known?.hash.length ?? HASH_BYTES, cost, from)
    return known !== null && timingSafeEqual(derived, known.hash) && !isTooLong
  }

  /** Whether a hash has another algorithm or other parameters than this hasher: after the next login, replace it. @throws WEIR_PASSWORD_HASH */
  needsRehash(hash: string): boolean {
    const known = readHash(hash)
    return !isSameCost(known.cost, this.#cost) || known.hash.length < HASH_BYTES
  }

  async #derive(password: Buffer, salt: Buffer, length: number, cost: HashCost, from: string): Promise<Buffer> {
    FROM.read(from, { owner: 'PasswordHasher', option: 'from' })
    if (this.#running < this.#maxRunning) this.#running++
    else await new Promise<void>((run, refuse) => this.#enqueue(from, { run, refuse })) // a finished call hands over its place
    try {
      return await derive(password, salt, length, cost)
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

/** Normalizing takes quadratic time for some texts. What is normalized has at least two bytes for three characters, so it may be left. */
function bytesOf(password: unknown): Buffer {
  if (typeof password !== 'string') throw invalid('password', 'a password must be a string')
  const isTooLong = password.length > 2 * MOST_PASSWORD_BYTES
  return Buffer.from(isTooLong ? password : password.normalize('NFC'), 'utf8')
}
