import assert from 'node:assert/strict'
import { test } from 'node:test'

import { inTurn } from './file-turns.ts'

test('at most 16 run at a time, in the order of their calls, whether they succeed or fail', async () => {
  const started: number[] = []
  let running = 0
  let most = 0
  const calls = Array.from({ length: 200 }, (_, i) =>
    inTurn(async () => {
      started.push(i)
      most = Math.max(most, ++running)
      await new Promise((resolve) => setImmediate(resolve))
      running--
      if (i % 3 === 0) throw new Error(String(i))
      return i
    }),
  )
  const results = await Promise.allSettled(calls)
  assert.equal(most, 16)
  assert.deepEqual(
    started,
    calls.map((_, i) => i),
  )
  assert.deepEqual(
    results.map((one) => (one.status === 'fulfilled' ? one.value : Number((one.reason as Error).message))),
    started,
  )
  assert.equal(await inTurn(async () => 'later'), 'later')
})
