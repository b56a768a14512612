// What docs/guide/command-line.md shows is what the command prints about the program of the page.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

import { squeezed } from '../../../../test/programs.ts'
import { programFolder, runWeir } from '../support/command.ts'

const PAGE = readFileSync('docs/guide/command-line.md', 'utf8')
const [, PROGRAM] = /^```ts \[main\.ts\]\n([\s\S]*?)^```$/m.exec(PAGE)!
const SHOWN = [...PAGE.matchAll(/^```console\n\$ npx @weirjs\/dev (.*)\n([\s\S]*?)^```$/gm)]

test('commands are shown', () => assert.equal(SHOWN.length, 2))

for (const [, command, printed] of SHOWN)
  test(command!, (t) => {
    const folder = programFolder(t, { 'main.js': PROGRAM! }) // it has no types
    const args = [...command!.replace('main.ts', 'main.js').matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)
    const { code, out, err } = runWeir(folder, ...args)
    assert.deepEqual({ code, out: squeezed(out), err }, { code: 0, out: squeezed(printed!), err: '' })
  })
