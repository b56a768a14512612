// Checks the packed package, installed in an empty folder, with a user's compiler and with linters for packages.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'

import {
  COMPILERS,
  installCompiler,
  installPacked,
  packAll,
  run,
  staged,
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

const linters = [
  { tool: 'publint', program: 'publint/src/cli.js', args: (tarball: string) => ['run', '--strict', tarball] },
  {
    tool: '@arethetypeswrong/cli',
    program: '@arethetypeswrong/cli/dist/index.js',
    args: (tarball: string) => [tarball, '--profile', 'esm-only'],
  },
]

describe('linters have no complaints about', () => {
  const names = readdirSync('packages')
  const tarballs = new Map<string, string>()
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'weir-test-'))
    const packed = packAll(
      names.map((name) => staged(name, folder)),
      folder,
    )
    for (const [i, name] of names.entries()) tarballs.set(name, packed[i]!)
  })
  after(() => rmSync(folder, { recursive: true }))

  for (const { tool, program, args } of linters)
    for (const name of names)
      test(`${name}: ${tool}`, { skip: withoutTool(tool) }, () => {
        run(process.execPath, [toolPath(program), ...args(tarballs.get(name)!)], '.')
      })
})
