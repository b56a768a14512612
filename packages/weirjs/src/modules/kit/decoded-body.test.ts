import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { eventually } from '../../../test/support/serving.ts'
import { Turns } from '../../../test/support/turns.ts'
import { RequestBody, STREAMED } from '../../http/body/body.ts'
import { DecodedBody } from './decoded-body.ts'

/** A body of so many decoded bytes, all of which come at once. */
function decode(size: number, onEnd: () => void): DecodedBody {
  const received = new RequestBody(-1, { isGating: false, demand: () => {} }, STREAMED)
  const body = new DecodedBody('the test', '192.0.2.1', received, (coded) => ({
    keepsBytes: true,
    demand() {
      coded.take()
      received.finish()
    },
    data: () => true,
    end() {
      coded.push(new Uint8Array(size))
      coded.finish()
    },
    fail() {},
    release() {},
  }))
  body.take('the test', { keepsBytes: true, data: () => true, end: onEnd, fail: assert.fail })
  return body
}

for (const [size, most] of [
  [600 * 1024, 1],
  [60 * 1024, 5],
] as const)
  test(`of bodies of ${size} bytes that are decoded at the same time, about 256 KiB end in a turn of the event loop`, async (t) => {
    const turns = new Turns(t)
    for (let i = 0; i < 20; i++) decode(size, () => turns.count())
    assert.ok(turns.all <= most, `${turns.all} at first`)
    await eventually(() => turns.all === 20, 'the ends of all')
    assert.ok(turns.most <= 2 * most, `${turns.most} at once`)
  })

test('small bodies do not wait, and one whose request is over does not end', async () => {
  // What other tests have decoded counts in their turns.
  await nextTurn()
  await nextTurn()
  const ended: string[] = []
  for (let i = 0; i < 2; i++) decode(600 * 1024, () => ended.push('large'))
  const late = decode(600 * 1024, () => ended.push('late'))
  decode(3 * 1024, () => ended.push('small'))
  assert.deepEqual(ended, ['large', 'small'])
  late.expire('/', false)
  decode(600 * 1024, () => ended.push('last'))
  await eventually(() => ended.includes('last'), 'the last one')
  assert.deepEqual(ended, ['large', 'small', 'large', 'last'])
})
