// Finds Bun's executable. The install script of the package `bun` puts it in the package's own `bin`, but npm may not allow the script to
// run. The package for the platform always has it.
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const modules = fileURLToPath(new URL('node_modules/', import.meta.url))

function runs(path) {
  try {
    return /^\d+\.\d+\.\d+/.test(execFileSync(path, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
  } catch {
    return false
  }
}

function platformPackages() {
  try {
    return readdirSync(`${modules}@oven`).map((name) => `${modules}@oven/${name}/bin/bun`)
  } catch {
    return []
  }
}

const path = [`${modules}bun/bin/bun.exe`, ...platformPackages()].find(runs)

/** What a server module needs from it: `runtime`, and `missing` if there is none. */
export const runtime = path
export const missing = path === undefined ? 'the npm package bun has no executable that runs here' : undefined
