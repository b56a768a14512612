import assert from 'node:assert/strict'
import { test } from 'node:test'

import { checkObserver } from './observer.ts'

test('an observer has an end, and functions for what else it is told', () => {
  class Own {
    more = 1
    end(): void {}
  }
  assert.doesNotThrow(() => checkObserver(new Own()))
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
  for (const one of refused) assert.throws(() => checkObserver(one as never), { code: 'WEIR_OPTION_INVALID' }, JSON.stringify(one))
})
