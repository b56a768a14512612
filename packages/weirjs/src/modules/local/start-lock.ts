// Of two starts at the same moment, the second waits until the first has written its file.

import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { systemClock } from '../../base/clock.ts'
import { WeirError } from '../../base/errors.ts'
import { isAlive } from './is-alive.ts'

/** How long a start waits for another one. */
const WAIT_MS = 30_000
/** No start takes that long: the process that now has this id is another one than the process that created the lock. */
const OLD_MS = 60_000
const PAUSE_MS = 25

/** @returns a function that ends the lock @throws WEIR_LOCAL_RUNNING if another start does not end */
export async function lockStart(folder: string, name: string): Promise<() => void> {
  const path = join(folder, `${name}.lock`)
  const own = `${process.pid} ${randomBytes(8).toString('hex')}`
  const end = systemClock.now() + WAIT_MS
  for (;;) {
    if (isCreated(path, own)) return () => remove(path, own)
    breakStale(path)
    if (systemClock.now() > end)
      throw new WeirError('WEIR_LOCAL_RUNNING', `another process has been starting ${name} for a long time: ${path}`)
    await sleep(PAUSE_MS)
  }
}

/** Only one process can create a file. */
function isCreated(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Windows reports EPERM for a file that is being removed.
    if (code === 'EEXIST' || (code === 'EPERM' && process.platform === 'win32')) return false
    throw error
  }
}

/**
 * Removes the lock of a process that has died. Only the process that has created the second file may remove the first, and only while that is the
 * lock that was read. Otherwise two processes could do so, the second one after a third has created a new lock.
 */
function breakStale(path: string): void {
  const stale = textOf(path)
  if (stale === null || !isStale(path, stale)) return
  const mark = `${path}.${stale.split(' ')[1]?.replace(/\W/g, '') ?? ''}`
  if (isOld(mark)) rmSync(mark, { force: true })
  try {
    if (!isCreated(mark, '')) return
  } catch {
    return
  }
  try {
    remove(path, stale)
  } finally {
    rmSync(mark, { force: true })
  }
}

function isStale(path: string, text: string): boolean {
  const pid = Number(text.split(' ')[0])
  return (pid > 0 && !isAlive(pid)) || isOld(path)
}

function isOld(path: string): boolean {
  try {
    return Date.now() - statSync(path).mtimeMs > OLD_MS
  } catch {
    return false
  }
}

function remove(path: string, text: string): void {
  if (textOf(path) === text) rmSync(path, { force: true })
}

/** Null if there is no such file. Empty for a moment, before its text is written. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
