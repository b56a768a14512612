// Watches the source files of a program, folder by folder: `node_modules`, and folders whose name begins with a dot, are left out.

import { type FSWatcher, readdirSync, type Stats, statSync, watch } from 'node:fs'
import { basename, dirname, extname, join, relative } from 'node:path'

/** The files of pages: browsers load them again, and the program keeps running. */
const PAGE_EXTENSIONS: ReadonlySet<string> = new Set(['.css', '.htm', '.html'])
/** The files that restart a program. */
const EXTENSIONS: ReadonlySet<string> = new Set(['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts'])
/** Systems limit how many folders one user may watch. */
const MOST_FOLDERS = 2_000
/** A change is complete when nothing else has changed for this long: editors and compilers write several files. */
const QUIET_MS = 30

export class SourceWatch {
  readonly #root: string
  readonly #watchers = new Map<string, FSWatcher>()
  /** Time and size of files when they last changed. */
  readonly #stamps = new Map<string, string>()
  readonly #startedAt = Date.now()
  #changed: string | null = null
  #timer: NodeJS.Timeout | undefined
  #onChange: ((file: string) => void) | null = null

  /** Called when a file of a page has changed. */
  onPage: (file: string) => void = () => {}

  /**
   * @param root folder of the sources
   * @param extra more files and folders that restart the program, whatever their extension
   * @param awaited a file that restarts the program, too, and that need not exist yet
   * @throws the system's error for an extra file that does not exist
   */
  constructor(root: string, extra: readonly string[], awaited: string) {
    this.#root = root
    this.#addFolder(root, 0, (file) => isSource(basename(file)) && EXTENSIONS.has(extname(file)))
    for (const [i, path] of extra.entries()) {
      if (statSync(path).isDirectory()) this.#addFolder(path, i + 1, (file) => isSource(basename(file)))
      else this.#addOne(dirname(path), i + 1, (file) => basename(file) === basename(path))
    }
    this.#addOne(dirname(awaited), extra.length + 1, (file) => file === awaited)
  }

  /** Whether there are more folders than are watched. */
  get isIncomplete(): boolean {
    return this.#watchers.size >= MOST_FOLDERS
  }

  /** Resolves with the name of a file that has changed since the last call of `forget`. */
  next(): Promise<string> {
    return new Promise((resolve) => {
      this.#onChange = resolve
      if (this.#changed !== null && this.#timer === undefined) this.#tell()
    })
  }

  /** Ignores all changes until now. */
  forget(): void {
    this.#changed = null
    this.#onChange = null
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  close(): void {
    this.forget()
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #addFolder(folder: string, group: number, counts: (file: string) => boolean): void {
    if (!this.#addOne(folder, group, counts)) return
    for (const entry of entriesOf(folder))
      if (entry.isDirectory() && isSource(entry.name)) this.#addFolder(join(folder, entry.name), group, counts)
  }

  /** @param group the sources, or one of the extra paths @returns whether it is watched now, and was not before */
  #addOne(folder: string, group: number, counts: (file: string) => boolean): boolean {
    const key = `${group} ${folder}`
    if (this.#watchers.has(key) || this.isIncomplete) return false
    try {
      const watcher = watch(folder, (event, name) => {
        if (name !== null) this.#note(event, join(folder, name), group, counts)
      })
      watcher.on('error', () => this.#drop(key)) // the folder is gone
      this.#watchers.set(key, watcher)
      return true
    } catch {
      return false
    }
  }

  #drop(key: string): void {
    this.#watchers.get(key)?.close()
    this.#watchers.delete(key)
  }

  #note(event: string, path: string, group: number, counts: (file: string) => boolean): void {
    const stats = statOf(path)
    if (stats?.isDirectory() === true) {
      if (event === 'rename' && isSource(basename(path))) this.#addFolder(path, group, counts)
      return
    }
    const isPage = group === 0 && isSource(basename(path)) && PAGE_EXTENSIONS.has(extname(path))
    if (!(isPage || counts(path)) || !this.#hasChanged(event, path, stats)) return
    if (isPage) {
      this.onPage(relative(this.#root, path))
      return
    }
    this.#changed = relative(this.#root, path)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#tell(), QUIET_MS)
  }

  /** A change of permissions or of the time of access is reported too. */
  #hasChanged(event: string, path: string, stats: Stats | null): boolean {
    const stamp = stats === null ? 'gone' : `${stats.mtimeMs} ${stats.size}`
    const before = this.#stamps.get(path)
    this.#stamps.set(path, stamp)
    if (before !== undefined) return before !== stamp
    return event === 'rename' || stats === null || stats.mtimeMs >= this.#startedAt
  }

  #tell(): void {
    this.#timer = undefined
    const changed = this.#changed
    if (changed === null || this.#onChange === null) return
    const onChange = this.#onChange
    this.forget()
    onChange(changed)
  }
}

function isSource(name: string): boolean {
  return name !== 'node_modules' && !name.startsWith('.')
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

function statOf(path: string): Stats | null {
  try {
    return statSync(path)
  } catch {
    return null
  }
}
