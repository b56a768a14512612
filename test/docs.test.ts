// What the documents state is true: catalogue, limits, states, links, and every example, which is compiled and run.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'

import { ERRORS, type ErrorSpec } from '../packages/weirjs/src/base/error-codes.ts'
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS, LIMIT_RULES, TIMEOUT_RULES } from '../packages/weirjs/src/base/limits.ts'
import * as exchange from '../packages/weirjs/src/net/cycle/exchange-states.ts'
import { LIFE_MOVES, LIFE_NAMES, READING_MOVES, STATE_NAMES, WRITING_MOVES } from '../packages/weirjs/src/wire/http1/states.ts'
import { noCurl } from '../packages/weirjs/test/support/curl.ts'
import { staged } from '../packages/weirjs/test/support/packed-package.ts'
import { temporaryDirectory } from '../packages/weirjs/test/support/temporary.ts'
import { thinned } from '../packages/weirjs/test/support/thinned.ts'
import { exportExamples, programOf } from './export-examples.ts'
import { programsOf, runProgram, squeezed } from './programs.ts'

const texts = new Map(pagesIn('.').map((page) => [page, readFileSync(page, 'utf8')]))

function pagesIn(folder: string): string[] {
  const skipped = new Set(['node_modules', 'build', 'dist', '.git'])
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return skipped.has(entry.name) ? [] : pagesIn(path)
    return path.endsWith('.md') ? [path] : []
  })
}

function page(path: string): string {
  const text = texts.get(path)
  assert.ok(text !== undefined, `${path} is missing`)
  return text
}

/** The part of a page under one heading, up to the next of the same level or a higher one. */
function section(path: string, heading: string): string {
  const lines = page(path).split('\n')
  const start = lines.indexOf(heading)
  assert.notEqual(start, -1, `${path} has no "${heading}"`)
  const level = heading.indexOf(' ')
  const end = lines.findIndex((line, i) => i > start && /^#+ /.test(line) && line.indexOf(' ') <= level)
  return lines.slice(start + 1, end === -1 ? lines.length : end).join('\n')
}

/** Rows of the tables in `text`, without the head and its rule, and without backticks. */
function rowsOf(text: string): string[][] {
  const rows = text.split('\n').filter((line) => line.startsWith('|'))
  const cells = rows.map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
  return cells.filter((_, i) => !/^\|[ :|-]+$/.test(rows[i]!) && !/^\|[ :|-]+$/.test(rows[i + 1] ?? ''))
}

test('docs/errors.md has one heading for each code, with the facts of the catalogue and the source of the rule', () => {
  const headings = [...page('docs/errors.md').matchAll(/^### (\S+)\n\n(.*) · (.*)\n\n(?=[^#\n])/gm)]
  const documented = Object.fromEntries(headings.map(([, code, facts]) => [code, facts]))
  const declared = Object.entries<ErrorSpec>(ERRORS).map(([code, { status, fault, closes }]) => [
    code,
    `${status} · ${fault} · ${closes ? 'closes' : 'stays open'}`,
  ])
  assert.deepEqual(documented, Object.fromEntries(declared))
  const codes = headings.map(([, code]) => code)
  assert.deepEqual(codes, Object.keys(ERRORS), 'in the order of the catalogue, and no code twice')
  for (const [, code, , source] of headings) {
    const [, file] = /^\[(docs\/\S+)\]\(\S+\)$/.exec(source!) ?? []
    assert.ok(file === undefined ? /^RFC \d+/.test(source!) : texts.has(file), `${code}: ${source} is neither an RFC nor a page`)
  }
})

test('docs/limits.md lists every limit and timeout with its default, and no other', () => {
  const documented = (heading: string) =>
    Object.fromEntries(rowsOf(section('docs/limits.md', heading)).map((row) => [row[0], numberOf(row[2]!)]))
  assert.deepEqual(documented('## Limits'), DEFAULT_LIMITS)
  assert.deepEqual(documented('## Timeouts'), DEFAULT_TIMEOUTS)
})

test('docs/limits.md states the unit of every limit and timeout', () => {
  const units: Readonly<Record<string, string>> = { size: 'bytes', duration: 'time', rate: 'bytes a second' }
  for (const [heading, { table }] of [
    ['## Limits', LIMIT_RULES],
    ['## Timeouts', TIMEOUT_RULES],
  ] as const) {
    const kinds: Readonly<Record<string, { readonly kind: string }>> = table
    for (const [name, unit] of rowsOf(section('docs/limits.md', heading))) {
      const { kind } = kinds[name!]!
      if (kind === 'count') assert.ok(!Object.values(units).includes(unit!), `${name} is a number, not ${unit}`)
      else assert.equal(unit, units[kind], name)
    }
  }
})

/** `64 KiB` in bytes, `5 s` in milliseconds, `none` as null. */
function numberOf(text: string): number | null {
  if (text === 'none') return null
  const [, digits, unit] = /^([\d,]+)(?: (KiB|MiB|s))?$/.exec(text) ?? assert.fail(`no default: ${text}`)
  const factor = { KiB: 1024, MiB: 1024 * 1024, s: 1000 }[unit ?? ''] ?? 1
  return Number(digits!.replaceAll(',', '')) * factor
}

test('docs/http.md has the moves of all state machines', () => {
  const page = section('docs/http.md', '## The states of a connection')
  const [directions, life] = page.split('The third follows')
  const namesOf = (names: readonly string[], moves: readonly number[]): string => moves.map((to) => names[to]).join(', ') || 'nothing'
  assert.deepEqual(
    rowsOf(directions!).map((row) => row.slice(0, 3)),
    STATE_NAMES.map((name, i) => [name, namesOf(STATE_NAMES, READING_MOVES[i]!), namesOf(STATE_NAMES, WRITING_MOVES[i]!)]),
  )
  assert.deepEqual(
    rowsOf(life!).map((row) => row.slice(0, 2)),
    LIFE_NAMES.map((name, i) => [name, namesOf(LIFE_NAMES, LIFE_MOVES[i]!)]),
  )
})

test('docs/http.md has the moves of an exchange', () => {
  const page = section('docs/http.md', '## The states of an exchange')
  const tables = [
    [exchange.REQUEST_NAMES, exchange.REQUEST_MOVES],
    [exchange.WORK_NAMES, exchange.WORK_MOVES],
    [exchange.RESPONSE_NAMES, exchange.RESPONSE_MOVES],
  ] as const
  const rows = tables.flatMap(([names, moves]) => names.map((name, i) => [name, moves[i]!.map((to) => names[to]).join(', ') || 'nothing']))
  assert.deepEqual(
    rowsOf(page).map((row) => row.slice(0, 2)),
    rows,
  )
})

test('docs/dependencies.md states a reason for each dependency, and for nothing else', () => {
  const headings = [...page('docs/dependencies.md').matchAll(/^## `(.+)`\n\n\S/gm)].map(([, name]) => name!)
  const needed = readdirSync('packages').flatMap((name) => {
    const { dependencies, peerDependencies } = JSON.parse(readFileSync(`packages/${name}/package.json`, 'utf8')) as Record<string, object>
    return Object.keys({ ...dependencies, ...peerDependencies })
  })
  const ours = readdirSync('packages').map((name) => (name === 'weirjs' ? name : `@weirjs/${name}`))
  assert.deepEqual(headings.sort(), [...new Set(needed)].filter((name) => !ours.includes(name)).sort())
})

test('links between pages have targets', () => {
  const broken: string[] = []
  for (const [path, text] of texts) {
    for (const [, target] of proseOf(text).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue
      const [file, anchor] = target!.split('#')
      const to = file === '' ? path : join(dirname(path), file!)
      if (!existsSync(to) || (anchor !== undefined && !anchorsOf(to).includes(anchor))) broken.push(`${path}: ${target}`)
    }
  }
  assert.deepEqual(broken, [])
})

test('pages in the package link only to what the package contains', (t) => {
  const carried = carriedPages(t)
  const left: string[] = []
  for (const [path, text] of carried) {
    for (const [, target] of proseOf(text).matchAll(/\]\(([^)\s#]+)/g)) {
      if (!/^[a-z]+:/.test(target!) && /\.md$/.test(target!) && !carried.has(join(dirname(path), target!))) left.push(`${path}: ${target}`)
    }
  }
  assert.deepEqual(left, [])
})

/** The pages of the package, as scripts/stage.mjs makes them. */
function carriedPages(t: TestContext): Map<string, string> {
  const folder = staged('weirjs', temporaryDirectory(t))
  return new Map(pagesIn(folder).map((path) => [relative(folder, path), readFileSync(path, 'utf8')]))
}

function anchorsOf(path: string): string[] {
  const headings = [...proseOf(texts.get(path) ?? '').matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!)
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function proseOf(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '')
}

test('the first programs in TypeScript are those of examples/first/', () => {
  for (const name of readdirSync('examples/first'))
    assert.ok(page('docs/guide/first-programs.md').includes(`\`\`\`ts\n${readFileSync(`examples/first/${name}`, 'utf8')}\`\`\`\n`), name)
})

test('the diagrams are those that scripts/diagrams.mjs draws', () => {
  const { stdout } = spawnSync(process.execPath, ['scripts/diagrams.mjs'], { encoding: 'utf8' })
  assert.equal(stdout, '', 'out of date: node scripts/diagrams.mjs --write')
})

interface Example {
  readonly file: string
  readonly code: string
}

const examples: Example[] = [...texts].flatMap(([path, text]) => {
  const blocks = [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)]
  return blocks.map(([block, code], i) => {
    const line = text.slice(0, text.indexOf(block!)).split('\n').length
    return { file: `${path.replace(/\.md$/, '').replace(/[\\/]/g, '-').toLowerCase()}-${i + 1}-line-${line}.ts`, code: code! }
  })
})

const programs = [...texts].flatMap(([path, text]) => programsOf(path, text))

/** Where examples are compiled: inside build/, so that the packages of the repository are found from there. */
const FOLDER = 'build/docs-examples'
/** The folder for temporary files of the examples, which is removed with everything in it. */
const TEMPORARY = resolve(FOLDER, 'tmp')

/** What readers of a page generate for its program: where the program imports it from, and where the repository has it. */
const GENERATED: Readonly<Record<string, readonly [at: string, from: string]>> = {
  'docs-guide-rpc-program-1': ['gen/eliza_pb.ts', 'packages/rpc/test/proto/eliza_pb.ts'],
}

/** The types of Node 20 lack it. */
const NODE_SQLITE = `declare module 'node:sqlite' {
  export class DatabaseSync {
    constructor(path: string)
    exec(sql: string): void
    prepare(sql: string): { run(...values: (string | number)[]): { changes: number | bigint }; get(...values: (string | number)[]): unknown }
    close(): void
  }
}
`

/** Compiles all examples in one program with the sources of the packages, on which they then run, and returns the output of tsc. */
function compileExamples(): string {
  const { paths } = JSON.parse(readFileSync('tsconfig.json', 'utf8')).compilerOptions as { paths: Record<string, [string]> }
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(`${FOLDER}/out`, { recursive: true })
  for (const { file, code } of examples) writeFileSync(`${FOLDER}/${file}`, code)
  const exported = exportExamples()
  for (const [i, one] of exported.entries()) writeFileSync(`${FOLDER}/export-${i}-${one.name}.ts`, programOf(one, exported))
  for (const { name, files } of programs) {
    mkdirSync(`${FOLDER}/${name}`)
    for (const { file, code } of files) writeFileSync(`${FOLDER}/${name}/${file}`, code)
    if (GENERATED[name] === undefined) continue
    const [at, from] = GENERATED[name]
    mkdirSync(dirname(`${FOLDER}/${name}/${at}`))
    copyFileSync(from, `${FOLDER}/${name}/${at}`)
  }
  writeFileSync(`${FOLDER}/node-sqlite.d.ts`, NODE_SQLITE)
  const compilerOptions = {
    paths: Object.fromEntries(Object.entries(paths).map(([name, [path]]) => [name, [`../../${path}`]])),
    rootDir: '../..',
    outDir: 'out',
    noUnusedLocals: false,
    sourceMap: false,
    incremental: false,
    tsBuildInfoFile: null,
  }
  writeFileSync(`${FOLDER}/tsconfig.json`, JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['*.ts', '*/*.ts'] }))
  const { stdout, stderr } = spawnSync('node_modules/.bin/tsc', ['-p', FOLDER, '--checkers', '2'], { encoding: 'utf8' })
  spawnSync(process.execPath, ['scripts/packages.mjs', `${FOLDER}/out`, `${FOLDER}/out/node_modules`], { stdio: 'inherit' })
  return stdout + stderr
}

const scriptOf = (file: string) => `${FOLDER}/out/${FOLDER}/${file.replace(/ts$/, 'js')}`

function runExample(args: readonly string[]) {
  // With this variable, a test runner would report to the one above it.
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined, TMPDIR: TEMPORARY, TEMP: TEMPORARY, TMP: TEMPORARY }
  return spawnSync(process.execPath, args, { encoding: 'utf8', env })
}

/**
 * Runs examples in one process, because most of the time of an example goes into its start.
 * @returns what each has printed; nothing if the process fails, complains or has to be killed: then each is to be run alone
 */
function runTogether(files: readonly string[]): [file: string, output: string][] {
  const imports = files.map((file) => `process.stdout.write('\\0')\nawait import('./${scriptOf(file)}')`)
  const { status, stdout, stderr } = runExample(['--input-type=module', '--eval', imports.join('\n')])
  const outputs = stdout.split('\0').slice(1)
  return status === 0 && stderr === '' ? files.map((file, i) => [file, outputs[i]!]) : []
}

/** What the comments of a program state: behind a call of console.log or, if that line would be too long, in lines of their own below it. */
function printedBy(code: string): string[] {
  const calls = /^( *)console\.log\((?:.*\)|.*(?:\n\1 {2}.*)*\n\1(?:\)|[\])}].*\)))(?: \/\/ (.+)|((?:\n\1\/\/ .+)+))$/gm
  return [...code.matchAll(calls)].map(
    ([, , behind, below]) =>
      behind ??
      below!
        .trim()
        .replace(/\n? *\/\/ /g, ' ')
        .trim(),
  )
}

/** Lines that were printed, as the page has them: there, a line may be broken at any place. */
function linesOf(stdout: string, expected: readonly string[]): string[] {
  const lines = stdout.split('\n').slice(0, -1)
  return lines.map((line, i) => (squeezed(line) === squeezed(expected[i] ?? '') ? expected[i]! : line))
}

test('every ts block of README and docs compiles, and prints what its comments state', async (t) => {
  assert.ok(examples.length > 10, 'examples were found')
  assert.equal(new Set(examples.map(({ file }) => file)).size, examples.length, 'none replaces another')
  assert.equal(compileExamples(), '')
  mkdirSync(TEMPORARY)
  t.after(() => rmSync(TEMPORARY, { recursive: true, force: true }))
  const runs = examples.map(({ file, code }) => ({
    file,
    isTest: code.includes("from 'node:test'"),
    expected: printedBy(code),
  }))
  const printing = runs.filter(({ expected, isTest }) => expected.length > 0 && !isTest).map(({ file }) => file)
  const printed = new Map<string, string>()
  for (let i = 0; i < printing.length; i += 10)
    for (const [file, output] of runTogether(printing.slice(i, i + 10))) printed.set(file, output)
  for (const { file, isTest, expected } of runs) {
    if (expected.length === 0 && !isTest) continue
    await t.test(file, () => {
      if (!isTest && isDeepStrictEqual(linesOf(printed.get(file) ?? '', expected), expected)) return
      const { status, stdout, stderr } = runExample([scriptOf(file)])
      assert.deepEqual({ status, lines: isTest ? [] : linesOf(stdout, expected), stderr }, { status: 0, lines: expected, stderr: '' })
    })
  }
  const some = thinned(programs.length)
  for (const program of noCurl === false ? programs.filter((_, i) => (i * some) % programs.length < some) : []) {
    const compiled = (file: string) => scriptOf(`${program.name}/${file}`)
    const skip = !isBuiltin('node:sqlite') && program.files.some(({ code }) => code.includes("'node:sqlite'")) && 'this Node has no SQLite'
    await t.test(program.name, { skip }, (t) => runProgram(t, program, compiled))
  }
})

test('every name of the main entry has an example in its doc comment, which compiles, and a link to a page', () => {
  const without = exportExamples().filter(({ code, page }) => code === null || page === null || !existsSync(page))
  assert.deepEqual(without, [])
})

test('no line of code in the guide and in a README is longer than 90 characters', () => {
  const long = [...texts].flatMap(([path, text]) => {
    if (!/^docs.guide.|^(?:packages.[\w-]+.)?README\.md$/.test(path)) return []
    const blocks = [...text.matchAll(/^```(?:ts|tsx|js|console|sh)\b.*\n([\s\S]*?)^```$/gm)].map(([, code]) => code!)
    return blocks
      .flatMap((code) => code.split('\n').filter((line) => line.length > 90 && !/^(?:import|export) /.test(line)))
      .map((line) => `${path}: ${line}`)
  })
  assert.deepEqual(long, [])
})

/** The pages of the guide that do not begin with a program that listens, and why. */
const WITHOUT_PROGRAM: Readonly<Record<string, string>> = {
  README: 'a list of pages',
  tasks: 'a list of pages',
  why: 'a comparison',
  traps: 'a list of mistakes',
  'from-aspnet': 'two programs side by side',
  'from-express': 'two programs side by side',
  'from-fastify': 'two programs side by side',
  'from-hono': 'two programs side by side',
  'from-nest': 'two programs side by side',
  'getting-started': 'one program, step by step, which test/e2e/getting-started.test.ts follows',
  'first-programs': 'one program in three languages, which test/package/readme.test.ts runs',
  dashboard: 'three programs, step by step, which test/package/dashboard.test.ts follows',
  serverless: 'the platform listens',
  deploy: 'needs systemd, Docker or a proxy: test/proxies/ has them',
}

test('the service of the page about rpc is the one that its program was tested with', () => {
  const definition = readFileSync('packages/rpc/test/proto/eliza.proto', 'utf8')
  assert.ok(page('docs/guide/rpc.md').includes(`\`\`\`proto\n${definition}\`\`\`\n`))
  assert.ok(Object.keys(GENERATED).every((name) => programs.some((program) => program.name === name)))
})

test('each page of the guide begins with a program that listens, and what it prints', () => {
  const pages = [...texts].filter(([path]) => path.startsWith('docs/guide/'))
  const without = pages.filter(([path, text]) => {
    const [first] = programsOf(path, text)
    return first === undefined || !/^# .+\n\n(?:(?!```|#).*\n)*$/.test(first.above)
  })
  assert.deepEqual(without.map(([path]) => basename(path, '.md')).sort(), Object.keys(WITHOUT_PROGRAM).sort())
})

test('docs/local-threats.md names a test for each threat, and each of them exists', () => {
  const folder = 'packages/weirjs/test/modules/local'
  const handshake = 'packages/weirjs/src/modules/local/handshake.test.ts'
  const sources = [
    'test/e2e/local-attacks.test.ts',
    handshake,
    `${folder}/door.test.ts`,
    `${folder}/instances.test.ts`,
    `${folder}/taken-port.test.ts`,
  ]
  const titles = sources.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/\btest\(\s*['`](.+?)['`],/g)].map(([, title]) => title!),
  )
  const known = titles.map((title) => title.replace(/\$\{[^}]*\}/g, '\u2026'))
  const rows = [...page('docs/local-threats.md').matchAll(/^\|(?! They| What happens| ---)(.+)\|$/gm)].map(([, row]) => row!)
  assert.ok(rows.length > 15, 'threats were found')
  for (const row of rows) {
    const named = [
      ...row
        .split(/(?<!\\)\|/)
        .at(-1)!
        .matchAll(/"([^"]+)"/g),
    ].map(([, title]) => title!)
    if (!/(?:the same)/.test(row)) assert.ok(named.length > 0, row)
    assert.deepEqual(
      named.filter((title) => !known.includes(title)),
      [],
      row,
    )
  }
})

test('every program that verifies a password passes on the address of its client, so that one client cannot keep the others from logging in', () => {
  const programs = ['examples', 'packages/create-weirjs/templates'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => /(?<!\.test)\.ts$/.test(path) && !/node_modules|dist/.test(path))
      .map((path) => [path, readFileSync(join(folder, path), 'utf8')] as const),
  )
  let calls = 0
  for (const [path, text] of [...texts, ...programs].filter(([path]) => !/CHANGELOG|decisions/.test(path)))
    for (const [, given] of text.matchAll(/verifyPassword\(([^()\n]+)\)/g)) {
      assert.equal(given!.split(',').length, 3, `${path}: verifyPassword(${given})`)
      calls++
    }
  assert.ok(calls >= 6, `${calls} calls`)
})
