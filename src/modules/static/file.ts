// One file below a root, as it is on the disk: where it really lies, its precompressed forms beside it, and its bytes if they are few.

import type { BigIntStats } from 'node:fs'
import { lstat, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'

import { openFile, typeOf } from '../../http/files/file.ts'
import { FileSource } from '../../http/files/file-source.ts'
import { MemoryFile } from '../../http/files/memory-file.ts'
import type { FileState } from '../../http/files/representation.ts'

/** Codings of the files that may lie beside another one, and how their names end. */
export const PRECOMPRESSED = { br: '.br', gzip: '.gz' } as const

export type PrecompressedEncoding = keyof typeof PRECOMPRESSED

/** One form of a file. */
export interface StaticVariant {
  readonly coding: PrecompressedEncoding | null
  /** Where it really lies. */
  readonly path: string
  /** Which file that is, whatever its content. */
  readonly inode: string
  readonly state: FileState
  /** Null for what is too large to be kept. */
  readonly memory: MemoryFile | null
}

/** A file and its forms, the plain one first. */
export interface StaticFile {
  /** Its path below the root, with slashes. */
  readonly name: string
  readonly contentType: string
  readonly cacheControl: string | null
  /** Other fields, names and values in turn. */
  readonly fields: readonly string[]
  readonly variants: readonly [StaticVariant, ...StaticVariant[]]
  /** Changes when one of the files does, or goes, or another form comes. */
  readonly fingerprint: string
}

export interface StaticRoot {
  readonly path: string
  readonly followSymlinks: boolean
  readonly precompressed: readonly PrecompressedEncoding[]
  /** Larger files are not read. */
  readonly maxFileBytes: number
  /** By the path below the root; null: none. */
  cacheControlOf(name: string): string | null
  /** The same for other fields; a Content-Type stands for the one that the name would give. */
  headersOf(name: string): Readonly<Record<string, string>>
}

/** What was read of one form. */
interface Form extends Omit<StaticVariant, 'memory'> {
  /** Which file was opened. */
  readonly mark: string
  /** Null for what is too large to be kept. */
  readonly bytes: Uint8Array | null
}

/** What the file system says when there is nothing of that name. */
const ABSENT: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'ERR_INVALID_ARG_VALUE'])
const FORBIDDEN: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM'])
/** So often a file is read again that changes while it is. */
const MOST_ATTEMPTS = 3

/**
 * The file called `name` (with slashes) below the root. Where it lies is asked first and that place is opened: a link on the way leads
 * nowhere outside, unless the program allows it, also when the name is turned to one meanwhile. Somebody who may swap directories below the
 * root at that very moment is not held off.
 *
 * @returns 'directory'; null when there is nothing to serve; 403 for what may not be read
 */
export async function loadStaticFile(root: StaticRoot, name: string): Promise<StaticFile | 'directory' | 403 | null> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const found = await loadOnce(root, name)
    if (found !== 'changed') return found
  }
  return null
}

/** @returns 'changed' when what was opened is not what was found: names were turned elsewhere meanwhile, and it may be anybody's */
async function loadOnce(root: StaticRoot, name: string): Promise<StaticFile | 'directory' | 403 | 'changed' | null> {
  // Taken before anything is read: what changes meanwhile has another one at the next look.
  const fingerprint = await fingerprintOf(root, name)
  const realRoot = await realRootOf(root)
  const place = await placeOf(root, realRoot, name)
  if (place === null || place === 403) return place
  const plain = await read(root, place, null)
  if (plain === 403) return 403
  if (plain !== null && !fingerprint.includes(plain.mark)) return 'changed'
  if (plain === null) return (await isDirectory(place)) ? 'directory' : null
  const forms: Form[] = []
  for (const coding of root.precompressed) {
    const itsPlace = await placeOf(root, realRoot, name + PRECOMPRESSED[coding])
    const form = itsPlace === null || itsPlace === 403 ? null : await read(root, itsPlace, coding)
    if (form === null || form === 403) continue
    if (!fingerprint.includes(form.mark)) return 'changed'
    forms.push(form)
  }
  const headers = Object.entries(root.headersOf(name))
  const isType = ([field]: readonly [string, string]): boolean => /^content-type$/i.test(field)
  const contentType = headers.find(isType)?.[1] ?? (await typeOf(name))
  const fields = headers.filter((header) => !isType(header)).flat()
  const cacheControl = root.cacheControlOf(name)
  const prepare = ({ coding, path, inode, state, bytes }: Form): StaticVariant => {
    const facts = { contentType, cacheControl, coding, variesByEncoding: forms.length > 0, fields }
    return { coding, path, inode, state, memory: bytes === null ? null : new MemoryFile(bytes, state, facts) }
  }
  return { name, contentType, cacheControl, fields, variants: [prepare(plain), ...forms.map(prepare)], fingerprint }
}

/** What tells one state of a file and its forms from another, without reading any. */
export async function fingerprintOf(root: StaticRoot, name: string): Promise<string> {
  const names = [name, ...root.precompressed.map((coding) => name + PRECOMPRESSED[coding])]
  const realRoot = await realRootOf(root)
  const marks = await Promise.all(names.map((one) => markOf(root, realRoot, one)))
  return marks.join(' ')
}

/** Where it lies is part of it: a name may be turned elsewhere. The time of a change of the inode shows also where that of the content was set back. */
async function markOf(root: StaticRoot, realRoot: string | null, name: string): Promise<string> {
  const place = await placeOf(root, realRoot, name)
  // Not what a link leads to: where it really lies there is none, unless one has come since.
  const stats = place === null || place === 403 ? null : await unlessAbsent(lstat(place, { bigint: true }))
  return stats === null || stats === 403 ? String(place) : markOfStats(place as string, stats)
}

/** Tells one file from another. */
export function inodeOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`
}

function markOfStats(place: string, { dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [place, dev, ino, size, mtimeNs, ctimeNs].join(':')
}

/** Asked each time: the root may be a link too, that a deployment turns to another directory. Null where it is not there. */
async function realRootOf({ path }: StaticRoot): Promise<string | null> {
  const place = await unlessAbsent(realpath(path))
  return place === 403 ? null : place
}

/** Where it really lies; null when it lies nowhere, or outside of the root; 403 where nobody may look. */
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

async function read(root: StaticRoot, path: string, coding: PrecompressedEncoding | null): Promise<Form | 403 | null> {
  const found = await openFile(path)
  if (found === 403) return 403
  if (found === 404) return null
  const { file, stats, state } = found
  const mark = markOfStats(path, stats)
  const inode = inodeOf(stats)
  try {
    if (state.size > root.maxFileBytes) return { coding, path, inode, state, mark, bytes: null }
    const bytes = await new FileSource(file, [{ start: 0, end: state.size - 1 }]).collect()
    return { coding, path, inode, state, mark, bytes }
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
