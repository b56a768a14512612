// What diskStorage does with files, whatever is in them.

import { type FileHandle, link, open, rename, stat, unlink } from 'node:fs/promises'

import { inTurn } from './file-turns.ts'

/** Only the user that the process runs as. */
export const FILE_MODE = 0o600
/** Of `link`, on a file system without hard links, or where this user may not make one. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** Opens a file for a moment. */
export function withFile(path: string, flags: string, work: (handle: FileHandle) => Promise<void>): Promise<void> {
  return inTurn(async () => {
    const handle = await open(path, flags, FILE_MODE)
    try {
      await work(handle)
    } finally {
      await handle.close()
    }
  })
}

/**
 * Gives a file another name, which must be free, in one step. `rename` alone would overwrite a file with that name.
 * @throws (rejects) EEXIST; EXDEV if it has to be copied to another file system
 */
export async function giveName(from: string, to: string): Promise<void> {
  try {
    return await link(from, to)
  } catch (error) {
    if (!NO_LINKS.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
  await withFile(to, 'wx', async () => {}) // takes the name
  try {
    await rename(from, to)
  } catch (error) {
    await remove(to)
    throw error
  }
}

/** Whether `path` is a name of the same file as one of `others`. */
export async function isSameFile(path: string, others: readonly (string | null)[]): Promise<boolean> {
  const found = await statOf(path)
  if (found === null) return false
  for (const other of others) {
    const it = other === null ? null : await statOf(other)
    if (it !== null && it.ino === found.ino && it.dev === found.dev) return true
  }
  return false
}

/** What a file keeps when it is renamed; null if there is none. */
export async function inodeOf(path: string): Promise<string | null> {
  const found = await statOf(path)
  return found === null ? null : String(found.ino)
}

/** With all digits of inodes; null for no file. */
async function statOf(path: string) {
  try {
    return await stat(path, { bigint: true })
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** 0 for no file. */
export async function sizeOf(path: string): Promise<number> {
  return Number((await statOf(path))?.size ?? 0)
}

export async function exists(path: string): Promise<boolean> {
  return (await statOf(path)) !== null
}

/** Milliseconds since 1970; infinite for no file: another process was faster to remove it. */
export async function modifiedAt(path: string): Promise<number> {
  const found = await statOf(path)
  return found === null ? Number.POSITIVE_INFINITY : Number(found.mtimeNs) / 1e6
}

export async function remove(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
