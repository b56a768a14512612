// The file in which a running program tells the other programs of its user where it is. Only this user can read it.

import { randomBytes } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { LocalEnvironment } from './local-place.ts'

/** What the file says. */
export interface LocalRecord {
  /** Such as `http://127.0.0.1:4000`. */
  readonly url: string
  readonly token: string
  readonly pid: number
  /** Differs for each start. */
  readonly instance: string
}

const MOST_BYTES = 4_096

export function fileIn(folder: string, name: string): string {
  return join(folder, `${name}.json`)
}

/** Null if there is none, or none that this user alone could have written. */
export function readRecord(path: string, { uid }: LocalEnvironment): LocalRecord | null {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  } catch {
    return null
  }
  try {
    const stats = fstatSync(file)
    const isOwn = uid === null || (stats.uid === uid && (stats.mode & 0o077) === 0)
    if (!stats.isFile() || !isOwn || stats.size > MOST_BYTES) return null
    return recordOf(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return null
  } finally {
    closeSync(file)
  }
}

function recordOf(value: unknown): LocalRecord | null {
  const { url, token, pid, instance } = Object(value) as Partial<LocalRecord>
  if (typeof url !== 'string' || typeof token !== 'string' || typeof instance !== 'string' || !Number.isSafeInteger(pid)) return null
  return /^https?:\/\/(?:127\.0\.0\.1|\[::1\]):\d+$/.test(url) ? { url, token, pid: pid!, instance } : null
}

/** In one step: whoever reads finds the old record or the new one. */
export function writeRecord(path: string, record: LocalRecord): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  writeFileSync(draft, JSON.stringify(record), { flag: 'wx', mode: 0o600 })
  renameSync(draft, path)
}

/** Removes the file, unless a later start has replaced it. */
export function removeRecord(path: string, instance: string, environment: LocalEnvironment): void {
  if (readRecord(path, environment)?.instance === instance) rmSync(path, { force: true })
}

const LOCK_RETRY_MS = 20
/** A start takes less. A lock that is older was left by a process that has died. */
const LOCK_MS = 10_000

/** Runs `work` while no other process of this user starts the same program. */
export async function alone<T>(path: string, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`
  while (!isTaken(lock)) await new Promise((resolve) => setTimeout(resolve, LOCK_RETRY_MS))
  try {
    return await work()
  } finally {
    rmSync(lock, { force: true })
  }
}

/** @returns whether this process has the lock now */
function isTaken(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const stats = statSync(lock, { throwIfNoEntry: false })
  if (stats !== undefined && Date.now() - stats.mtimeMs > LOCK_MS) rmSync(lock, { force: true })
  return false
}
