// Where Bun's executable is. The package `bun` puts it in its own `bin` when its install script runs, which npm may not allow; the
// package of the platform has it either way.
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

/** What a server module needs of it: `runtime`, and `missing` where there is none. */
export const runtime = path
export const missing = path === undefined ? 'the npm package bun has no executable that runs here' : undefined
