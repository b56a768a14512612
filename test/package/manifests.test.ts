// What npm and its users read of each package: package.json, the README, and the size.

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { test } from 'node:test'

import { staged } from '../../packages/weirjs/test/support/packed-package.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly files: readonly string[]
  readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string } | string>>
  readonly bin?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: unknown
  readonly optionalDependencies?: unknown
}

const names = readdirSync('packages')
const manifestOf = (name: string): Manifest => JSON.parse(readFileSync(`packages/${name}/package.json`, 'utf8')) as Manifest
const main = manifestOf('weirjs')

/** The same in every package. */
const COMMON = {
  license: 'MIT',
  homepage: 'https://github.com/weirjs/weir#readme',
  bugs: 'https://github.com/weirjs/weir/issues',
  type: 'module',
  sideEffects: false,
  engines: { node: '>=20.19' },
  publishConfig: { access: 'public', provenance: true },
}

function packageName(folder: string): string {
  return folder.includes('weirjs') ? folder : `@weirjs/${folder}`
}

for (const name of names) {
  test(`packages/${name}/package.json says what npm, bundlers and provenance need`, () => {
    const manifest = manifestOf(name)
    const own = Object.fromEntries(Object.keys(COMMON).map((key) => [key, (manifest as unknown as Record<string, unknown>)[key]]))
    assert.deepEqual(own, COMMON)
    assert.deepEqual((manifest as unknown as { repository: unknown }).repository, {
      type: 'git',
      url: 'git+https://github.com/weirjs/weir.git',
      directory: `packages/${name}`,
    })
    assert.equal(manifest.name, packageName(name))
    assert.equal(manifest.version, main.version, 'one version, one release')
    assert.match(manifest.description, /^[A-Z].+\.$/)
    assert.ok(manifest.files.includes('dist'))
    assert.deepEqual([manifest.peerDependenciesMeta, manifest.optionalDependencies], [undefined, undefined], 'nothing is optional')
    for (const [entry, target] of Object.entries(manifest.exports)) {
      if (typeof target === 'string') assert.deepEqual([entry, target], ['./package.json', './package.json'])
      else for (const file of [target.types, target.default]) assert.ok(existsSync(`packages/${name}/${file}`), `${entry}: ${file}`)
    }
    for (const file of Object.values(manifest.bin ?? {}))
      assert.match(readFileSync(`packages/${name}/${file}`, 'utf8'), /^#!\/usr\/bin\/env node\n/)
    for (const [other, range] of Object.entries(manifest.dependencies ?? {}))
      if (names.some((one) => manifestOf(one).name === other)) assert.equal(range, main.version, `${other} is of the same release`)
  })

  test(`npm test -w ${packageName(name)} has tests to run`, () => {
    const { scripts } = manifestOf(name) as unknown as { scripts: Record<string, string> }
    assert.equal(scripts['test'], `node ../../scripts/test.mjs packages/${name}/`)
    const files = ['src', 'test'].flatMap((folder) => readdirSync(`packages/${name}/${folder}`, { recursive: true, encoding: 'utf8' }))
    assert.ok(files.some((file) => file.endsWith('.test.ts')))
  })

  // Nobody imports what npm create runs.
  if (name === 'create-weirjs') continue

  test(`packages/${name}/README.md fits on a screen, and has the command and a program`, () => {
    const text = readFileSync(`packages/${name}/README.md`, 'utf8')
    const manifest = manifestOf(name)
    assert.ok(text.startsWith(`# ${manifest.name}\n\n`))
    assert.ok(text.split('\n').length <= 45, 'one screen')
    const [, command] = text.match(/^```sh\n(npm install .+)\n```$/m) ?? []
    const packages = command?.split(' ').slice(2) ?? []
    assert.deepEqual(packages.slice(0, 2), [...new Set(['weirjs', manifest.name])])
    // npm installs what a package depends on; the program's own clients are installed by name.
    const [, program] = text.match(/^```(?:ts|js)\n([\s\S]*?)^```$/m) ?? []
    const imported = [...program!.matchAll(/from '((?:@[^/']+\/)?[^/']+)/g)].map(([, one]) => one!)
    assert.deepEqual(
      [...new Set(imported)].filter((one) => !packages.includes(one)),
      [],
    )
    assert.deepEqual(
      packages.filter((one) => !imported.includes(one) && !Object.hasOwn(manifest.peerDependencies ?? {}, one)),
      [],
    )
  })
}

test('the command weir is of @weirjs/dev alone, so that npx @weirjs/dev never looks for a package of somebody else', () => {
  assert.deepEqual(
    names.filter((name) => manifestOf(name).bin !== undefined),
    ['create-weirjs', 'dev'],
  )
  assert.deepEqual(Object.keys(manifestOf('dev').bin!), ['weir'])
})

test('the README of weirjs and the list of packages name every entry, and every other package', () => {
  const entries = Object.keys(manifestOf('weirjs').exports)
    .map((entry) => entry.slice(2))
    .filter((entry) => entry !== '' && entry !== 'package.json')
  const others = names.filter((name) => name !== 'weirjs')
  const own = readFileSync('packages/weirjs/README.md', 'utf8')
  assert.deepEqual(
    [...entries, ...others].filter((name) => !new RegExp(`\`(?:weirjs/|@weirjs/)?${name}\``).test(own)),
    [],
  )
  const main = readFileSync('docs/packages.md', 'utf8')
  // They have types that programs rarely write.
  const typesAlone = ['contract', 'explain', 'schema']
  const listed = entries.filter((entry) => !typesAlone.includes(entry)).map((entry) => `weirjs/${entry}`)
  assert.deepEqual(
    [...listed, ...others.map(packageName)].filter((name) => !main.includes(`\`${name}\``)),
    [],
  )
})

test('every package has pages of the guide, and every page is in one, so that it can be read without a network', (t) => {
  const pages = names
    .filter((name) => name !== 'create-weirjs')
    .flatMap((name) => {
      assert.ok(manifestOf(name).files.includes('docs'), name)
      return readdirSync(`${staged(name, temporaryDirectory(t))}/docs/guide`)
    })
  assert.deepEqual([...new Set(pages)].sort(), readdirSync('docs/guide').sort())
})

test('pages that neither weirjs nor @weirjs/dev has are about the package that has them, as the README says', (t) => {
  const guides = names
    .filter((name) => name !== 'create-weirjs')
    .map((name) => [name, `${staged(name, temporaryDirectory(t))}/docs/guide`] as const)
    .filter(([, guide]) => existsSync(guide))
  const inBoth = guides.filter(([name]) => name === 'weirjs' || name === 'dev').flatMap(([, guide]) => readdirSync(guide))
  const left = guides.flatMap(([name, guide]) =>
    readdirSync(guide)
      .filter((page) => !inBoth.includes(page))
      .map((page) => ({ page, name: packageName(name), text: readFileSync(`${guide}/${page}`, 'utf8') })),
  )
  assert.ok(left.length >= 8)
  assert.deepEqual(
    left.filter(({ name, text }) => !new RegExp(`npm install .*${name}`).test(text)).map(({ page, name }) => `${page} in ${name}`),
    [],
  )
})

test('weirjs takes at most 2.5 MB in node_modules', (t) => {
  const folder = staged('weirjs', temporaryDirectory(t))
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => statSync(`${folder}/${path}`))
  const bytes = files.reduce((sum, stats) => sum + (stats.isFile() ? stats.size : 0), 0)
  t.diagnostic(`${bytes} bytes`)
  assert.ok(bytes > 1_000_000 && bytes <= 2_500_000, `${bytes} bytes`)
})
