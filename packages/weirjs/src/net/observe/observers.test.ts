import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Observers } from './observers.ts'

test('an observer has an end, and functions for what else it is told', () => {
  const observers = new Observers(() => {})
  class Own {
    more = 1
    end(): void {}
  }
  assert.doesNotThrow(() => observers.add(new Own()))
  const refused = [
    null,
    undefined,
    () => {},
    {},
    { end: true },
    { end: () => {}, begin: 1 },
    { end() {}, started: 'x' },
    { end() {}, stopped: {} },
  ]
  for (const one of refused) assert.throws(() => observers.add(one as never), { code: 'WEIR_OPTION_INVALID' }, JSON.stringify(one))
})
