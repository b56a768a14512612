import assert from 'node:assert/strict'
import { test } from 'node:test'

import { t } from './t.ts'

const day = (text: string) => new Date(text)

for (const [what, declare, min, max] of [
  ['numbers', () => t.int.min(5).max(3), '5', '3'],
  ['numbers, the other way', () => t.number.max(-0.5).min(0), '0', '-0.5'],
  ['characters', () => t.string.min(5).max(3), '5', '3'],
  ['elements', () => t.array(t.int).max(3).min(5), '5', '3'],
  ['properties', () => t.record(t.int).min(5).max(3), '5', '3'],
  ['bigints', () => t.bigint.min(5n).max(3n), '5n', '3n'],
  ['days', () => t.date.min(day('2025-01-02')).max(day('2024-01-31')), "new Date('2025-01-02')", "new Date('2024-01-31')"],
  [
    'moments',
    () => t.dateTime.max(day('2024-01-31')).min(day('2025-01-02')),
    "new Date('2025-01-02T00:00:00.000Z')",
    "new Date('2024-01-31T00:00:00.000Z')",
  ],
] as const)
  test(`a minimum above the maximum, of ${what}, says both values and what to write`, () => {
    const message = `an option or argument is invalid: .min(${min}): it is above .max(${max}): write .min(${max}).max(${min})`
    assert.throws(declare, { code: 'WEIR_OPTION_INVALID', message })
  })
