// The file of a Unix socket. It remains when a process is killed, and then no process can listen there until it is removed.

import { chmodSync, type Stats } from 'node:fs'
import { lstat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'

/**
 * Removes a socket's file if no process listens on it. Anything else stays: a socket that accepts, one that we may not connect to, another
 * kind of file.
 * @returns whether the file was removed
 */
export async function removeStale(path: string): Promise<boolean> {
  try {
    const before = await lstat(path)
    if (!before.isSocket() || (await isAlive(path))) return false
    // In the meantime, another process may have replaced the file in the same way, and may be listening there.
    if (!isSame(before, await lstat(path))) return false
    await unlink(path)
    return true
  } catch {
    return false
  }
}

/** Sets the permissions of the file of a socket that has just been bound: before the event loop accepts a connection. */
export function setMode(path: string, mode: number): void {
  chmodSync(path, mode)
}

/** Only a refused connection proves that no process listens. */
function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED'))
  })
}

function isSame(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.dev === other.dev && one.ctimeMs === other.ctimeMs
}
