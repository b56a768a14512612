import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { complete, givenBy, packageNameOf, TEMPLATES, UsageError } from '../src/answers.ts'
import { createProgram } from '../src/create.ts'

const HOME = join(import.meta.dirname, '../../../../packages/create-weirjs')

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'create-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Answers the questions in turn. */
function person(...lines: readonly string[]) {
  const left = [...lines]
  const asked: string[] = []
  const ask = (question: string): Promise<string> => {
    asked.push(question)
    return Promise.resolve(left.shift() ?? '')
  }
  return { asked, ask }
}

test('what is given is not asked', async () => {
  const all = givenBy(['my-tool', '--template', 'local', '--no-install', '--no-git'])!
  const silent = person()
  assert.deepEqual(await complete(all, silent.ask), { folder: 'my-tool', template: 'local', install: false, git: false })
  assert.deepEqual(silent.asked, [])
  const wanted = givenBy(['my-tool', '-t', 'api', '--install', '--git'])!
  assert.deepEqual(await complete(wanted, silent.ask), { folder: 'my-tool', template: 'api', install: true, git: true })
  assert.deepEqual(silent.asked, [])
  const yes = person()
  assert.deepEqual(await complete(givenBy(['--yes'])!, yes.ask), { folder: 'weir-app', template: 'api', install: true, git: true })
  assert.deepEqual(yes.asked, [])
})

test('what is missing is asked, until the template is one', async () => {
  const { ask, asked } = person('shop', 'nest', 'App', '', 'n')
  assert.deepEqual(await complete(givenBy([])!, ask), { folder: 'shop', template: 'app', install: true, git: false })
  assert.equal(asked.length, 5)
})

test('a command line that makes no sense says why', () => {
  for (const [args, why] of [
    [['a', 'b'], /one folder, not 2/],
    [['--template', 'nest'], /no template "nest": api, app, local/],
    [['--tempalte', 'api'], /--tempalte/],
    [['--git', '--no-git'], /--git and --no-git exclude each other/],
    [['...'], /no name for a package/],
  ] as const)
    assert.throws(
      () => givenBy(args),
      (error) => error instanceof UsageError && why.test(error.message),
    )
  assert.equal(givenBy(['--help']), null)
})

test('names of packages', () => {
  assert.equal(packageNameOf('/home/ann/My Tool/'), 'my-tool')
  assert.equal(packageNameOf('C:\\tools\\Ärger_2'), 'rger-2')
})

test('a folder with files is left alone', (t) => {
  const path = folder(t)
  writeFileSync(join(path, 'notes.txt'), 'mine')
  assert.throws(() => createProgram(path, 'api', join(HOME, 'templates'), '1.2.3'), UsageError)
  assert.deepEqual(readdirSync(path), ['notes.txt'])
})

for (const template of TEMPLATES)
  test(`${template}: no placeholder is left, and hidden files have their names`, (t) => {
    const path = join(folder(t), 'my-program')
    mkdirSync(join(path, '.git'), { recursive: true }) // may be there already
    createProgram(path, template, join(HOME, 'templates'), '1.2.3')
    const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    for (const { parentPath, name } of files) assert.doesNotMatch(readFileSync(join(parentPath, name), 'utf8'), /\{\{/, name)
    const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as { name: string; dependencies: Record<string, string> }
    assert.equal(manifest.name, 'my-program')
    assert.equal(manifest.dependencies['weirjs'], '1.2.3')
    assert.ok(files.some(({ name }) => name === '.gitignore'))
    assert.ok(files.some(({ name }) => name === 'AGENTS.md'))
  })
