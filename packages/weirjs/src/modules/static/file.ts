// Reads one file below a root from the disk: its real path, its precompressed versions, and its bytes if they are few.

import type { BigIntStats } from 'node:fs'
import { lstat, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'

import { DiskFile } from '../kit/disk-file.ts'

/** The codings of precompressed files, and the ends of their names. */
export const PRECOMPRESSED = { br: '.br', gzip: '.gz' } as const

export type PrecompressedEncoding = keyof typeof PRECOMPRESSED

/** One version of a file. */
export interface StaticVariant {
  readonly coding: PrecompressedEncoding | null
  /** The real path. */
  readonly path: string
  /** Identifies the file on the disk, whatever its content. */
  readonly inode: string
  /** In bytes. */
  readonly size: number
  /** From then on, a second change would have a different time. */
  readonly settledAt: number
  /** Null if the file is too large to be kept. */
  readonly memory: ReturnType<DiskFile['inMemory']> | null
}

/** A file and its versions, the uncompressed one first. */
export interface StaticFile {
  /** Its path below the root, with slashes. */
  readonly name: string
  readonly contentType: string
  readonly cacheControl: string | null
  /** Other fields: name, value, name, value. */
  readonly fields: readonly string[]
  readonly variants: readonly [StaticVariant, ...StaticVariant[]]
  /** Changes when a version of the file is changed, removed or added. */
  readonly fingerprint: string
}

/** The fields that are sent with files, wherever they are. */
export interface Presentation {
  readonly precompressed: readonly PrecompressedEncoding[]
  /** By the path below the root; null: none. */
  cacheControlOf(name: string): string | null
  /** Other fields, by the path below the root. A Content-Type replaces the type that follows from the extension. */
  headersOf(name: string): Readonly<Record<string, string>>
}

export interface StaticRoot extends Presentation {
  readonly path: string
  readonly followSymlinks: boolean
  /** Larger files are not read into memory. */
  readonly maxFileSize: number
}

/** A file, or what was found instead of one: 403 for a file that may not be read, null for nothing. */
export type Found = StaticFile | 'directory' | 403 | null

/** Where files are. */
export interface Shelf {
  /** Where that is, for people. */
  readonly title: string
  /** The file, if it can be sent at once. */
  peek(name: string): StaticFile | null
  find(name: string): Promise<Found>
}

/** The data of one version that was read. */
export interface Form extends Omit<StaticVariant, 'memory'> {
  /** Null if the file is too large to be kept. */
  readonly inMemory: ((facts: MemoryFacts) => NonNullable<StaticVariant['memory']>) | null
}

type MemoryFacts = Parameters<DiskFile['inMemory']>[1]

interface FormOnDisk extends Form {
  /** Identifies the file that was opened. */
  readonly mark: string
}

/** Errors of the file system that mean that there is no such file. */
const ABSENT: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'ERR_INVALID_ARG_VALUE'])
const FORBIDDEN: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM'])
/** How often to read a file again that changes in the meantime. */
const MOST_ATTEMPTS = 3

/**
 * Reads the file called `name` (with slashes) below the root. It first resolves where the file really is, and then opens that place. So a
 * link cannot lead outside the root unless the program allows it, even if the name is replaced with a link in the meantime. This does not
 * protect against a process that swaps directories below the root at that very moment.
 *
 * @returns 'directory'; null if there is nothing to serve; 403 for a file that may not be read
 */
export async function loadStaticFile(root: StaticRoot, name: string): Promise<Found> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const found = await loadOnce(root, name)
    if (found !== 'changed') return found
  }
  return null
}

/**
 * @returns 'changed' if the opened file is not the file that was found: a name was changed in the meantime, so the file may be any other
 */
async function loadOnce(root: StaticRoot, name: string): Promise<Found | 'changed'> {
  // Taken before anything is read, so that a change in the meantime shows at the next check.
  const fingerprint = await fingerprintOf(root, name)
  const realRoot = await realRootOf(root)
  const place = await placeOf(root, realRoot, name)
  if (place === null || place === 403) return place
  const plain = await read(root, place, null)
  if (plain === 403) return 403
  if (plain !== null && !fingerprint.includes(plain.mark)) return 'changed'
  if (plain === null) return (await isDirectory(place)) ? 'directory' : null
  const forms: FormOnDisk[] = []
  for (const coding of root.precompressed) {
    const itsPlace = await placeOf(root, realRoot, name + PRECOMPRESSED[coding])
    const form = itsPlace === null || itsPlace === 403 ? null : await read(root, itsPlace, coding)
    if (form === null || form === 403) continue
    if (!fingerprint.includes(form.mark)) return 'changed'
    forms.push(form)
  }
  return fileOf(root, name, [plain, ...forms], fingerprint)
}

/** @param forms the uncompressed one first */
export async function fileOf(
  { headersOf, cacheControlOf }: Presentation,
  name: string,
  [plain, ...others]: readonly [Form, ...Form[]],
  fingerprint: string,
): Promise<StaticFile> {
  const headers = Object.entries(headersOf(name))
  const isType = ([field]: readonly [string, string]): boolean => /^content-type$/i.test(field)
  const contentType = headers.find(isType)?.[1] ?? (await DiskFile.typeOf(name))
  const fields = headers.filter((header) => !isType(header)).flat()
  const cacheControl = cacheControlOf(name)
  const facts = { contentType, cacheControl, variesByEncoding: others.length > 0, fields }
  const prepare = ({ inMemory, coding, path, inode, size, settledAt }: Form): StaticVariant => {
    return { coding, path, inode, size, settledAt, memory: inMemory === null ? null : inMemory({ ...facts, coding }) }
  }
  return { name, contentType, cacheControl, fields, variants: [prepare(plain), ...others.map(prepare)], fingerprint }
}

/** Identifies the state of a file and its versions without reading them. */
export async function fingerprintOf(root: StaticRoot, name: string): Promise<string> {
  const names = [name, ...root.precompressed.map((coding) => name + PRECOMPRESSED[coding])]
  const realRoot = await realRootOf(root)
  const marks = await Promise.all(names.map((one) => markOf(root, realRoot, one)))
  return marks.join(' ')
}

/**
 * The mark contains the real path, because a name may lead elsewhere later. The time of the inode's change reveals a change even if the
 * time of the content was set back.
 */
async function markOf(root: StaticRoot, realRoot: string | null, name: string): Promise<string> {
  const place = await placeOf(root, realRoot, name)
  // `lstat`, because the real path is not a link, unless one has been put there since.
  const stats = place === null || place === 403 ? null : await unlessAbsent(lstat(place, { bigint: true }))
  return stats === null || stats === 403 ? String(place) : markOfStats(place as string, stats)
}

/** Identifies a file. */
export function inodeOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`
}

function markOfStats(place: string, { dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [place, dev, ino, size, mtimeNs, ctimeNs].join(':')
}

/** Resolved each time: the root may be a link that a deployment points to another directory. Null if it does not exist. */
async function realRootOf({ path }: StaticRoot): Promise<string | null> {
  const place = await unlessAbsent(realpath(path))
  return place === 403 ? null : place
}

/** The real path; null if there is none, or if it is outside the root; 403 if it may not be resolved. */
async function placeOf({ path, followSymlinks }: StaticRoot, realRoot: string | null, name: string): Promise<string | 403 | null> {
  const place = await unlessAbsent(realpath(join(path, name)))
  if (place === null || place === 403 || followSymlinks) return place
  if (realRoot === null) return null
  return place === realRoot || place.startsWith(realRoot.endsWith(sep) ? realRoot : realRoot + sep) ? place : null
}

async function isDirectory(path: string): Promise<boolean> {
  const stats = await unlessAbsent(stat(path))
  return stats !== null && stats !== 403 && stats.isDirectory()
}

async function read(root: StaticRoot, path: string, coding: PrecompressedEncoding | null): Promise<FormOnDisk | 403 | null> {
  const file = await DiskFile.open(path)
  if (file === 403) return 403
  if (file === 404) return null
  const mark = markOfStats(path, file.stats)
  const inode = inodeOf(file.stats)
  try {
    const { size, settledAt } = file
    const bytes = size > root.maxFileSize ? null : await file.read()
    return { coding, path, inode, size, settledAt, mark, inMemory: bytes === null ? null : (facts) => file.inMemory(bytes, facts) }
  } finally {
    await file.close()
  }
}

async function unlessAbsent<T>(asked: Promise<T>): Promise<T | 403 | null> {
  try {
    return await asked
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (ABSENT.has(code)) return null
    if (FORBIDDEN.has(code)) return 403
    throw error
  }
}
