// Keeps files in memory for as long as they match those on the disk. They are checked again after a while, and dropped when others need the
// room.
//
// Files are checked by `stat`, because `fs.watch` misses changes on network and container file systems, and the number of watches is
// limited. A check costs a request a tenth of a millisecond, and happens at most once a second for each file. The request that triggers it
// gets the result.

import type { StaticFile } from './file.ts'

/** What an entry takes in addition to the file's bytes: names, times, the objects themselves. */
const ENTRY_BYTES = 1_024

interface Entry {
  readonly file: StaticFile
  readonly bytes: number
  /** Measured by `performance.now()`. */
  checkedAt: number
}

export class StaticCache {
  readonly #maxBytes: number
  readonly #checkInterval: number
  /** Sorted by the time of the last check, the oldest first. */
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  /**
   * @param maxBytes for all files together, including `ENTRY_BYTES` for each
   * @param checkInterval in milliseconds
   */
  constructor(maxBytes: number, checkInterval: number) {
    this.#maxBytes = maxBytes
    this.#checkInterval = checkInterval
  }

  /** Returns the file if it does not have to be checked. */
  peek(name: string): StaticFile | null {
    const entry = this.#entries.get(name)
    return entry !== undefined && performance.now() - entry.checkedAt < this.#checkInterval ? entry.file : null
  }

  /** Returns the file if `fingerprintOf` returns the same fingerprint as before. */
  async check(name: string, fingerprintOf: () => Promise<string>): Promise<StaticFile | null> {
    const entry = this.#entries.get(name)
    if (entry === undefined) return null
    const now = performance.now()
    const isSame = (await fingerprintOf()) === entry.file.fingerprint
    if (this.#entries.get(name) !== entry) return null
    this.#entries.delete(name)
    if (!isSame) {
      this.#bytes -= entry.bytes
      return null
    }
    entry.checkedAt = now
    this.#entries.set(name, entry)
    return entry.file
  }

  /** Keeps a file that was just read, unless it is too large or was changed so recently that a second change might go unnoticed. */
  keep(name: string, file: StaticFile): void {
    const now = Date.now()
    let bytes = ENTRY_BYTES
    for (const variant of file.variants) {
      if (now < variant.settledAt) return
      if (variant.memory !== null) bytes += variant.size
    }
    const old = this.#entries.get(name)
    if (old !== undefined) {
      this.#entries.delete(name)
      this.#bytes -= old.bytes
    }
    if (bytes > this.#maxBytes) return
    this.#entries.set(name, { file, bytes, checkedAt: performance.now() })
    this.#bytes += bytes
    for (const [first, entry] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) break
      this.#entries.delete(first)
      this.#bytes -= entry.bytes
    }
  }
}
