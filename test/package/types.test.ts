// Checks the packed package, installed in an empty folder, with a user's compiler and with linters for packages.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import {
  COMPILERS,
  installCompiler,
  installPacked,
  pack,
  run,
  toolPath,
  withoutTool,
} from '../../packages/weirjs/test/support/packed-package.ts'
import { README_PROGRAMS } from '../../packages/weirjs/test/support/readme-programs.ts'
import { runReadmeProgram } from '../../packages/weirjs/test/support/readme-runs.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'

const { exports } = JSON.parse(readFileSync('packages/weirjs/package.json', 'utf8')) as { exports: Record<string, unknown> }
const entries = Object.keys(exports).filter((entry) => !entry.endsWith('.json'))
const decorated = README_PROGRAMS.find(({ files }) => files.has('tsconfig.json'))!

/** A program that imports every entry, so that the compiler reads everything that they declare. */
const EVERY_ENTRY = entries.map((entry, i) => `export * as entry${i} from 'weirjs${entry.slice(1)}'\n`).join('')

test('every entry type-checks without skipLibCheck, and README’s program with decorators runs', async (t) => {
  const folder = temporaryDirectory(t)
  installPacked(folder)
  for (const [name, text] of decorated.files) writeFileSync(join(folder, name), text)
  writeFileSync(join(folder, 'every-entry.ts'), EVERY_ENTRY)
  for (const compiler of COMPILERS) {
    const skip = !existsSync(compiler.folder) && 'not installed: npm ci --prefix test/package'
    await t.test(`with TypeScript ${compiler.version} and ${compiler.types}`, { skip }, async (t) => {
      installCompiler(folder, compiler)
      await runReadmeProgram(t, decorated, folder, process.execPath)
    })
  }
})

test('publint has no complaints', { skip: withoutTool('publint') }, (t) => {
  const tarball = pack(temporaryDirectory(t))
  run(process.execPath, [toolPath('publint/src/cli.js'), 'run', '--strict', tarball], '.')
})

test('attw finds the types of every entry', { skip: withoutTool('@arethetypeswrong/cli') }, (t) => {
  const tarball = pack(temporaryDirectory(t))
  run(process.execPath, [toolPath('@arethetypeswrong/cli/dist/index.js'), tarball, '--profile', 'esm-only'], '.')
})
