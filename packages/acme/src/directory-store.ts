// The store in a directory: a file of mode 600 for each text, in a directory that no one else can read.

import { randomBytes } from 'node:crypto'
import { link, lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

import { type Clock, invalid } from 'weirjs/kit'

import type { AcmeStore } from './store.ts'

interface Held {
  readonly owner: string
  /** By the wall clock, in milliseconds. */
  readonly until: number
}

/**
 * @param owner whose option it is, for messages
 * @throws (rejects) WEIR_OPTION_INVALID if others can read the directory, or own it; the system's error if it cannot be made
 */
export async function openDirectory(path: string, clock: Clock, owner: string): Promise<AcmeStore> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  const found = await lstat(path)
  if (!found.isDirectory()) throw invalid(owner, `store is ${path}, which is not a directory`)
  const user = process.getuid?.()
  if (user !== undefined) {
    if (found.uid !== user) throw invalid(owner, `store is ${path}, which belongs to user ${found.uid}, and this process runs as ${user}`)
    if ((found.mode & 0o077) !== 0)
      throw invalid(owner, `store is ${path} with the mode ${(found.mode & 0o777).toString(8)}, and it has keys: its mode must be 700`)
  }
  return new DirectoryStore(path, clock)
}

class DirectoryStore implements AcmeStore {
  readonly #path: string
  readonly #clock: Clock

  constructor(path: string, clock: Clock) {
    this.#path = path
    this.#clock = clock
  }

  async get(name: string): Promise<string | null> {
    try {
      return await readFile(join(this.#path, name), 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
  }

  async set(name: string, value: string): Promise<void> {
    const made = await this.#write(name, value)
    try {
      await rename(made, join(this.#path, name))
    } catch (error) {
      await rm(made, { force: true })
      throw error
    }
  }

  async delete(name: string): Promise<void> {
    await rm(join(this.#path, name), { force: true })
  }

  /**
   * Each holder has a file with its own number, and the highest number counts: two processes cannot both create the next number, and none deletes a
   * file that another one has created in the meantime.
   */
  async lock(name: string, owner: string, ttlMs: number): Promise<boolean> {
    const now = this.#clock.wallTime()
    const mine = JSON.stringify({ owner, until: now + ttlMs } satisfies Held)
    const last = await this.#last(name)
    const held = last === 0 ? null : await this.#held(name, last)
    // A lease that ends later than possible was written when the clock was wrong. If its holder is alive, it learns that it has lost the lock.
    const isHeld = held !== null && held.until > now && held.until <= now + 2 * ttlMs
    if (isHeld) return held.owner === owner && this.#extend(name, last, mine)
    const next = last + 1
    const made = await this.#write(name, mine)
    try {
      await link(made, join(this.#path, `${name}.${next}`))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
      throw error
    } finally {
      await rm(made, { force: true })
    }
    if ((await this.#last(name)) !== next) {
      await this.delete(`${name}.${next}`)
      return false
    }
    if (last > 0) await this.delete(`${name}.${last}`)
    return true
  }

  /** The lease may have ended while it was written, and another process may have created the next one. */
  async #extend(name: string, number: number, mine: string): Promise<boolean> {
    await this.set(`${name}.${number}`, mine)
    if ((await this.#last(name)) === number) return true
    await this.delete(`${name}.${number}`)
    return false
  }

  async unlock(name: string, owner: string): Promise<void> {
    const last = await this.#last(name)
    // Not deleted: the next number must be higher than any that a slow process has seen.
    if (last > 0 && (await this.#held(name, last))?.owner === owner)
      await this.set(`${name}.${last}`, JSON.stringify({ owner: '', until: 0 } satisfies Held))
  }

  /** The highest number; 0 without any. */
  async #last(name: string): Promise<number> {
    const numbers = (await readdir(this.#path)).flatMap((file) => {
      const number = file.startsWith(`${name}.`) ? file.slice(name.length + 1) : ''
      return /^\d+$/.test(number) ? [Number(number)] : []
    })
    return Math.max(0, ...numbers)
  }

  /** Null if it is gone, or has another form. */
  async #held(name: string, number: number): Promise<Held | null> {
    try {
      const { owner, until } = JSON.parse((await this.get(`${name}.${number}`)) ?? 'null') as Held
      return typeof owner === 'string' && typeof until === 'number' ? { owner, until } : null
    } catch {
      return null
    }
  }

  /** Writes to a temporary file, so that no one finds an incomplete file under the name. */
  async #write(name: string, value: string): Promise<string> {
    const made = join(this.#path, `${name}.${randomBytes(8).toString('hex')}.tmp`)
    const file = await open(made, 'wx', 0o600)
    try {
      await file.writeFile(value)
      await file.sync()
    } finally {
      await file.close()
    }
    return made
  }
}
