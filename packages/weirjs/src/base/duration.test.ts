import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Duration } from './duration.ts'
import { duration, size } from './option-kinds.ts'

const PLACE = { owner: 'rateLimit', option: 'window' }

test('reads milliseconds, and whole numbers with a unit', () => {
  const cases: readonly [Duration, number][] = [
    [1, 1],
    [60_000, 60_000],
    ['250ms', 250],
    ['30s', 30_000],
    ['1m', 60_000],
    ['12h', 43_200_000],
    ['7d', 604_800_000],
    ['366d', 366 * 86_400_000],
  ]
  for (const [given, ms] of cases) assert.equal(duration().read(given, PLACE), ms, String(given))
})

test('refuses anything else, by name', () => {
  const wrong: readonly unknown[] = [
    0,
    -1,
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '',
    '1',
    'm',
    '1.5h',
    '-1s',
    '1 m',
    '1M',
    '0s',
    '367d',
    '1m\n',
    null,
    {},
    true,
  ]
  for (const given of wrong)
    assert.throws(
      () => duration().read(given, PLACE),
      { code: 'WEIR_OPTION_INVALID', message: /rateLimit: window is .*, not whole milliseconds or a time such as/s },
      String(given),
    )
})

test('a time may be zero, whole seconds, or longer, where an option says so', () => {
  assert.equal(duration({ least: 0 }).read('0s', PLACE), 0)
  assert.equal(duration({ least: 0 }).read(0, PLACE), 0)
  assert.equal(duration({ unit: 1_000 }).read('2m', PLACE), 120_000)
  assert.throws(
    () => duration({ unit: 1_000 }).read(600, PLACE),
    /window is 600, not whole seconds in milliseconds or .*: write "600s" if these are seconds/,
  )
  assert.throws(() => duration({ least: 2_000 }).read('1s', PLACE), /at least 2000 ms/)
  assert.equal(duration({ most: 1e12 }).read('400d', PLACE), 400 * 86_400_000)
  assert.equal(duration({ fractions: true }).read(1.5, PLACE), 1.5)
})

test('reads bytes, and whole numbers with a unit of 1,024', () => {
  const cases: readonly [unknown, number][] = [
    [0, 0],
    [5, 5],
    ['1B', 1],
    ['64KiB', 65_536],
    ['10MiB', 10_485_760],
    ['2GiB', 2_147_483_648],
  ]
  for (const [given, bytes] of cases) assert.equal(size().read(given, PLACE), bytes, String(given))
  for (const given of [
    -1,
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '',
    '5',
    '1.5MiB',
    '5 MiB',
    '5mib',
    '5MB',
    '9999999999999GiB',
    null,
    {},
    true,
  ])
    assert.throws(() => size().read(given, PLACE), { code: 'WEIR_OPTION_INVALID' }, String(given))
  assert.throws(() => size({ least: 1 }).read('0KiB', PLACE), /of at least 1 or a size such as/)
})

test('what other libraries accept is refused with what to write', () => {
  const hints: readonly (readonly [given: string, write: string])[] = [
    ['30', '"30s" if these are seconds'],
    ['30 s', '"30s"'],
    ['30min', '"30m"'],
    ['30 Minutes', '"30m"'],
    ['1.5h', '"90m"'],
    ['0.25 sec', '"250ms"'],
    ['2 weeks', '"14d"'],
    ['12HOURS', '"12h"'],
  ]
  for (const [given, write] of hints)
    assert.throws(
      () => duration().read(given as Duration, PLACE),
      (error: Error) => error.message.endsWith(`: write ${write}`),
      given,
    )
  for (const given of ['30x', '1.5', 'h', '10MiB', '0 days', '1e9s', ' 30s']) {
    assert.throws(
      () => duration().read(given as Duration, PLACE),
      (error: Error) => error.message.endsWith('of at most 366 days'),
      given,
    )
  }
  assert.throws(() => size().read('30s' as never, PLACE), /or "10MiB"$/, 'a size is not told to be a time')
})
