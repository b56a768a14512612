import assert from 'node:assert/strict'
import { AsyncResource } from 'node:async_hooks'
import { test } from 'node:test'

import type { Transport } from '../transport/transport.ts'
import { SwitchedLink } from './switched-link.ts'

test('the client has read when some of what waited has gone out, and nothing is known while nothing waits', () => {
  const transport = { unsentBytes: 0, sentBytes: 0, handOver() {} }
  const link = new SwitchedLink(transport as unknown as Transport, false, () => {}, new AsyncResource('test'))
  const after = (sentBytes: number, unsentBytes: number): boolean => {
    Object.assign(transport, { sentBytes, unsentBytes })
    return link.hasBeenRead()
  }
  assert.equal(after(0, 0), false)
  assert.equal(after(500, 0), false)
  assert.equal(after(500, 1_000), false)
  assert.equal(after(500, 2_000), false)
  assert.equal(after(501, 1_999), true)
  assert.equal(after(501, 1_999), false)
  assert.equal(after(2_500, 0), true)
  assert.equal(after(2_500, 1_000), false)
})
