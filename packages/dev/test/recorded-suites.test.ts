// The suites of packages/weirjs/test/body that start servers, recorded and replayed: no differences. Those of uploads to disk are left out: their files are
// there, or gone, the second time. So is that of memory: its responses state how much memory was in use.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import type { RecordReport, ReplayReport } from '../src/index.ts'

const PRELOAD = new URL('./support/recorded-servers.js', import.meta.url).href
const SUITES = ['declared-forms', 'lifetime', 'multipart-stream', 'refused-types']

for (const suite of SUITES)
  test(`packages/weirjs/test/body/${suite}`, (t) => {
    const report = join(temporaryDirectory(t), 'report')
    const file = fileURLToPath(new URL(`../../weirjs/test/body/${suite}.test.js`, import.meta.url))
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const { status, stdout } = spawnSync(process.execPath, ['--import', PRELOAD, file], {
      env: { ...env, RECORDED_TO: report },
      encoding: 'utf8',
    })
    assert.equal(status, 0, stdout)
    const servers = readFileSync(report, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as RecordReport & ReplayReport)
    assert.deepEqual(
      servers.flatMap(({ differences }) => differences),
      [],
    )
    const total = servers.reduce((sum, { exchanges }) => sum + exchanges, 0)
    assert.ok(total > 0)
    t.diagnostic(`${total} exchanges`)
  })
