// The pictures of the documentation show what the programs show: scripts/pictures.mjs makes and compares them.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

import { noChromium } from '../../packages/weirjs/test/support/chromium.ts'

const noScript = spawnSync('script', ['--version']).status === 0 ? false : 'no script of util-linux on this machine'
const noExamples = existsSync('build/examples/demo/main.js') ? false : 'the examples are not compiled: npm run examples'

test('a script makes each picture, and each shows what its program shows now', { skip: noChromium || noScript || noExamples }, () => {
  const facts = Object.keys(JSON.parse(readFileSync('docs/images/pictures.json', 'utf8')) as object)
  const { stdout: diagrams } = spawnSync(process.execPath, ['scripts/diagrams.mjs', '--list'], { encoding: 'utf8' })
  const shown = readdirSync('docs/images').flatMap((name) => /^(.+)-light\.\w+$/.exec(name)?.[1] ?? [])
  assert.deepEqual([...facts, ...diagrams.trim().split('\n')].sort(), shown.sort())
  const { stdout, stderr, status } = spawnSync(process.execPath, ['scripts/pictures.mjs', '--check'], { encoding: 'utf8' })
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' })
})
