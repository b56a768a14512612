// Where the programs of a user find each other: a folder that only this user can enter.

import { chmodSync, lstatSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { posix, win32 } from 'node:path'

import { WeirError } from '../../index.ts'

/** What the place depends on. Tests give another one. */
export interface LocalEnvironment {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  /** Null on Windows, where the folder of a user is closed to others. */
  readonly uid: number | null
}

export function thisEnvironment(): LocalEnvironment {
  return { platform: process.platform, env: process.env, home: homedir(), uid: process.getuid?.() ?? null }
}

/** The folder, whether or not it exists. */
export function folderOf({ platform, env, home }: LocalEnvironment): string {
  const { join, isAbsolute } = platform === 'win32' ? win32 : posix
  const given = (name: string): string | null => {
    const path = env[name]
    return path !== undefined && isAbsolute(path) ? path : null // the specification of XDG ignores relative paths
  }
  if (platform === 'win32') return join(given('LOCALAPPDATA') ?? join(home, 'AppData', 'Local'), 'weir')
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'weir')
  return join(given('XDG_RUNTIME_DIR') ?? given('XDG_STATE_HOME') ?? join(home, '.local', 'state'), 'weir')
}

/** Makes the folder, and closes it to others. @throws WEIR_LOCAL_FOLDER if it belongs to another user, or is not a folder */
export function closedFolder(environment: LocalEnvironment): string {
  const folder = folderOf(environment)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const stats = lstatSync(folder)
  if (!stats.isDirectory() || (environment.uid !== null && stats.uid !== environment.uid))
    throw new WeirError('WEIR_LOCAL_FOLDER', `${folder} is not a folder of this user`)
  if (environment.uid !== null && (stats.mode & 0o077) !== 0) chmodSync(folder, 0o700)
  return folder
}
