// Makes a release: `npm run release`. Checks that the tree and the changelog are ready, builds and tests from a clean checkout, and packs
// every package with its checksum into packed/. It publishes nothing: that is a person's decision, and the last lines say how.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { manifestOf, packageNames } from './packages.mjs'

function run(command, args, cwd = '.') {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit' })
  if (status !== 0) refuse(`${command} ${args.join(' ')} failed`)
}

function said(command, args) {
  return spawnSync(command, args, { encoding: 'utf8' }).stdout.trim()
}

function refuse(reason) {
  console.error(`no release: ${reason}`)
  process.exit(1)
}

const { version } = manifestOf('weirjs')
for (const name of packageNames()) {
  const { version: other, dependencies = {} } = manifestOf(name)
  if (other !== version) refuse(`packages/${name} has version ${other}, and weirjs ${version}`)
  for (const [one, range] of Object.entries(dependencies))
    if (/^(?:weirjs$|@weirjs\/)/.test(one) && range !== version) refuse(`packages/${name} depends on ${one} ${range}, not ${version}`)
}
if (said('git', ['status', '--porcelain']) !== '') refuse('there are uncommitted changes')
if (!new RegExp(`^## ${version.replaceAll('.', '\\.')} \\(\\d{4}-\\d\\d-\\d\\d\\)$`, 'm').test(readFileSync('CHANGELOG.md', 'utf8')))
  refuse(`CHANGELOG.md has no heading "## ${version} (<date>)"`)

const checkout = join(mkdtempSync(join(tmpdir(), 'weir-release-')), 'weir')
run('git', ['clone', '--quiet', '.', checkout])
run('npm', ['ci'], checkout)
run('npm', ['test'], checkout)
run('npm', ['run', 'pack'], checkout)
rmSync('packed', { recursive: true, force: true })
cpSync(join(checkout, 'packed'), 'packed', { recursive: true })
rmSync(join(checkout, '..'), { recursive: true, force: true })
console.log(`\npacked/ holds ${version}. Push the tag v${version}, and .github/workflows/release.yml publishes it with provenance.
To publish it from here, without provenance:
for file in ./packed/weirjs-[0-9]*.tgz ./packed/weirjs-[a-z]*.tgz ./packed/create-weirjs-*.tgz; do npm publish "$file" --provenance=false; done`)
