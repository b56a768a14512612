// Saves an upload as a file: under a temporary name while it arrives, under its final name when it is complete, otherwise not at all.

import { AsyncResource } from 'node:async_hooks'
import { Buffer } from 'node:buffer'
import type { Hash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, link, open, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

import { BodyAlreadyReadError, FileRefusedError, PayloadTooLargeError } from '../../base/errors.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { checkFunction, checkNames, checkText, flag, invalid, limitOf, listOf, namesOf } from '../../base/options.ts'
import { extensionsOf } from '../multipart/allowed-extensions.ts'
import { checkExtension } from '../multipart/file-extensions.ts'
import { otherReader, PartStream } from '../multipart/part-stream.ts'
import { BUFFER_BYTES, type ByteInspector, DiskWriter } from './disk-writer.ts'
import { safeFileName, withSuffix } from './file-name.ts'

/** Options of `saveTo`: what may be saved, and how. */
export interface SavePolicy {
  /** Largest size in bytes; when exceeded, `PayloadTooLargeError` (413). Default: no limit in addition to those of the form. */
  readonly maxBytes?: number
  /**
   * Extensions that the client's file name may have, such as `.png` or `png`, case-insensitive. An empty string allows names without an
   * extension. Default: any. Your own `fileName` is not checked.
   */
  readonly extensions?: readonly string[]
  /**
   * Byte sequences with which the file may begin, such as `[[0x89, 0x50, 0x4e, 0x47]]`, or a function that returns whether the first 64
   * bytes (fewer for a shorter file) are allowed. Default: any.
   */
  readonly magic?: readonly (readonly number[] | Uint8Array)[] | ((first: Uint8Array) => boolean)
  /** Hash to compute while writing, such as `sha256`. Default: none. */
  readonly hash?: string
  /** Name to save under, in place of the client's. It is passed through `safeFileName` as well. */
  readonly fileName?: string
  /**
   * Called with the number of bytes received so far, each time more bytes have arrived within `maxBytes`; never for an empty file. If it
   * throws, the save fails. A returned promise is not awaited.
   */
  readonly onProgress?: (bytes: number) => void
  /** Permissions of the new file, before the process's umask. Default `0o666`, as in Node. */
  readonly mode?: number
  /** Whether to flush the bytes to the disk (fsync) before the file gets its final name. Default `false`. */
  readonly sync?: boolean
}

/** A saved file. */
export interface SavedFile {
  /** Path of the file: the directory and `fileName`. */
  readonly path: string
  /** Its name in the directory. */
  readonly fileName: string
  /** Size in bytes. */
  readonly size: number
  /** Digest in hexadecimal; null unless `hash` was set. */
  readonly hash: string | null
}

const OPTION_NAMES = namesOf<SavePolicy>()(['maxBytes', 'extensions', 'magic', 'hash', 'fileName', 'onProgress', 'mode', 'sync'])
/** Enough to recognise any common file type. */
const MAGIC_BYTES = 64

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
 */
export function saveTo(
  directory: string,
  info: { readonly fileName: string | null },
  content: Readable | Uint8Array,
  policy: SavePolicy = {},
): Promise<SavedFile> {
  const saving = save(directory, info, content, policy)
  // A client that disconnects must not end a program whose `onFile` awaits the promise later, or throws before it does.
  if (content instanceof PartStream) saving.catch(() => {})
  return saving
}

async function save(
  directory: string,
  info: { readonly fileName: string | null },
  content: Readable | Uint8Array,
  policy: SavePolicy,
): Promise<SavedFile> {
  let handle: FileHandle | null = null
  const temporary = join(directory, `.${randomHex(12)}.part`)
  try {
    checkNames('saveTo()', policy, OPTION_NAMES)
    const maxBytes = limitOf('saveTo()', 'maxBytes', policy.maxBytes, Number.POSITIVE_INFINITY)
    const extensions = policy.extensions === undefined ? null : extensionsOf('saveTo()', policy.extensions)
    const hash = policy.hash === undefined ? null : hashOf(policy.hash)
    checkMagic(policy.magic)
    checkText('saveTo()', 'fileName', policy.fileName)
    checkFunction('saveTo()', 'onProgress', policy.onProgress)
    const sync = flag('saveTo()', 'sync', policy.sync)
    if (!(content instanceof Uint8Array || isReadable(content)))
      throw invalid('saveTo()', `content is bytes or a Readable, not ${kindOf(content)}`)
    reserve(content)
    checkInfo(info)
    const clientName = safeFileName(info.fileName)
    if (extensions !== null) checkExtension(clientName, extensions)
    const name = policy.fileName === undefined ? clientName : safeFileName(policy.fileName)
    handle = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, policy.mode ?? 0o666).catch(
      (error: unknown) => {
        throw namingDirectory(error, directory)
      },
    )
    const inspector = new Inspector(maxBytes, policy.magic, policy.onProgress === undefined ? null : AsyncResource.bind(policy.onProgress))
    const saved = await write(handle, content, hash, inspector)
    if (sync) await handle.sync()
    await handle.close()
    const fileName = await giveName(temporary, directory, name)
    return { path: join(directory, fileName), fileName, ...saved }
  } catch (error) {
    if (isReadable(content)) content.destroy()
    if (handle !== null) {
      await handle.close().catch(() => {})
      await unlink(temporary).catch(() => {})
    }
    throw error
  }
}

/**
 * Replaces the system's message, which names a temporary file, with one that states that the directory is missing. The code is unchanged.
 */
function namingDirectory(error: unknown, directory: string): unknown {
  if (!(error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))) return error
  const message = `saveTo(): ${directory} is not an existing directory; create it before you save files in it (${error.code})`
  return Object.assign(new Error(message, { cause: error }), error)
}

/** A file of the Web has a `name` instead, and every upload would be saved as `upload.bin`. @throws WEIR_OPTION_INVALID */
function checkInfo(info: { readonly fileName: string | null }): void {
  const given: unknown = info
  if (typeof given !== 'object' || given === null) throw invalid('saveTo()', `info is an object with a fileName, not ${kindOf(given)}`)
  if (info.fileName !== null && typeof info.fileName !== 'string')
    throw invalid('saveTo()', `info.fileName is ${shown(info.fileName)}, not a string or null`)
}

/** Whether it can be read, and closed when something goes wrong. */
function isReadable(content: unknown): content is Readable {
  return (
    typeof content === 'object' &&
    content !== null &&
    Symbol.asyncIterator in content &&
    'listenerCount' in content &&
    'destroy' in content &&
    typeof content.destroy === 'function'
  )
}

/**
 * Makes sure that nothing of it was read yet: otherwise the rest would be saved as if it were the complete file. An uploaded file is
 * reserved before the first `await`, so that it is not skipped when `onFile` returns without waiting for the save.
 * @throws BodyAlreadyReadError
 */
function reserve(content: Readable | Uint8Array): void {
  if (content instanceof Uint8Array) return
  refuseIf(content instanceof PartStream ? content.reserve() : otherReader(content))
}

function refuseIf(reason: string | null): void {
  if (reason !== null) throw new BodyAlreadyReadError('saveTo()', reason)
}

/** @throws WEIR_OPTION_INVALID for an algorithm that the system does not have */
function hashOf(algorithm: string): Hash {
  try {
    return process.getBuiltinModule('node:crypto').createHash(algorithm)
  } catch {
    throw invalid('saveTo()', `hash is ${shown(algorithm)}, which this system does not support`)
  }
}

function checkMagic(magic: SavePolicy['magic']): void {
  if (magic === undefined || typeof magic === 'function') return
  for (const known of listOf<unknown>('saveTo()', 'magic', magic))
    if (!Array.isArray(known) && !(known instanceof Uint8Array)) throw invalid('saveTo()', `magic: ${shown(known)} is not a list of bytes`)
}

async function write(
  handle: FileHandle,
  content: Readable | Uint8Array,
  hash: Hash | null,
  inspector: Inspector,
): Promise<{ size: number; hash: string | null }> {
  let onRoom = (): void => {}
  const writer = new DiskWriter(handle, hash, inspector, () => onRoom())
  if (content instanceof PartStream) {
    // In the meantime, the upload may have been aborted, or something else may have started to read it.
    if (content.destroyed && !content.readableDidRead) writer.fail(content.errored ?? new Error('the upload was aborted'))
    else {
      const reason = content.divert(writer)
      if (reason !== null) writer.fail(new BodyAlreadyReadError('saveTo()', reason))
      onRoom = () => content.demand()
      content.demand()
    }
  } else {
    try {
      if (!(content instanceof Uint8Array)) refuseIf(otherReader(content))
      for await (const piece of piecesOf(content)) {
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

/** Splits the content, so that the caller can wait for the writer between two pieces: it would copy a large file as a whole. */
async function* piecesOf(content: Readable | Uint8Array): AsyncGenerator<Buffer> {
  for await (const chunk of content instanceof Uint8Array ? [content] : content) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    for (let at = 0; at < bytes.length; at += BUFFER_BYTES) yield bytes.subarray(at, at + BUFFER_BYTES)
  }
}

/** Checks the bytes against the policy before they are written. */
class Inspector implements ByteInspector {
  readonly #maxBytes: number
  readonly #magic: SavePolicy['magic']
  readonly #onProgress: ((bytes: number) => void) | null
  #size = 0
  #first: Buffer | null

  constructor(maxBytes: number, magic: SavePolicy['magic'], onProgress: ((bytes: number) => void) | null) {
    this.#maxBytes = maxBytes
    this.#magic = magic
    this.#onProgress = onProgress
    this.#first = magic === undefined ? null : Buffer.alloc(0)
  }

  look(bytes: Buffer): void {
    this.#size += bytes.length
    if (this.#size > this.#maxBytes) throw new PayloadTooLargeError('maxBytes', this.#maxBytes)
    this.#onProgress?.(this.#size)
    if (this.#first === null) return
    this.#first = Buffer.concat([this.#first, bytes.subarray(0, MAGIC_BYTES - this.#first.length)])
    if (this.#first.length === MAGIC_BYTES) this.end()
  }

  /** The first bytes have arrived, or the file is shorter than that. */
  end(): void {
    const first = this.#first
    const magic = this.#magic
    if (first === null || magic === undefined) return
    this.#first = null
    const isAllowed =
      typeof magic === 'function'
        ? magic(first)
        : magic.some((known) => known.length <= first.length && known.every((byte, i) => first[i] === byte))
    if (!isAllowed) throw new FileRefusedError('WEIR_FILE_MAGIC')
  }
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

/** Two digits per byte. `node:crypto` is not imported above because loading it takes longer than starting a whole server. */
function randomHex(bytes: number): string {
  return process.getBuiltinModule('node:crypto').randomBytes(bytes).toString('hex')
}
