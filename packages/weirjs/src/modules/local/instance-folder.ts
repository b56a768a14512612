// Where the programs of one user find each other: a folder that no one else can read or write.

import { chmodSync, lstatSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { posix, win32 } from 'node:path'

import { WeirError } from '../../base/errors.ts'

/** The facts that decide where the folder is. */
interface Machine {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
}

export function thisMachine(): Machine {
  return { platform: process.platform, env: process.env, home: homedir() }
}

/** The rights of others in a mode, of which there must be none. */
const OTHERS = 0o077

/**
 * Linux and others: below XDG_RUNTIME_DIR, which ends with the login, XDG_STATE_HOME or ~/.local/state. A variable with a relative path is
 * ignored, as the specification of XDG demands.
 */
export function instanceFolder({ platform, env, home }: Machine): string {
  if (platform === 'win32') {
    const own = env['LOCALAPPDATA']
    return win32.join(own !== undefined && win32.isAbsolute(own) ? own : win32.join(home, 'AppData', 'Local'), 'weir')
  }
  if (platform === 'darwin') return posix.join(home, 'Library', 'Application Support', 'weir')
  const stated = [env['XDG_RUNTIME_DIR'], env['XDG_STATE_HOME']].find((path) => path !== undefined && posix.isAbsolute(path))
  return posix.join(stated ?? posix.join(home, '.local', 'state'), 'weir')
}

/** Makes the folder, or closes one that is there to others. @throws WEIR_LOCAL_FILE if it is not a folder of this user */
export function openFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  checkFolder(folder)
  // The folder of an earlier version, or of a program that has made it by itself. What is in it is checked on its own.
  if (hasOwners() && (lstatSync(folder).mode & OTHERS) !== 0) chmodSync(folder, 0o700)
}

/** @throws WEIR_LOCAL_FILE if it is not a folder of this user; the system's error if there is none */
export function checkFolder(folder: string): void {
  const found = lstatSync(folder)
  if (!found.isDirectory()) throw untrusted(folder, 'is not a folder')
  checkOwner(folder, found.uid)
}

/** @throws WEIR_LOCAL_FILE */
export function checkPrivate(path: string, { uid, mode }: { readonly uid: number; readonly mode: number }): void {
  checkOwner(path, uid)
  if (hasOwners() && (mode & OTHERS) !== 0) throw untrusted(path, `has the mode ${(mode & 0o777).toString(8)}, not 600`)
}

function checkOwner(path: string, uid: number): void {
  const own = process.getuid?.()
  if (own !== undefined && uid !== own) throw untrusted(path, `belongs to user ${uid}, and this process runs as ${own}`)
}

/** On Windows, what is in a profile has its rights from there, and modes mean nothing. */
function hasOwners(): boolean {
  return process.getuid !== undefined
}

export function untrusted(path: string, why: string): WeirError {
  return new WeirError('WEIR_LOCAL_FILE', `${path} ${why}`)
}
