// One way to say things: every option that is a time or a size takes a number or a text, and no name of an option has a unit.

import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { parsedDuration } from '../packages/weirjs/src/base/duration.ts'
import { Alias, Rule } from '../packages/weirjs/src/base/option-rules.ts'
import { bytesOf } from '../packages/weirjs/src/base/size.ts'
import { type OptionTable, optionTables } from './option-tables.ts'

const UNITS = new Set(
  'ms msec msecs millis milliseconds sec secs second seconds minutes hours days byte bytes kb kib mb mib gb gib'.split(' '),
)
/** The last word of names that say a time or a size. */
const TIMES = new Set('timeout age interval delay ttl grace heartbeat window patience lease lifetime retry period'.split(' '))
const SIZES = new Set(['size'])
/** One of them fits every option. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  duration: ['1s', '10s', '1h', '1d'],
  size: ['16B', '64KiB', '8MiB'],
  rate: ['1KiB'],
}
const PLACE = { owner: 'it', option: 'it' }

interface Option {
  /** `CORS_RULES.maxAge` */
  readonly where: string
  readonly name: string
  readonly rule: Rule<unknown, unknown>
}

let tables: ReadonlyMap<string, OptionTable>
let options: readonly Option[]

before(async () => {
  tables = await optionTables()
  options = [...tables].flatMap(([table, { table: rules }]) =>
    Object.entries(rules).flatMap(([name, rule]) =>
      rule instanceof Rule ? [{ where: `${table}.${name}`, name, rule: rule as Rule<unknown, unknown> }] : [],
    ),
  )
  assert.ok(tables.size > 80 && options.length > 400, 'the tables of all packages are here')
})

const lastWord = (name: string): string => /[A-Z]?[a-z\d]*$/.exec(name)![0].toLowerCase()
const accepts = ({ rule }: Option, value: unknown): boolean => {
  try {
    rule.read(value, PLACE)
    return true
  } catch {
    return false
  }
}

test('no name of an option has a unit', () => {
  assert.deepEqual(
    options.filter(({ name }) => UNITS.has(lastWord(name))).map(({ where }) => where),
    [],
  )
})

test('an option whose name says a time is a time, and one whose name says a size is a size', () => {
  const wrong = options.filter(
    ({ name, rule }) => (TIMES.has(lastWord(name)) && rule.kind !== 'duration') || (SIZES.has(lastWord(name)) && rule.kind !== 'size'),
  )
  assert.deepEqual(
    wrong.map(({ where, rule }) => `${where}: ${rule.kind}`),
    [],
  )
})

for (const [kind, least, numberOf] of [
  ['duration', 45, parsedDuration],
  ['size', 25, bytesOf],
  ['rate', 1, bytesOf],
] as const) {
  test(`every ${kind} is a number or a text`, () => {
    const ofKind = options.filter(({ rule }) => rule.kind === kind)
    assert.ok(ofKind.length >= least, `${ofKind.length} options`)
    for (const option of ofKind) {
      const text = TEXTS[kind]!.findLast((one) => accepts(option, one))
      assert.ok(text !== undefined, `${option.where} accepts none of ${TEXTS[kind]}`)
      const number = numberOf(text)
      assert.equal(option.rule.read(text, PLACE), number, option.where)
      assert.equal(option.rule.read(number, PLACE), number, option.where)
    }
  })
}

test('what is refused gets a hint of the kind of its option', () => {
  const hints = { duration: ['30min', ': write "30m"'], size: ['30mb', ': write "30MiB"'], rate: ['30mb', ': write "30MiB"'] } as const
  for (const { where, rule } of options) {
    const [given, hint] = hints[rule.kind as keyof typeof hints] ?? []
    if (given !== undefined)
      assert.throws(
        () => rule.read(given, PLACE),
        (error: Error) => error.message.endsWith(hint!),
        where,
      )
  }
})

test('a name that left is another name of an option, with a unit where that has none', () => {
  for (const [table, { table: rules }] of tables)
    for (const [name, alias] of Object.entries(rules))
      if (alias instanceof Alias) {
        assert.ok(rules[alias.of] instanceof Rule, `${table}.${name}`)
        assert.ok(UNITS.has(lastWord(name)), `${table}.${name}`)
      }
})
