// The guide's tables of options agree with the rules that check them: the same names, and the same defaults.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'

import { parsedDuration } from '../packages/weirjs/src/base/duration.ts'
import { Rule } from '../packages/weirjs/src/base/option-rules.ts'
import { bytesOf } from '../packages/weirjs/src/base/size.ts'
import { type OptionTable, optionTables } from './option-tables.ts'

interface GuideTable {
  /** `docs/guide/cors.md:25` */
  readonly where: string
  /** Names of tables of rules, from the comment above: `<!-- rules: CORS_RULES -->`. */
  readonly rules: readonly string[]
  /** Whether other options are described elsewhere: `<!-- rules: part of CORS_RULES -->`. */
  readonly isPart: boolean
  readonly rows: readonly (readonly string[])[]
}

const known = new Map<string, OptionTable>()
const guide = readdirSync('docs/guide').filter((file) => file.endsWith('.md'))
const tables = guide.flatMap((file) => tablesIn(join('docs/guide', file)))

function tablesIn(path: string): GuideTable[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.flatMap((line, at) => {
    if (!/^\| *Option *\| *Default *\|/.test(line)) return []
    const [, part, names = ''] = /^<!-- rules: (part of )?(.+) -->$/.exec(lines[at - 1] ?? '') ?? []
    const end = lines.findIndex((one, i) => i > at && !one.startsWith('|'))
    const rows = lines.slice(at + 2, end).map((row) => cellsOf(row))
    return [{ where: `${path}:${at + 1}`, rules: names.split(' ').filter(Boolean), isPart: part !== undefined, rows }]
  })
}

function cellsOf(row: string): string[] {
  return row
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('`', ''))
}

before(async () => {
  for (const [name, table] of await optionTables()) known.set(name, table)
})

test('every table of options in the guide names its rules', () => {
  const without = tables.filter(({ rules }) => rules.length === 0).map(({ where }) => where)
  assert.deepEqual(without, [], 'write <!-- rules: …_RULES --> above the table')
})

test('every table of options has one row for each option, with its default', () => {
  for (const { where, rules, isPart, rows } of tables) {
    const wanted = entriesIn(rules, where)
    const names = wanted
      .map(([name]) => name)
      .filter((name) => !isPart || rows.some(([one]) => one!.split(/\(?\)?, |\(?\)?$/).includes(name)))
    const found = rows.flatMap(([names, defaults]) => pairsOf(names!, defaults!))
    assert.deepEqual(found.map(([name]) => name).toSorted(), names.toSorted(), where)
    for (const [name, given] of found) {
      const rule = wanted.find(([one]) => one === name)![1]
      if (!states(given, rule)) assert.equal(given, rule.absent.words, `${where}: the default of ${name}`)
    }
  }
})

test('the guide states no unit of an option that accepts times with a unit', () => {
  for (const { where, rules, rows } of tables) {
    const wanted = new Map(entriesIn(rules, where))
    for (const [names, , meaning] of rows)
      if (wanted.get(names!)?.kind === 'duration')
        assert.doesNotMatch(meaning!, /\bin (?:milliseconds|ms|seconds)\b|^Milliseconds/i, `${where}: ${names}`)
  }
})

test('the guide mentions every option of rules that have no table', () => {
  const listed = new Set(tables.flatMap(({ rules, isPart }) => (isPart ? [] : rules.map((name) => name.replace(/^.*:/, '')))))
  const pages = [...guide.map((file) => join('docs/guide', file)), 'docs/limits.md'] // limits and timeouts are compared in docs.test.ts
  const texts = pages.map((path) => readFileSync(path, 'utf8')).join('\n')
  const missing = [...known].flatMap(([name, table]) =>
    listed.has(name)
      ? []
      : entriesOf(table).flatMap(([option]) => (new RegExp(`\\b${option}\\b`).test(texts) ? [] : [`${name}: ${option}`])),
  )
  assert.deepEqual(missing, [])
})

/** The options of a table of the guide. `settings:JSON_RULES` are those inside the option `settings`, which the guide writes `settings.maxDepth`. */
function entriesIn(tokens: readonly string[], where: string): [name: string, rule: Rule<unknown, unknown>][] {
  const all = tokens.flatMap((token) => {
    const [name = '', within] = token.split(':').reverse()
    const entries = entriesOf(known.get(name) ?? assert.fail(`${where}: there are no rules ${name}`))
    return entries.map(([option, rule]): [string, Rule<unknown, unknown>] => [within === undefined ? option : `${within}.${option}`, rule])
  })
  return all.filter(([name]) => !all.some(([other]) => other.startsWith(`${name}.`)))
}

function entriesOf({ table }: OptionTable): [name: string, rule: Rule<unknown, unknown>][] {
  return Object.entries(table).filter(
    (entry): entry is [string, Rule<unknown, unknown>] => entry[1] instanceof Rule && entry[1].kind !== 'for tests',
  )
}

/** One row may have several options, with the default of each, or one of all: `tls, http2`. */
function pairsOf(names: string, defaults: string): [name: string, given: string][] {
  const list = names.split(', ')
  const each = list.length === 1 ? [defaults] : defaults.split(', ')
  return list.map((name, i) => [name.replace(/\(\)$/, ''), each[each.length === 1 ? 0 : i]!])
}

/** Whether the text states the default of the rule: `30 s` for 30,000 or '30s', `64 KiB` for 65,536 or '64KiB'. */
function states(text: string, rule: Rule<unknown, unknown>): boolean {
  const { kind, absent } = rule
  if (absent.kind !== 'default') return false
  const setting = rule.missing({ owner: '', option: '' })
  const plain = text.replace(/^'(.*)'$/, '$1').replaceAll(',', '')
  if (kind === 'size') return bytesOf(plain.replace(/ bytes$/, 'B').replace(' ', '')) === setting
  return kind === 'duration' && parsedDuration(plain.replace(/ min$/, 'm').replace(' ', '')) === setting
}

test('every page of docs/ is in the sidebar of the site', () => {
  const program = "import { sidebar } from './site/pages.mjs'; sidebar()"
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
  assert.equal(stderr, '')
})
