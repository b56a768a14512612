import assert from 'node:assert/strict'
import { test } from 'node:test'

import { upgradeOfHandler, upgradesTo } from './upgrade-handler.ts'

test('a marked handler is known by its protocol and its messages', () => {
  const handler = upgradesTo('websocket', () => {})
  assert.deepEqual(upgradeOfHandler(handler), { protocol: 'websocket', messages: null })
  const messages = { receives: null, sends: null }
  assert.equal(upgradeOfHandler(upgradesTo('websocket', () => {}, messages))?.messages, messages)
  assert.equal(upgradeOfHandler(handler.bind(null)), null, 'only the marked function is known, not what is made of it')
})
