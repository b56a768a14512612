// Uploads in a directory: for each, a file with its bytes and one with its record.
//
// The size of the file is the offset, so that no written bytes are lost when the process dies, and nothing has to be written twice. Bytes that have
// yet to be verified are written to the same file; the record states where they begin.

import { constants } from 'node:fs'
import { copyFile, type FileHandle, mkdir, readdir, readFile, rename } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { WeirError } from 'weirjs'
import { invalid, openFile, option, type PatientFile, rules, shown } from 'weirjs/kit'

import { inTurn } from './file-turns.ts'
import { exists, FILE_MODE, giveName, inodeOf, isMissing, isSameFile, modifiedAt, remove, sizeOf, withFile } from './files.ts'
import { isTextOrNull, isUploadId, newUploadId, type UploadRecord, uploadRecordOf } from './upload-record.ts'
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
const DIRECTORY_MODE = 0o700
const BYTES = '.bin'
const RECORD = '.json'
const TEMPORARY = '.tmp'

/** The content of a record's file. */
interface Info {
  readonly record: UploadRecord
  /** Bytes after this offset are not verified and do not count. Null: all bytes count. */
  readonly verifiedTo: number | null
  /** While the bytes are moved: the inode of the file that the target will be a name of, and the path of a copy of them, if there is one. */
  readonly move?: { readonly inode: string | null; readonly copy: string | null } | null
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
    const { verifiedTo } = info
    const record = info.record.stage === 'received' ? await this.#placed(info) : info.record
    const size = await sizeOf(this.#path(id, BYTES))
    // The bytes of a complete upload may be elsewhere. Otherwise, others have changed a file that is too short.
    if (record.stage !== 'open') return record.keptAt !== null || size === record.length ? { record, offset: record.length! } : null
    return { record, offset: Math.min(size, verifiedTo ?? size) }
  }

  async save(record: UploadRecord): Promise<void> {
    const info = await this.#readInfo(record.id)
    const { keptAt, moving } = record
    const { inode = null, copy = null } = info?.move ?? {}
    const known = info?.record.moving === moving ? inode : null
    const move = moving === undefined ? null : { inode: known ?? (await inodeOf(keptAt ?? this.locate(record))), copy }
    await this.#writeInfo({ record, verifiedTo: info?.verifiedTo ?? null, move })
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
    const info = (await this.#readInfo(record.id)) ?? { record, verifiedTo: null }
    const from = resolve((await this.#placed({ ...info, record })).keptAt ?? this.locate(record))
    const place = resolve(target)
    const earlier = resolve(record.moving ?? target)
    const copies = [from, info.move?.copy ?? null]
    if (from !== place) {
      // A process that died may have left the bytes at both places.
      const isLeft = earlier !== place && earlier !== from && (await isSameFile(earlier, copies))
      const isThere = (await isSameFile(place, copies)) || (info.record.moving === target && (await this.#hasMoved(info)))
      const copy = isThere ? null : await this.#place(info, from, place)
      await this.#syncDirectory(dirname(place))
      if (isLeft) await remove(earlier)
      await remove(from)
      if (copy !== null) await remove(copy)
    }
    if (info.move?.copy) await remove(info.move.copy)
  }

  /** @returns another name of the copy if it had to be copied */
  async #place(info: Info, from: string, place: string): Promise<string | null> {
    try {
      await giveName(from, place)
      return null
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
      return this.#copy(info, from, place)
    }
  }

  /** Copies a file to another file system, under another name first: what has the name is the whole file, even after a crash. */
  async #copy(info: Info, from: string, place: string): Promise<string> {
    const copy = join(dirname(place), `.${newUploadId()}${TEMPORARY}`)
    const note = (inode: string | null, path: string | null): Promise<void> => this.#writeInfo({ ...info, move: { inode, copy: path } })
    if (info.move?.copy) {
      await note(null, info.move.copy) // before another file can have its inode
      await remove(info.move.copy)
    }
    try {
      await note(null, copy)
      await withFile(copy, 'wx', async () => {})
      await note(await inodeOf(copy), copy)
      await inTurn(() => copyFile(from, copy, constants.COPYFILE_FICLONE))
      await this.#syncFile(copy)
      await giveName(copy, place)
      return copy
    } catch (error) {
      await note(null, copy).catch(() => {})
      await remove(copy)
      throw error
    }
  }

  /** The record, with the place where the bytes are if a move of them was interrupted. Its own file counts before any other while it exists. */
  async #placed(info: Info): Promise<UploadRecord> {
    const { record } = info
    const { keptAt, moving } = record
    if (keptAt === null && moving === undefined) return record
    const own = this.locate(record)
    if (await exists(own)) return keptAt === null || resolve(keptAt) === own ? record : { ...record, keptAt: null }
    if (moving === undefined || !(await this.#hasMoved(info))) return record
    return (await isSameFile(moving, [keptAt])) ? record : { ...record, keptAt: moving }
  }

  /** Whether the file at the target of an interrupted move is of this upload, and not of another that was moved there. */
  async #hasMoved({ record: { moving, length }, move }: Info): Promise<boolean> {
    if (moving === undefined || !move || move.inode === null) return false
    return (await inodeOf(moving)) === move.inode && (await sizeOf(moving)) === length
  }

  async delete(record: UploadRecord): Promise<void> {
    const own = this.locate(record)
    if (record.keptAt !== own) await remove(own)
    const copy = record.moving === undefined ? null : (await this.#readInfo(record.id))?.move?.copy
    if (copy) await remove(copy)
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
  const move = 'move' in value ? moveOf(value.move) : null
  if (record === null || record.id !== id || move === undefined) return null
  if (verifiedTo !== null && !(Number.isSafeInteger(verifiedTo) && (verifiedTo as number) >= 0)) return null
  return { record, verifiedTo: verifiedTo as number | null, move }
}

function moveOf(value: unknown): Info['move'] {
  if (typeof value !== 'object' || value === null) return value === null ? null : undefined
  const { inode, copy } = value as { readonly inode?: unknown; readonly copy?: unknown }
  return isTextOrNull(inode) && isTextOrNull(copy) ? { inode, copy } : undefined
}

/** A client may take its time to read them. */
async function* piecesOf(path: string): AsyncGenerator<Uint8Array> {
  yield* (await openFile(path, constants.O_RDONLY)).bytes()
}
