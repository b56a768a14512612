// Tables of rules: checks, messages, defaults, and what is meant by a name that does not exist.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { alias, anything, count, duration, flag, func, list, nested, oneOf, oneOfOr, readBy, secret, size, text } from './option-kinds.ts'
import { rules } from './option-rules.ts'

interface Inner {
  readonly deep?: number
}
interface Options {
  readonly path: string
  readonly mode?: 'a' | 'b'
  readonly wait?: number | `${number}s` | null
  readonly bytes?: number
  readonly isOn?: boolean
  readonly hook?: (name: string) => string
  readonly inner?: Inner
  readonly names?: readonly string[]
  readonly waitMs?: number
}

const INNER = rules<Inner>('inner')({ deep: count({ least: 1, most: 9 }).or(3) })
const RULES = rules<Options>('thing')({
  path: text('a path such as /docs', (value) => value.startsWith('/')),
  mode: oneOf('a', 'b').or('a'),
  wait: duration().nullable().or('30s'),
  bytes: size({ least: 1 }).or('64KiB'),
  isOn: flag(true),
  hook: func().optional(),
  inner: nested(INNER).orNull(),
  names: list<string>('a text', (one) => typeof one === 'string').or([]),
  waitMs: alias('wait'),
})

const messageOf = (given: unknown): string => {
  try {
    RULES.read(given as Options)
  } catch (error) {
    assert.equal((error as { code?: unknown }).code, 'WEIR_OPTION_INVALID')
    return (error as Error).message
  }
  return 'accepted'
}

test('every option has a setting: what was given, or the default', () => {
  const none = RULES.read({ path: '/' })
  assert.deepEqual(none, {
    ...{ path: '/', mode: 'a', wait: 30_000, bytes: 65_536, isOn: true },
    ...{ hook: undefined, inner: null, names: [] },
  })
  const hook = (name: string): string => name
  const all = RULES.read({ path: '/x', mode: 'b', wait: '2s', bytes: 5, isOn: false, hook, inner: {}, names: ['n'] })
  assert.deepEqual(all, { path: '/x', mode: 'b', wait: 2_000, bytes: 5, isOn: false, hook, inner: { deep: 3 }, names: ['n'] })
  assert.equal(RULES.read({ path: '/', wait: null }).wait, null)
  // The types of settings follow from both.
  const mode: 'a' | 'b' = all.mode
  const wait: number | null = all.wait
  const read: ((name: string) => string) | undefined = all.hook
  const deep: number | undefined = all.inner?.deep
  assert.deepEqual([mode, wait, read, deep], ['b', 2_000, hook, 3])
})

test('a message names the owner, the option, the value and what is expected', () => {
  const table: readonly (readonly [unknown, string])[] = [
    [null, 'thing: options must be an object, not null: write { path: … }'],
    [{}, 'thing: path is undefined, not a path such as /docs'],
    [{ path: 'x' }, 'thing: path is the string "x", not a path such as /docs'],
    [{ path: '/', mode: 'c' }, 'thing: mode is the string "c", not "a" or "b"'],
    [
      { path: '/', wait: -1 },
      'thing: wait is -1, not whole milliseconds or a time such as "30s", "15m" or "12h", of at most 366 days, or null',
    ],
    [
      { path: '/', bytes: '64kb' },
      'thing: bytes is the string "64kb", not a whole number of at least 1 or a size such as "64KiB" or "10MiB": write "64KiB"',
    ],
    [{ path: '/', isOn: 'false' }, 'thing: isOn is the string "false", not true or false'],
    [{ path: '/', hook: 1 }, 'thing: hook is 1, not a function'],
    [{ path: '/', inner: { deep: 10 } }, 'thing: inner.deep is 10, not a whole number from 1 to 9'],
    [{ path: '/', inner: [] }, 'thing: inner is an array, not an object'],
    [{ path: '/', names: 'n' }, 'thing: names is the string "n", not a list'],
    [{ path: '/', names: [1] }, 'thing: names: 1 is not a text'],
  ]
  for (const [given, message] of table) assert.equal(messageOf(given), `an option or argument is invalid: ${message}`)
})

test('a misspelt option is refused with the one that is probably meant', () => {
  const rest = 'the options are path, mode, wait, bytes, isOn, hook, inner, names'
  const table: readonly (readonly [string, string])[] = [
    ['MODE', '"MODE": it is called "mode"'],
    ['is_on', '"is_on": it is called "isOn"'],
    ['byte', `"byte", perhaps "bytes"; ${rest}`],
    ['bytess', `"bytess", perhaps "bytes"; ${rest}`],
    ['btyes', `"btyes", perhaps "bytes"; ${rest}`],
    ['bitess', `"bitess"; ${rest}`],
    ['constructor', `"constructor"; ${rest}`],
  ]
  for (const [name, message] of table) assert.ok(messageOf({ path: '/', [name]: 1 }).endsWith(`thing: there is no option ${message}`), name)
})

test('what another framework calls an option is refused with what it is called here', () => {
  const HERE = rules<{ readonly root?: string; readonly roof?: string }>('files')(
    { root: text().optional(), roof: text().optional() },
    { elsewhere: { dir: 'root', rood: 'roof' } },
  )
  assert.throws(() => HERE.read({ dir: '/' } as never), /files: there is no option "dir": it is called "root"$/)
  assert.throws(() => HERE.read({ rood: '/' } as never), /"rood": it is called "roof"$/, 'before a name that is near')
  assert.throws(() => HERE.read({ constructor: '/' } as never), /"constructor"; the options are root, roof$/)
})

test('what is given can be checked alone', () => {
  RULES.check({ path: '/', mode: 'b', wait: null })
  assert.throws(() => RULES.check({ path: '/', mode: 'c' as never }), /thing: mode is the string "c", not "a" or "b"/)
  assert.throws(() => RULES.check({ path: '/', pat: 1 } as never), /there is no option "pat", perhaps "path"/)
  assert.throws(() => RULES.check({ path: '/', inner: { deep: 0 } }), /inner.deep is 0/)
  assert.throws(() => RULES.check({ path: '/', waitMs: -1 }), /waitMs is -1, not whole milliseconds/)
})

test('an alias gives the option, and not both', () => {
  assert.equal(RULES.read({ path: '/', waitMs: 5 }).wait, 5)
  assert.match(messageOf({ path: '/', waitMs: 5, wait: 6 }), /waitMs is another name of wait: give one of them$/)
  assert.match(messageOf({ path: '/', waitMs: 'x' }), /thing: waitMs is the string "x"/)
})

test('a name with a unit is told the name without one', () => {
  const SIZED = rules<{ readonly ttl?: number; readonly maxSize?: number; readonly maxOpenSize?: number }>('sized')({
    ttl: duration().optional(),
    maxSize: size().optional(),
    maxOpenSize: size().optional(),
  })
  for (const [name, meant] of [
    ['ttlMs', 'ttl'],
    ['maxBytes', 'maxSize'],
    ['maxOpenBytes', 'maxOpenSize'],
  ] as const)
    assert.throws(() => SIZED.read({ [name]: 1 }), new RegExp(`sized: there is no option "${name}", perhaps "${meant}";`))
})

test('options that need or exclude each other are told so, whatever name they have', () => {
  const TIED = rules<{ readonly a?: number; readonly b?: number; readonly c?: readonly number[]; readonly aBytes?: number }>('tied')(
    { a: size().optional(), b: size().optional(), c: list<number>().filled('say one').optional(), aBytes: alias('a') },
    { needs: { c: 'a' }, excludes: [['a', 'b']] },
  )
  assert.throws(() => TIED.read({ c: [1] }), /tied: c needs a$/)
  assert.throws(() => TIED.read({ aBytes: 1, b: 1 }), /tied: a and b exclude each other: give one of them$/)
  assert.throws(() => TIED.read({ a: 1, c: [] }), /tied: c is empty: say one$/)
  assert.deepEqual(TIED.read({ aBytes: 1, c: [1] }), { a: 1, b: undefined, c: [1] })
})

test('a secret is not repeated', () => {
  const KEYS = rules<{ readonly key: string; readonly list?: readonly string[] }>('keys')({
    key: secret('a text of 5 characters', (value) => typeof value === 'string' && value.length === 5),
    list: anything().optional(),
  })
  assert.throws(() => KEYS.read({ key: 'canary' }), /keys: key is a string, not a text of 5 characters$/)
})

test('a value of several kinds', () => {
  const MANY = rules<{ readonly key?: 'all' | (() => void); readonly name?: string | false; readonly own?: number }>('many')({
    key: oneOfOr('all').orNull(),
    name: text().also(false).or('weir'),
    own: readBy((value: number, owner, option) => `${owner} ${option} ${value}`).optional(),
  })
  assert.deepEqual(MANY.read({}), { key: null, name: 'weir', own: undefined })
  assert.deepEqual(MANY.read({ name: false, own: 1 }), { key: null, name: false, own: 'many own 1' })
  assert.throws(() => MANY.read({ name: true as never }), /name is true, not a string or false/)
  assert.throws(() => MANY.read({ key: 'al' as never }), /key is the string "al", not "all" or a function/)
})

test('a bare number that means seconds is refused where it would be milliseconds, with what to write', () => {
  const table = rules<{ readonly ttl?: number | `${number}ms` | `${number}s`; readonly age?: number }>('thing')({
    ttl: duration({ leastNumber: 1_000 }).or('1m'),
    age: duration({ unit: 1_000 }).or('1m'),
  })
  const refused = (options: object, message: RegExp): void =>
    assert.throws(() => table.read(options), { code: 'WEIR_OPTION_INVALID', message }, JSON.stringify(options))
  for (const ttl of [1, 60, 999])
    refused({ ttl }, new RegExp(`ttl is ${ttl}, .*: write "${ttl}s" if these are seconds, and "${ttl}ms" if they are milliseconds$`))
  refused({ ttl: 0 }, /ttl is 0, not whole milliseconds.*366 days$/)
  refused({ ttl: 1.5 }, /ttl is 1\.5/)
  refused({ age: 60 }, /age is 60, .*: write "60s" if these are seconds$/)
  assert.equal(table.read({ ttl: 1_000 }).ttl, 1_000)
  assert.equal(table.read({ ttl: '60ms' }).ttl, 60)
  assert.equal(table.read({ ttl: '60s' }).ttl, 60_000)
})
