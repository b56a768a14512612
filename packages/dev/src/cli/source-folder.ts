// The folder that `weir dev` watches, and what it keeps there.

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The folder of the nearest package.json around the file; without one, the folder of the file. */
export function sourceFolder(file: string): string {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder
    if (folder === dirname(folder)) return dirname(file)
  }
}

/**
 * Where Node keeps the compiled code of a program; null if the sources have no `node_modules`. Node's own choice is in the folder for
 * temporary files, where another user of the machine could put code.
 */
export function compileCacheIn(root: string): string | null {
  const modules = join(root, 'node_modules')
  return existsSync(modules) ? join(modules, '.cache', 'weir') : null
}
