// Measures a folder: how much of the disk everything below it takes. What is known can be seen while it works.

import { createHash } from 'node:crypto'
import { lstat, readdir } from 'node:fs/promises'
import { join, sep } from 'node:path'

/** How many folders are read at the same time. */
const WORKERS = 8
/** How many files of a folder are kept by name, and how many entries are shown of each. The rest is one sum. */
const MOST_FILES = 200
const MOST_SHOWN = [80, 16]

/** One tool for each folder: a second start for the same one reuses the first. */
export const toolName = (root) => `disk-usage-${createHash('sha256').update(root).digest('hex').slice(0, 12)}`

const newFolder = (name, parent) => ({ name, parent, size: 0, count: 0, folders: new Map(), files: [] })

export class Scan {
  /** Changes whenever there is something new to see. */
  version = 0
  state = 'ready'
  #root
  #top = newFolder('', null)
  #run = 0

  constructor(root) {
    this.#root = root
  }

  /** Begins again, and forgets what it knew. */
  async start() {
    const run = ++this.#run
    this.#top = newFolder('', null)
    this.state = 'scanning'
    this.version++
    const { dev } = await lstat(this.#root)
    const waiting = [{ path: this.#root, folder: this.#top }]
    let busy = 0
    await new Promise((resolve) => {
      const next = () => {
        if (run !== this.#run || (waiting.length === 0 && busy === 0)) return resolve()
        while (busy < WORKERS && waiting.length > 0) {
          busy++
          this.#read(waiting.pop(), dev, waiting, () => run === this.#run).finally(() => {
            busy--
            next()
          })
        }
      }
      next()
    })
    if (run !== this.#run) return
    this.state = 'done'
    this.version++
  }

  cancel() {
    if (this.state !== 'scanning') return
    this.#run++
    this.state = 'cancelled'
    this.version++
  }

  /** Links are not followed, and other disks are left out, so that nothing is counted twice and nothing leads out of the folder. */
  async #read({ path, folder }, dev, waiting, isCurrent) {
    const entries = await readdir(path, { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      if (!isCurrent()) return
      const found = entry.isFile() || entry.isDirectory() ? await lstat(join(path, entry.name)).catch(() => null) : null
      if (found === null || found.dev !== dev || !isCurrent()) continue
      const size = found.blocks === undefined ? found.size : found.blocks * 512
      if (found.isDirectory()) {
        const inner = newFolder(entry.name, folder)
        folder.folders.set(entry.name, inner)
        waiting.push({ path: join(path, entry.name), folder: inner })
      } else if (found.isFile()) this.#add(folder, entry.name, size)
    }
  }

  #add(folder, name, size) {
    folder.files.push({ name, size })
    if (folder.files.length > 2 * MOST_FILES) folder.files = folder.files.sort((a, b) => b.size - a.size).slice(0, MOST_FILES)
    for (let up = folder; up !== null; up = up.parent) {
      up.size += size
      up.count++
    }
    this.version++
  }

  /** A folder, as `a/b` from the top, with what is in it, two levels deep; null if there is no such folder. */
  view(path) {
    let folder = this.#top
    for (const name of path.split('/').filter((one) => one !== '')) {
      folder = folder.folders.get(name)
      if (folder === undefined) return null
    }
    return { root: this.#root.split(sep).at(-1) || this.#root, path, state: this.state, ...shown(folder, 0) }
  }
}

function shown({ size, count, folders, files }, depth) {
  const inner = [...folders.values()].map((one) => ({ name: one.name, isFolder: true, size: one.size, count: one.count, folder: one }))
  const all = [...inner, ...files.map((one) => ({ ...one, isFolder: false, count: 1 }))].sort((a, b) => b.size - a.size)
  const entries = all.slice(0, MOST_SHOWN[depth]).map(({ folder, ...entry }) => ({
    ...entry,
    ...(folder !== undefined && depth === 0 ? { entries: shown(folder, 1).entries } : {}),
  }))
  return { size, count, rest: size - entries.reduce((sum, entry) => sum + entry.size, 0), entries }
}
