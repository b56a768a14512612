// All declarations of the package are correct in themselves: without skipLibCheck, the compiler checks each of them.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'

for (const lib of [['es2022'], ['es2022', 'dom']]) {
  test(`every declaration in the packages type-checks with lib ${lib.join(' and ')}`, (t) => {
    const folder = temporaryDirectory(t)
    const compilerOptions = {
      ...{ target: 'es2022', module: 'nodenext', strict: true, exactOptionalPropertyTypes: true, noEmit: true, lib },
      ...{ types: ['node'], typeRoots: [resolve('node_modules/@types')] },
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: [resolve('packages/*/dist/**/*.d.ts')] }))
    const { stdout, stderr } = spawnSync('node_modules/.bin/tsc', ['-p', folder], { encoding: 'utf8' })
    assert.equal(stdout + stderr, '')
  })
}
