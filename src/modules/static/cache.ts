// Files that were read, for as long as they are what lies on the disk: looked at again after a while, dropped when others need the room.
//
// Looked at by `stat`, not by `fs.watch`: that misses changes on network and container file systems, and its watches are counted. A look
// costs a hit a tenth of a millisecond, and there is one a second at most for each file; what it finds is in the very answer that asked.

import { isSettled } from '../../http/files/representation.ts'

import type { StaticFile } from './file.ts'

/** What an entry takes beside its bytes: names, times, the objects themselves. */
const ENTRY_BYTES = 1_024

interface Entry {
  readonly file: StaticFile
  readonly bytes: number
  /** By `performance.now()`. */
  checkedAt: number
}

export class StaticCache {
  readonly #maxBytes: number
  readonly #checkInterval: number
  /** The one that was looked at longest ago first. */
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  /**
   * @param maxBytes for all files together, `ENTRY_BYTES` for each included
   * @param checkInterval milliseconds
   */
  constructor(maxBytes: number, checkInterval: number) {
    this.#maxBytes = maxBytes
    this.#checkInterval = checkInterval
  }

  /** The file, if it need not be looked at. */
  peek(name: string): StaticFile | null {
    const entry = this.#entries.get(name)
    return entry !== undefined && performance.now() - entry.checkedAt < this.#checkInterval ? entry.file : null
  }

  /** The file, if nothing has changed: `fingerprintOf` is asked. */
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

  /** Keeps a file that was just read, unless it is too large, or has changed so lately that a second change might not show. */
  keep(name: string, file: StaticFile): void {
    const now = Date.now()
    let bytes = ENTRY_BYTES
    for (const variant of file.variants) {
      if (!isSettled(variant.state, now)) return
      if (variant.memory !== null) bytes += variant.state.size
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
