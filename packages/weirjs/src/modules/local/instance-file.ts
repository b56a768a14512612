// The file with which the other programs of the user find a server, and the secret that opens it to them.

import { randomBytes } from 'node:crypto'
import { closeSync, constants, fchmodSync, fstatSync, lstatSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { isLaunchToken } from '../launch/launch-token.ts'
import { checkFolder, checkPrivate, untrusted } from './instance-folder.ts'

/** A server that runs, as other programs of the user see it. */
export interface FoundLocal {
  /** Scheme, address and port, such as `http://127.0.0.1:4321`. */
  readonly url: string
  /** To be sent as `Authorization: Bearer`, to `url` and to no one else. It opens everything: keep it out of logs, arguments and files. */
  readonly token: string
  readonly pid: number
}

/** weir's own files have about 200. */
const MOST_BYTES = 4_096
/** Programs on Windows cannot open a file with such a name, whatever follows the dot. */
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/

export const NAME_FORM = 'a name of at most 64 lower-case letters, digits and ".", "_", "-" that begins with a letter or a digit'

export function isInstanceName(name: unknown): boolean {
  return typeof name === 'string' && /^[a-z0-9][a-z0-9._-]{0,63}$/.test(name) && !RESERVED.test(name)
}

function instancePath(folder: string, name: string): string {
  return join(folder, `${name}.json`)
}

/** Readers find the earlier file or this one, complete, and never with another mode. */
export function writeInstance(folder: string, name: string, { url, token, pid }: FoundLocal): void {
  const made = join(folder, `${name}.${randomBytes(8).toString('hex')}.tmp`)
  try {
    const file = openSync(made, 'wx', 0o600)
    try {
      fchmodSync(file, 0o600) // a umask may have taken rights of the owner
      writeFileSync(file, `${JSON.stringify({ url, token, pid })}\n`)
    } finally {
      closeSync(file)
    }
    renameSync(made, instancePath(folder, name))
  } catch (error) {
    rmSync(made, { force: true })
    throw error
  }
}

/**
 * Null if there is none, or if it has another form. @throws WEIR_LOCAL_FILE for a link, and for a file that others own or can read, which may have
 * been planted to get secrets
 */
export function readInstance(folder: string, name: string): FoundLocal | null {
  const path = instancePath(folder, name)
  let text: string
  try {
    checkFolder(folder)
    text = readPrivate(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  return parsed(text)
}

/** Removes the file if it still belongs to this instance. */
export function removeInstance(folder: string, name: string, token: string): void {
  try {
    if (readInstance(folder, name)?.token === token) rmSync(instancePath(folder, name), { force: true })
  } catch {
    // The folder is gone, or something else is there: the next start says so.
  }
}

/** Reads the same file that it has checked: it is open before another file could replace it. */
function readPrivate(path: string): string {
  if (lstatSync(path).isSymbolicLink()) throw untrusted(path, 'is a symbolic link')
  const file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
  try {
    const found = fstatSync(file)
    if (!found.isFile() || found.nlink > 1) throw untrusted(path, 'is not a file of its own')
    checkPrivate(path, found)
    return found.size > MOST_BYTES ? '' : readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

function parsed(text: string): FoundLocal | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  const { url, token, pid } = (value ?? {}) as Partial<FoundLocal>
  if (typeof url !== 'string' || !/^https?:\/\/[^/\s?#@]+$/.test(url) || !URL.canParse(url)) return null
  if (typeof token !== 'string' || !isLaunchToken(token) || !Number.isSafeInteger(pid) || pid! <= 0) return null
  return { url, token, pid: pid! }
}
