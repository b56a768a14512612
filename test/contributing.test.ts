// CONTRIBUTING.md is a map: it shows every room and every place for a test, and what it names exists.

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const page = readFileSync('CONTRIBUTING.md', 'utf8')

test('the pictures show every room of packages/weirjs/src/, and every floor of the large ones', () => {
  const [rooms, floors] = [...page.matchAll(/^```\n([\s\S]*?)^```$/gm)].map(([, picture]) => picture!)
  const missing = readdirSync('packages/weirjs/src', { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((name) => !rooms!.includes(name))
  for (const line of floors!.trim().split('\n')) {
    const [room, ...shown] = line.split(/[\s/]+/)
    const folders = readdirSync(`packages/weirjs/src/${room}`, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    missing.push(...folders.filter(({ name }) => !shown.includes(name)).map(({ name }) => `${room}/${name}`))
  }
  assert.deepEqual(missing, [])
})

test('the table shows every folder of tests', () => {
  const inside = new Set(['churn', 'fuzz', 'support']) // programs and helpers, which the page names elsewhere
  const foldersIn = (parent: string) =>
    readdirSync(parent, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() && !inside.has(entry.name) ? `${parent}/${entry.name}` : [],
    )
  const missing = [...foldersIn('test'), ...foldersIn('packages/weirjs/test')].filter((folder) => !page.includes(`\`${folder}/`))
  assert.deepEqual(missing, [])
})

test('files, folders and scripts that the page names exist', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
  const named = [...page.matchAll(/`((?:packages|test|docs|bench|decisions|scripts|\.ci)\/[\w./-]*)`/g)].map(([, path]) => path!)
  const run = [...page.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name!)
  assert.ok(named.length > 30 && run.length > 5, 'names were found')
  const isPattern = (path: string): boolean => path.includes('NAME')
  assert.deepEqual(
    named.filter((path) => !isPattern(path) && !existsSync(path)),
    [],
  )
  assert.deepEqual(
    run.filter((name) => !(name in scripts)),
    [],
  )
})
