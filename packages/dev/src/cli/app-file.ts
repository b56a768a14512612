// The file of a program: whether it exists, whether this Node can run it, and whether it uses the same copy of weirjs.

import { existsSync, realpathSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, resolve } from 'node:path'

import { serverFolder } from './package-folder.ts'

export class AppFileError extends Error {}

const TYPESCRIPT = /\.[cm]?ts$/
/** Options of Node that may install a compiler for TypeScript. */
const LOADERS = /--(?:import|require|loader|experimental-loader|experimental-strip-types|experimental-transform-types)\b|(?:^|\s)-r\b/

/** @returns its absolute path @throws AppFileError */
export function appFileOf(given: string): string {
  const file = resolve(given)
  if (!existsSync(file) || !statSync(file).isFile()) throw new AppFileError(`there is no file ${given}`)
  if (TYPESCRIPT.test(file) && !runsTypeScript())
    throw new AppFileError(
      `Node ${process.versions.node} does not run TypeScript: use Node 22.18 or newer, compile ${given} first, or name a loader in NODE_OPTIONS`,
    )
  checkCopy(file)
  return file
}

function runsTypeScript(): boolean {
  const { typescript } = process.features as { readonly typescript?: string | false }
  return Boolean(typescript) || LOADERS.test(process.env['NODE_OPTIONS'] ?? '')
}

/** Another copy of weirjs does not know this command: its servers would listen. */
function checkCopy(file: string): void {
  let used: string
  try {
    used = dirname(createRequire(file).resolve('weirjs/package.json'))
  } catch {
    return // the file does not import it by this name
  }
  const own = serverFolder()
  if (realpathSync(used) !== own)
    throw new AppFileError(`the program uses the copy of weirjs in ${used}, and this command that in ${own}: install @weirjs/dev beside it`)
}
