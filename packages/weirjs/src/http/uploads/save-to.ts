// Saves an upload as a file: under a temporary name while it arrives, under its final name when it is complete, otherwise not at all.

import type { Hash } from 'node:crypto'
import { constants } from 'node:fs'
import { link, open, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

import { BodyAlreadyReadError, isInstance } from '../../base/errors.ts'
import { flag, matching, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { OpenFile } from '../disk/open-file.ts'
import type { SavedFile } from '../multipart/file-store.ts'
import { otherReader, PartStream } from '../multipart/part-stream.ts'
import {
  type ByteInspector,
  CONTENT_RULES,
  type ContentPolicy,
  isReadable,
  piecesOf,
  randomHex,
  refuseIf,
  saveChecked,
  type UploadInfo,
} from './content-policy.ts'
import { BUFFER_BYTES, DiskWriter } from './disk-writer.ts'
import { safeFileName, withSuffix } from './file-name.ts'

/**
 * Options of `saveTo`: what may be saved, and how.
 * @example
 * const policy: SavePolicy = { maxSize: '5MiB', extensions: ['.png'] }
 * await saveTo('uploads', { fileName: 'a.png' }, new Uint8Array(10), policy)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export interface SavePolicy extends ContentPolicy {
  /** Name to save under, in place of the client's. It is passed through `safeFileName` as well. */
  readonly fileName?: string
  /** Permissions of the new file, before the process's umask. Default `0o666`, as in Node. */
  readonly mode?: number
  /** Whether to flush the bytes to the disk (fsync) before the file gets its final name. Default `false`. */
  readonly sync?: boolean
}

/** Named in errors. */
const OWNER = 'saveTo()'
/** @internal */
export const SAVE_RULES = rules<SavePolicy>(OWNER)({
  ...CONTENT_RULES,
  fileName: text().optional(),
  mode: matching<number>('file permissions such as 0o660', (mode) => Number.isInteger(mode)).or(0o666, '0o666'),
  sync: flag(false),
})
/** Without it, a file cannot be opened for writing again. */
const OWNER_WRITE = 0o200

/**
 * Saves an upload in `directory`, which must exist. While the upload arrives, it has a temporary name; when it is complete, it gets the
 * name that `safeFileName` makes of the client's file name. An existing file is never overwritten: if the name is taken, a unique suffix is
 * added before the extension.
 *
 * When the save fails (the client disconnects, a limit, a full disk), the temporary file is closed and removed before the promise rejects.
 *
 * @param info what the client sent about the file; only its `fileName` is used
 * @param content bytes, or the stream passed to `onFile`
 * @throws (rejects) FileRefusedError (415), PayloadTooLargeError (413), BodyAlreadyReadError for a stream that has another reader, the
 *   error of the stream or of the system (`ENOSPC`, `EACCES`), WEIR_OPTION_INVALID for an invalid policy, and for content that is neither
 *   bytes nor a Readable
 * @example
 * await request.bodyMultipartStream({
 *   onFile: async (info, content) => console.log((await saveTo('uploads', info, content)).path),
 * })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export function saveTo(directory: string, info: UploadInfo, content: Readable | Uint8Array, policy: SavePolicy = {}): Promise<SavedFile> {
  return saveChecked(SAVE_RULES, info, content, policy, async (clientName, { hash, inspector }, { fileName: given, mode, sync }) => {
    const temporary = join(directory, `.${randomHex(12)}.part`)
    const name = given === undefined ? clientName : safeFileName(given)
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL
    const file = await OpenFile.open(temporary, flags, mode).catch((error: unknown) => {
      throw namingDirectory(error, directory)
    })
    try {
      if ((mode & OWNER_WRITE) !== 0) file.mayWait() // for the client
      const saved = await write(file, content, hash, inspector)
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
  })
}

/**
 * Replaces the system's message, which names a temporary file, with one that states that the directory is missing. The code is unchanged.
 */
function namingDirectory(error: unknown, directory: string): unknown {
  if (!(isInstance(error, Error) && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))) return error
  const message = `${OWNER}: ${directory} is not an existing directory; create it before you save files in it (${error.code})`
  return Object.assign(new Error(message, { cause: error }), error)
}

async function write(
  file: OpenFile,
  content: Readable | Uint8Array,
  hash: Hash | null,
  inspector: ByteInspector,
): Promise<{ size: number; hash: string | null }> {
  let onRoom = (): void => {}
  const writer = new DiskWriter(file, hash, inspector, () => onRoom())
  if (content instanceof PartStream) {
    // In the meantime, the upload may have been aborted, or something else may have started to read it.
    if (content.destroyed && !content.readableDidRead) writer.fail(content.errored ?? new Error('the upload was aborted'))
    else {
      const reason = content.divert(writer)
      if (reason !== null) writer.fail(new BodyAlreadyReadError(OWNER, reason))
      onRoom = () => content.demand()
      content.demand()
    }
  } else {
    try {
      if (!(content instanceof Uint8Array)) refuseIf(OWNER, otherReader(content))
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
  return { size: writer.size, hash: writer.digest() }
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
