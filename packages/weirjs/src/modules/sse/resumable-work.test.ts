import assert from 'node:assert/strict'
import { test } from 'node:test'

import { gate } from '../../../test/support/serving.ts'
import { Turns } from '../../../test/support/turns.ts'
import { TestClock } from '../../testing/test-clock.ts'
import { Work } from './resumable-work.ts'

test('many works whose sources never really wait share the turns of the event loop', async (t) => {
  const turns = new Turns(t)
  const started = gate()
  async function* events() {
    await started.promise
    yield 'all begin at once'
    for (let i = 0; i < 4; i++) {
      turns.count()
      yield String(i)
    }
  }
  const runs = Array.from({ length: 3_000 }, (_, i) => {
    const ended = gate()
    new Work({
      client: `client ${i % 3}`,
      run: String(i),
      epoch: 0,
      kept: 0,
      keptBytes: 0,
      maxEvents: 100,
      maxSize: 10_000,
      maxTime: 1_000,
      clock: new TestClock(),
      onError: () => {},
      publish: ({ kind }) => {
        if (kind === 'end') ended.open()
        return null
      },
    }).begin(events)
    return ended.promise
  })
  started.open()
  await Promise.all(runs)
  assert.equal(turns.all, 12_000)
  assert.ok(turns.most <= 2 * 512, `${turns.most} in one turn`) // the check phase may have two parts
})
