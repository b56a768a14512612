// The packages of the workspace, those first on which the others build.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'

/** The names of the folders in packages/. */
export function packageNames() {
  const names = readdirSync('packages').filter((name) => existsSync(`packages/${name}/package.json`))
  return names.sort((a, b) => Number(b === 'weirjs') - Number(a === 'weirjs') || (a < b ? -1 : 1))
}

export function manifestOf(name) {
  return JSON.parse(readFileSync(`packages/${name}/package.json`, 'utf8'))
}

/**
 * Makes the packages that tsc has compiled into `root` find each other by their names, as they find each other once they are built and
 * installed: by links in the folder `modules`.
 */
export function linkCompiled(root = 'build', modules = `${root}/packages/node_modules`) {
  for (const name of packageNames()) {
    const folder = `${root}/packages/${name}`
    if (!existsSync(folder)) continue
    const { name: packageName, version, exports } = manifestOf(name)
    const entries = Object.entries(exports).filter(([, entry]) => typeof entry === 'object')
    const compiled = Object.fromEntries(entries.map(([path, entry]) => [path, entry.default.replace('./dist/', './src/')]))
    writeFileSync(`${folder}/package.json`, JSON.stringify({ name: packageName, version, type: 'module', exports: compiled }))
    const link = `${modules}/${packageName}`
    mkdirSync(dirname(link), { recursive: true })
    rmSync(link, { force: true, recursive: true })
    symlinkSync(relative(dirname(link), folder), link, 'junction')
  }
}

if (process.argv[1] === import.meta.filename) linkCompiled(...process.argv.slice(2))
