// How many functions one GET on a warm server calls, and of how many files. A function that every request calls is paid by every request, so a
// higher number needs a reason, which belongs into docs/architecture.md ("What a request calls") together with the number.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const MOST: Readonly<Record<string, { functions: number; files: number }>> = {
  'HTTP/1.1': { functions: 110, files: 39 },
  'HTTP/2': { functions: 160, files: 54 },
}

test('a warm GET calls no more functions than docs/architecture.md says', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['scripts/house.mjs'])
  for (const [protocol, most] of Object.entries(MOST)) {
    const found = new RegExp(`^one warm GET over ${protocol}: (\\d+) functions of (\\d+) files`, 'm').exec(stdout)
    assert.ok(found !== null, stdout)
    const [, functions, files] = found.map(Number)
    assert.ok(functions! > most.functions / 2, 'the calls are counted')
    assert.ok(functions! <= most.functions && files! <= most.files, `${found[0]}, and ${JSON.stringify(most)} are allowed`)
  }
})
