// The first programs of README.md and of the guide: each is saved, started and called as the page describes, with the packed package in an empty folder.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import {
  COMPILERS,
  installCompiler,
  installPacked,
  nodeForTypeScript,
  userEnvironment,
} from '../../packages/weirjs/test/support/packed-package.ts'
import {
  FIRST_CALLS,
  FIRST_COMMANDS,
  FIRST_PROGRAM,
  README_CALLS,
  README_PROGRAMS,
} from '../../packages/weirjs/test/support/readme-programs.ts'
import { runInShell, runReadmeProgram } from '../../packages/weirjs/test/support/readme-runs.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'

const skip = process.platform === 'win32' && 'the commands are for a Unix shell'

test('the page has three programs, and calls with what they print', () => {
  const seen = README_PROGRAMS.map(({ title, files, commands }) => [title, [...files.keys()], commands])
  assert.deepEqual(seen, [
    ['JavaScript', ['main.js'], ['node main.js']],
    ['TypeScript without a compiler', ['main.ts'], ['node main.ts']],
    ['TypeScript with decorators', ['tsconfig.json', 'main.ts'], ['npx tsc', 'node main.js']],
  ])
  assert.equal(README_CALLS.length, 3)
})

test('README.md has at most 120 lines', () => {
  assert.ok(readFileSync('README.md', 'utf8').split('\n').length <= 121)
})

test('the program of README.md works as printed, and refuses as printed', { skip }, async (t) => {
  assert.deepEqual([[...FIRST_PROGRAM.files.keys()], FIRST_PROGRAM.commands, FIRST_CALLS.length], [['main.js'], ['node main.js'], 2])
  const folder = temporaryDirectory(t)
  installPacked(folder)
  for (const [name, text] of FIRST_PROGRAM.files) writeFileSync(join(folder, name), text)
  await runReadmeProgram(t, FIRST_PROGRAM, folder, process.execPath, FIRST_CALLS)
})

test('the command prints of it what README.md shows', { skip }, (t) => {
  assert.equal(FIRST_COMMANDS.length, 1)
  const folder = temporaryDirectory(t)
  installPacked(folder, 'dev')
  for (const [name, text] of FIRST_PROGRAM.files) writeFileSync(join(folder, name), text)
  for (const { command, prints } of FIRST_COMMANDS) assert.equal(runInShell(command, folder, userEnvironment()), prints)
})

for (const program of README_PROGRAMS) {
  test(`${program.title}: works as printed`, { skip }, async (t) => {
    const runsTypeScript = program.commands.includes('node main.ts')
    const node = runsTypeScript ? nodeForTypeScript() : process.execPath
    if (node === null) return t.skip('needs Node 22.18, or that of npm ci --prefix test/package')
    const folder = temporaryDirectory(t)
    installPacked(folder)
    if (program.files.has('tsconfig.json')) installCompiler(folder, COMPILERS[0]!)
    for (const [name, text] of program.files) writeFileSync(join(folder, name), text)
    await runReadmeProgram(t, program, folder, node)
  })
}
