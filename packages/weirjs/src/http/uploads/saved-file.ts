// How a file is saved for `saveTo`: under a temporary name while it arrives, under its final name when it is complete, otherwise not at all.

import { constants } from 'node:fs'
import { link, open, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

import { BodyAlreadyReadError, isInstance } from '../../base/errors.ts'
import { OpenFile } from '../disk/open-file.ts'
import type { SavedFile } from '../multipart/file-store.ts'
import { otherReader, PartStream } from '../multipart/part-stream.ts'
import { type CheckedPolicy, isReadable, piecesOf, randomHex, refuseIf } from './content-policy.ts'
import { BUFFER_BYTES, DiskWriter } from './disk-writer.ts'
import { withSuffix } from './file-name.ts'

/** Without it, a file cannot be opened for writing again. */
const OWNER_WRITE = 0o200

/** Where it goes. */
interface Place {
  /** Who saves it, for errors. */
  readonly owner: string
  readonly directory: string
  /** If it is taken, a suffix is added. */
  readonly name: string
  readonly mode: number
  /** Whether its bytes are flushed to the disk before it gets its name. */
  readonly sync: boolean
}

export async function saveFile(
  place: Place,
  content: Readable | Uint8Array,
  checks: CheckedPolicy,
): Promise<Omit<SavedFile, 'clientName'>> {
  const { owner, directory, name, mode, sync } = place
  const temporary = join(directory, `.${randomHex(12)}.part`)
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL
  const file = await OpenFile.open(temporary, flags, mode).catch((error: unknown) => {
    throw namingDirectory(error, place)
  })
  try {
    if ((mode & OWNER_WRITE) !== 0) file.mayWait() // for the client
    const saved = await write(owner, file, content, checks)
    if (sync) await file.sync()
    await file.finish()
    const fileName = await giveName(temporary, directory, name)
    return { path: join(directory, fileName), fileName, ...saved }
  } catch (error) {
    if (isReadable(content)) content.destroy() // before anything is waited for, so that no more of it arrives
    await file.close()
    await unlink(temporary).catch(() => {})
    throw error
  }
}

/**
 * Replaces the system's message, which names a temporary file, with one that states that the directory is missing. The code is unchanged.
 */
function namingDirectory(error: unknown, { owner, directory }: Place): unknown {
  if (!(isInstance(error, Error) && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))) return error
  const message = `${owner}: ${directory} is not an existing directory; create it before you save files in it (${error.code})`
  return Object.assign(new Error(message, { cause: error }), error)
}

async function write(
  owner: string,
  file: OpenFile,
  content: Readable | Uint8Array,
  { hash, inspector }: CheckedPolicy,
): Promise<Pick<SavedFile, 'size' | 'hash' | 'detectedType'>> {
  let onRoom = (): void => {}
  const writer = new DiskWriter(file, hash, inspector, () => onRoom())
  if (content instanceof PartStream) {
    // In the meantime, the upload may have been aborted, or something else may have started to read it.
    if (content.destroyed && !content.readableDidRead) writer.fail(content.errored ?? new Error('the upload was aborted'))
    else {
      const reason = content.divert(writer)
      if (reason !== null) writer.fail(new BodyAlreadyReadError(owner, reason))
      onRoom = () => content.demand()
      content.demand()
    }
  } else {
    try {
      if (!(content instanceof Uint8Array)) refuseIf(owner, otherReader(content))
      for await (const piece of piecesOf(content, BUFFER_BYTES)) {
        if (!writer.data(piece, 0, piece.length)) await new Promise<void>((resolve) => (onRoom = resolve))
        if (writer.hasFailed) break
      }
      writer.end()
    } catch (error) {
      writer.fail(error as Error)
    }
  }
  await writer.done
  return { size: writer.size, hash: writer.digest(), detectedType: inspector.detectedType }
}

/** Gives a complete file its name, or one with a suffix that is free. @returns the name */
async function giveName(temporary: string, directory: string, name: string): Promise<string> {
  for (let fileName = name; ; fileName = withSuffix(name, randomHex(6))) {
    if (await claim(temporary, join(directory, fileName))) return fileName
  }
}

/** `link` fails when the name is taken; `rename` would overwrite that file. */
async function claim(temporary: string, path: string): Promise<boolean> {
  try {
    await link(temporary, path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP' && code !== 'ENOSYS') throw error
    return claimWithoutLinks(temporary, path)
  }
  await unlink(temporary).catch(() => {}) // a directory that does not allow removal keeps both names
  return true
}

/** For file systems without hard links: an empty file claims the name, and the complete file then replaces it. */
async function claimWithoutLinks(temporary: string, path: string): Promise<boolean> {
  try {
    await (await open(path, 'wx')).close()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
  try {
    await rename(temporary, path)
  } catch (error) {
    await unlink(path).catch(() => {})
    throw error
  }
  return true
}
