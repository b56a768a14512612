// How a release is published: what `npm run pack` makes is what the workflow and the last lines of `npm run release` give to npm.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'

import { temporaryDirectory } from '../packages/weirjs/test/support/temporary.ts'

const workflow = readFileSync('.github/workflows/release.yml', 'utf8')
const SOURCES = { workflow, script: readFileSync('scripts/release.mjs', 'utf8') }

/** The names of the tarballs, as npm makes them from the names of the packages. */
function tarballs(): string[] {
  return readdirSync('packages').map((folder) => {
    const { name, version } = JSON.parse(readFileSync(`packages/${folder}/package.json`, 'utf8')) as { name: string; version: string }
    return `${name.replace('@', '').replace('/', '-')}-${version}.tgz`
  })
}

for (const [name, text] of Object.entries(SOURCES)) {
  const patterns = /for file in (.+?);/.exec(text)?.[1]?.split(' ') ?? []

  test(`the ${name} publishes each tarball once, and weirjs first`, { skip: process.platform === 'win32' }, (t) => {
    const folder = temporaryDirectory(t)
    mkdirSync(`${folder}/packed`)
    for (const file of [...tarballs(), 'SHA256SUMS']) writeFileSync(`${folder}/packed/${file}`, '')
    const { stdout } = spawnSync('bash', ['-c', `printf '%s\\n' ${patterns.join(' ')}`], { cwd: folder, encoding: 'utf8' })
    const published = stdout.trim().split('\n')
    assert.match(published[0]!, /^\.\/packed\/weirjs-\d/)
    assert.deepEqual(
      published.toSorted(),
      tarballs()
        .map((file) => `./packed/${file}`)
        .sort(),
    )
  })

  // npm takes `packed/x.tgz` for the repository x.tgz of a user named packed.
  test(`paths of the ${name} begin with ./, so that npm takes them for files`, () => {
    assert.equal(patterns.length, 3)
    assert.deepEqual(
      patterns.filter((pattern) => !pattern.startsWith('./packed/')),
      [],
    )
    assert.equal(text.match(/npm publish /g)?.length, 1)
    assert.match(text, /npm publish "\$file"/)
  })
}

// setup-node writes where npm finds the token only when it is told a registry.
test('the workflow gives npm the token for the registry that npm uses, and names no registry', () => {
  assert.match(workflow, /npm config set "\$\(npm config get registry \| sed 's\/\^https\*:\/\/'\):_authToken" '\$\{NODE_AUTH_TOKEN\}'/)
  assert.match(workflow, /NODE_AUTH_TOKEN: \$\{\{ secrets\.\w+ \}\}/)
  assert.doesNotMatch(workflow, /registry-url|npmjs/)
})
