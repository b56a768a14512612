// Uploads in a directory: for each, a file with its bytes and one with its record.
//
// The size of the file is the offset, so that no written bytes are lost when the process dies, and nothing has to be written twice. Bytes that have
// yet to be verified are written to the same file; the record states where they begin.

import { constants } from 'node:fs'
import { copyFile, type FileHandle, link, mkdir, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { WeirError } from 'weirjs'
import { invalid, openFile, option, type PatientFile, rules, shown } from 'weirjs/kit'

import { inTurn } from './file-turns.ts'
import { isUploadId, newUploadId, type UploadRecord, uploadRecordOf } from './upload-record.ts'
import type { AppendOptions, StoredUpload, UploadStorage } from './upload-storage.ts'

const { flag } = option

export interface DiskStorageOptions {
  /**
   * Whether bytes are flushed to the disk before the client is told that they have arrived, so that they survive a power failure. Default true.
   * Without it, they survive only the death of the process.
   */
  readonly sync?: boolean
}

const OWNER = 'diskStorage()'
/** @internal */
export const DISK_STORAGE_RULES = rules<DiskStorageOptions>(OWNER)({ sync: flag(true) })
/** Only the user that the process runs as. */
const FILE_MODE = 0o600
const DIRECTORY_MODE = 0o700
const BYTES = '.bin'
const RECORD = '.json'
const TEMPORARY = '.tmp'

/** The content of a record's file. */
interface Info {
  readonly record: UploadRecord
  /** Bytes after this offset are not verified and do not count. Null: all bytes count. */
  readonly verifiedTo: number | null
}

/**
 * Keeps uploads in a directory, which is created if it is missing. Several processes may share it, on one machine or on a network file system
 * with close-to-open consistency, if they share `locks` too.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function diskStorage(directory: string, options: DiskStorageOptions = {}): UploadStorage {
  if (typeof directory !== 'string' || directory === '') throw invalid(OWNER, `directory is ${shown(directory)}, not a path`)
  return new DiskStorage(resolve(directory), DISK_STORAGE_RULES.read(options).sync)
}

class DiskStorage implements UploadStorage {
  readonly name = 'disk'
  readonly #directory: string
  readonly #syncs: boolean

  constructor(directory: string, syncs: boolean) {
    this.#directory = directory
    this.#syncs = syncs
  }

  async create(record: UploadRecord): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: DIRECTORY_MODE })
    await this.#writeInfo({ record, verifiedTo: null })
  }

  async load(id: string): Promise<StoredUpload | null> {
    const info = await this.#readInfo(id)
    if (info === null) return null
    const { record, verifiedTo } = info
    const size = await sizeOf(this.#path(id, BYTES))
    // The bytes of a complete upload may be elsewhere. Otherwise, others have changed a file that is too short.
    if (record.stage !== 'open') return record.keptAt !== null || size === record.length ? { record, offset: record.length! } : null
    return { record, offset: Math.min(size, verifiedTo ?? size) }
  }

  async save(record: UploadRecord): Promise<void> {
    const info = await this.#readInfo(record.id)
    await this.#writeInfo({ record, verifiedTo: info?.verifiedTo ?? null })
  }

  async append(
    record: UploadRecord,
    offset: number,
    bytes: AsyncIterable<Uint8Array>,
    { isAtomic, hasTakenOver }: AppendOptions,
  ): Promise<number> {
    const path = this.#path(record.id, BYTES)
    if (hasTakenOver) await this.#takeFile(path)
    const file = await openFile(path, constants.O_RDWR | constants.O_CREAT, FILE_MODE)
    try {
      await file.truncate(offset)
      if (offset === 0) await this.#syncDirectory(this.#directory) // the file may be new
      const verifiedTo = isAtomic ? offset : null
      if ((await this.#readInfo(record.id))?.verifiedTo !== verifiedTo) await this.#writeInfo({ record, verifiedTo })
      const position = await this.#write(record, file, offset, bytes, isAtomic)
      await file.finish()
      return position
    } finally {
      await file.close()
    }
  }

  async #write(
    record: UploadRecord,
    file: PatientFile,
    offset: number,
    bytes: AsyncIterable<Uint8Array>,
    isAtomic: boolean,
  ): Promise<number> {
    let position = offset
    try {
      for await (const chunk of bytes) {
        await file.write(chunk, position)
        position += chunk.length
      }
    } catch (error) {
      if (isAtomic) await this.#discard(record, file, offset)
      else await this.#syncData(file)
      throw error
    }
    await this.#syncData(file)
    if (isAtomic) await this.#writeInfo({ record, verifiedTo: null })
    return position
  }

  async #discard(record: UploadRecord, file: PatientFile, offset: number): Promise<void> {
    await file.truncate(offset)
    await this.#writeInfo({ record, verifiedTo: null })
  }

  /** A writer that has lost its lock keeps a file that has no name any more. */
  async #takeFile(path: string): Promise<void> {
    const copy = `${path}.${newUploadId()}${TEMPORARY}`
    try {
      await inTurn(() => copyFile(path, copy, constants.COPYFILE_FICLONE))
    } catch (error) {
      if (isMissing(error)) return // nothing has been appended yet
      throw error
    }
    await this.#syncFile(copy)
    await rename(copy, path)
    await this.#syncDirectory(this.#directory)
  }

  async complete(record: UploadRecord, size: number): Promise<void> {
    if (record.keptAt !== null) return
    const path = this.#path(record.id, BYTES)
    if (size === 0) await withFile(path, 'a', async () => {}) // nothing was ever appended
    const found = await sizeOf(path)
    if (found !== size) throw new WeirError('WEIR_STORE_UNAVAILABLE', `the upload has ${size} bytes, and its file ${found}`)
  }

  read(record: UploadRecord): Readable {
    return Readable.from(piecesOf(record.keptAt ?? this.locate(record)), { objectMode: false })
  }

  locate(record: UploadRecord): string {
    return this.#path(record.id, BYTES)
  }

  async moveTo(record: UploadRecord, target: string): Promise<void> {
    const own = this.locate(record)
    const { keptAt } = record
    const place = resolve(target)
    const from = keptAt !== null && keptAt !== own && (await exists(keptAt)) ? keptAt : own
    if (from === place) return
    if (!(await hasLinked(from, place))) {
      await inTurn(() => copyFile(from, place, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE))
      await this.#syncFile(place)
    }
    await this.#syncDirectory(dirname(place))
    await remove(from)
  }

  async delete(record: UploadRecord): Promise<void> {
    const own = this.locate(record)
    if (record.keptAt !== own) await remove(own)
    await remove(this.#path(record.id, RECORD))
  }

  async *list(): AsyncIterable<UploadRecord> {
    for (const name of await this.#names()) {
      if (!name.endsWith(RECORD)) continue
      const info = await this.#readInfo(name.slice(0, -RECORD.length))
      if (info !== null) yield info.record
    }
  }

  /**
   * Removes files that a crash has left incomplete. A record that cannot be read is left to the operator, because the bytes next to it may belong
   * to the program.
   */
  async sweep(before: number): Promise<void> {
    for (const name of await this.#names()) {
      if (!name.endsWith(TEMPORARY) || !isUploadId(name.slice(0, name.indexOf('.')))) continue
      const path = join(this.#directory, name)
      if ((await modifiedAt(path)) < before) await remove(path)
    }
  }

  async #names(): Promise<string[]> {
    try {
      return await readdir(this.#directory)
    } catch (error) {
      if (isMissing(error)) return []
      throw error
    }
  }

  /** @param id that `isUploadId` accepts: nothing else reaches the file system */
  #path(id: string, ending: string): string {
    if (!isUploadId(id)) throw invalid(OWNER, `the id of an upload is ${shown(id)}`)
    return join(this.#directory, id + ending)
  }

  async #readInfo(id: string): Promise<Info | null> {
    if (!isUploadId(id)) return null
    let text: string
    try {
      text = await inTurn(() => readFile(this.#path(id, RECORD), 'utf8'))
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
    return infoOf(text, id)
  }

  /** A new file replaces the old one in one step: a crash leaves the old record or the new one. */
  async #writeInfo(info: Info): Promise<void> {
    const path = this.#path(info.record.id, RECORD)
    const temporary = `${path}.${newUploadId()}${TEMPORARY}`
    try {
      await withFile(temporary, 'wx', async (handle) => {
        await handle.writeFile(JSON.stringify(info))
        await this.#sync(handle)
      })
      await rename(temporary, path)
    } catch (error) {
      await remove(temporary)
      throw error
    }
    await this.#syncDirectory(this.#directory)
  }

  async #syncData(file: PatientFile): Promise<void> {
    if (this.#syncs) await file.syncData()
  }

  async #sync(handle: FileHandle): Promise<void> {
    if (this.#syncs) await handle.datasync()
  }

  async #syncFile(path: string): Promise<void> {
    await withFile(path, 'r+', (handle) => this.#sync(handle))
  }

  /** So that the names of new files survive a power failure, too. */
  async #syncDirectory(path: string): Promise<void> {
    if (!this.#syncs || process.platform === 'win32') return // Windows cannot open a directory
    await withFile(path, 'r', (handle) => handle.sync())
  }
}

/** Opens a file for a moment. */
function withFile(path: string, flags: string, work: (handle: FileHandle) => Promise<void>): Promise<void> {
  return inTurn(async () => {
    const handle = await open(path, flags, FILE_MODE)
    try {
      await work(handle)
    } finally {
      await handle.close()
    }
  })
}

function infoOf(text: string, id: string): Info | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null || !('record' in value) || !('verifiedTo' in value)) return null
  const record = uploadRecordOf(value.record)
  const { verifiedTo } = value
  if (record === null || record.id !== id) return null
  if (verifiedTo !== null && !(Number.isSafeInteger(verifiedTo) && (verifiedTo as number) >= 0)) return null
  return { record, verifiedTo: verifiedTo as number | null }
}

/** A client may take its time to read them. */
async function* piecesOf(path: string): AsyncGenerator<Uint8Array> {
  yield* (await openFile(path, constants.O_RDONLY)).bytes()
}

/**
 * Gives a file another name, which must be free: `rename` would overwrite a file with that name.
 * @returns false if it has to be copied: to another file system, or on one without hard links
 */
async function hasLinked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EXDEV' || code === 'EPERM' || code === 'ENOTSUP' || code === 'EOPNOTSUPP' || code === 'ENOSYS') return false
    throw error
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (isMissing(error)) return 0
    throw error
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

async function modifiedAt(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs
  } catch (error) {
    if (isMissing(error)) return Number.POSITIVE_INFINITY // another process was faster
    throw error
  }
}

async function remove(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
