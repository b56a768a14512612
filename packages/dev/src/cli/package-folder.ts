// The folders of packages, as they are installed.

import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of this command's package. */
export function ownFolder(): string {
  return folderAround(import.meta.url)
}

/** The folder of the copy of `weirjs` that this command uses. */
export function serverFolder(): string {
  return folderAround(import.meta.resolve('weirjs'))
}

function folderAround(url: string): string {
  let folder = dirname(fileURLToPath(url))
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  return realpathSync(folder)
}
