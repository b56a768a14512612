// The public API is what api/ says, and does not grow past its budgets.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

/** The most names of an entry: 140 at the front door, and 45 in the kit. A budget may only become smaller. */
const BUDGETS: Readonly<Record<string, number>> = { weirjs: 140, 'weirjs/kit': 45 }
/**
 * The most names of all entries together. 500 are wanted; what programs would otherwise write by hand may cost a few. `@weirjs/rpc`,
 * `@weirjs/mcp` and `@weirjs/acme` have about 50 of them.
 */
const ALL = 668

const counts = new Map(
  readdirSync('api').map((file) => {
    const [, name, count] = /^(\S+): (\d+) names\n/.exec(readFileSync(`api/${file}`, 'utf8')) ?? assert.fail(`api/${file} is no report`)
    return [name!, Number(count)]
  }),
)

test('the reports of the public API agree with the declarations', () => {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['scripts/api.mjs'], { encoding: 'utf8' })
  assert.deepEqual(
    { stdout, stderr, status },
    { stdout: '', stderr: '', status: 0 },
    'if the change is meant: npm run build && node scripts/api.mjs --write',
  )
})

test('the reports name nothing that is internal: no file of the source, and no name of the bundler', () => {
  for (const file of readdirSync('api')) {
    const text = readFileSync(`api/${file}`, 'utf8')
    assert.doesNotMatch(text, /import\("\.|\w\$\d|_d_exports|of another package/, file)
  }
})

test('no entry has more names than its budget, and all of them together have not either', () => {
  const over = [...counts].filter(([name, count]) => count > (BUDGETS[name] ?? Number.POSITIVE_INFINITY))
  assert.deepEqual(over, [])
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0)
  assert.ok(all <= ALL, `${all} names, and the budget is ${ALL}`)
})
