// The files of a directory, with those in memory that have been read.

import { ownText } from '../../base/own-text.ts'
import { StaticCache } from './cache.ts'
import { type Found, fingerprintOf, loadStaticFile, type Shelf, type StaticFile, type StaticRoot } from './file.ts'

export class DiskShelf implements Shelf {
  readonly #root: StaticRoot
  readonly #cache: StaticCache
  readonly #loading = new Map<string, Promise<Found>>()

  constructor(root: StaticRoot, maxCacheSize: number, checkInterval: number) {
    this.#root = root
    this.#cache = new StaticCache(maxCacheSize, checkInterval)
  }

  get title(): string {
    return this.#root.path
  }

  peek(name: string): StaticFile | null {
    return this.#cache.peek(name)
  }

  /** Reads the disk once for all requests that arrive at the same time. */
  find(name: string): Promise<Found> {
    let finding = this.#loading.get(name)
    if (finding === undefined) {
      finding = this.#checkOrLoad(ownText(name)).finally(() => this.#loading.delete(name))
      this.#loading.set(name, finding)
    }
    return finding
  }

  async #checkOrLoad(name: string): Promise<Found> {
    const kept = await this.#cache.check(name, () => fingerprintOf(this.#root, name))
    if (kept !== null) return kept
    const file = await loadStaticFile(this.#root, name)
    if (file !== null && typeof file === 'object') this.#cache.keep(name, file)
    return file
  }
}
