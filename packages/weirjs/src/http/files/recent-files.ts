// The small files that `response.file` sent last, in memory. Before one of them is sent again, its state is compared with that of the file on the
// disk: one call of the system in place of four, and no bytes are copied.

import { type BigIntStats, stat } from 'node:fs'
import { LRUCache } from 'lru-cache'
import { ownText } from '../../base/own-text.ts'
import { type FileState, settledAt } from './representation.ts'

/** For all files together, and for the whole process. */
const MOST_BYTES = 8 * 1024 * 1024
/** What an entry takes in addition to its bytes and its path. */
const ENTRY_BYTES = 1_024

/** The whole content of a file, and its state when it was read. */
export interface RecentFile {
  readonly bytes: Uint8Array
  readonly stats: BigIntStats
  readonly state: FileState
}

const files = new LRUCache<string, RecentFile>({
  maxSize: MOST_BYTES,
  sizeCalculation: ({ bytes }, path) => ENTRY_BYTES + 2 * path.length + bytes.length,
})

/** The file, if it is in memory and has not changed on the disk. */
export function recentFile(path: string): RecentFile | null | Promise<RecentFile | null> {
  const file = files.get(path)
  if (file === undefined) return null
  return new Promise((resolve) => {
    stat(path, { bigint: true }, (error, stats) => {
      const isSame = error === null && stats.isFile() && isSameState(stats, file.stats)
      if (!isSame) files.delete(path)
      resolve(isSame ? file : null)
    })
  })
}

/** Keeps a file, unless it has changed so recently that another change might not show. @param bytes all of them, read after `stats` */
export function keepRecent(path: string, bytes: Uint8Array, { stats, state }: Omit<RecentFile, 'bytes'>): void {
  if (Date.now() >= settledAt(state)) files.set(ownText(path), { bytes, stats, state })
}

/** The change time of the inode also reveals that a program set the modification time back, or changed who may read the file. */
function isSameState(one: BigIntStats, other: BigIntStats): boolean {
  return (
    one.ino === other.ino &&
    one.dev === other.dev &&
    one.size === other.size &&
    one.mtimeNs === other.mtimeNs &&
    one.ctimeNs === other.ctimeNs
  )
}
