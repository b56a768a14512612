import assert from 'node:assert/strict'
import { test } from 'node:test'

import { type Duration, millisecondsOf } from './duration.ts'

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
  for (const [duration, ms] of cases) assert.equal(millisecondsOf('test', 'window', duration), ms, String(duration))
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
  for (const duration of wrong)
    assert.throws(
      () => millisecondsOf('rateLimit', 'window', duration as Duration),
      { code: 'WEIR_OPTION_INVALID', message: /rateLimit: window is .*, not whole milliseconds or a time such as/s },
      String(duration),
    )
})
