import assert from 'node:assert/strict'
import { test } from 'node:test'

import { upgradeOfHandler, upgradesTo } from './upgrade-handler.ts'

test('only the marked function is known, not what is made of it', () => {
  const handler = upgradesTo('websocket', () => {})
  assert.equal(upgradeOfHandler(handler), 'websocket')
  assert.equal(upgradeOfHandler(handler.bind(null)), null)
})
