import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Turns } from '../../weirjs/test/support/turns.ts'
import { inDecodingTurn } from '../src/decoding-turns.ts'

test('messages that take long to decode take turns of the event loop, and so do their clients', async (t) => {
  const turns = new Turns(t)
  const order: string[] = []
  const decode = (client: string, name: string): string | Promise<string> =>
    inDecodingTurn(client, 60_000, () => {
      for (const start = performance.now(); performance.now() - start < 15; );
      turns.count()
      order.push(name)
      return name
    })
  assert.equal(decode('192.0.2.1', 'first'), 'first')
  const others = [1, 2, 3, 4].map((number) => decode('192.0.2.1', `many ${number}`))
  const one = decode('192.0.2.2', 'one')
  const bad = inDecodingTurn('192.0.2.2', 60_000, () => {
    throw new Error('bad')
  })
  assert.equal(
    inDecodingTurn('192.0.2.3', 10, () => 'small'),
    'small',
  )
  assert.deepEqual(order, ['first'])
  assert.equal(await one, 'one')
  await assert.rejects(bad as Promise<unknown>, { message: 'bad' })
  assert.deepEqual(await Promise.all(others), ['many 1', 'many 2', 'many 3', 'many 4'])
  assert.deepEqual(order, ['first', 'many 1', 'one', 'many 2', 'many 3', 'many 4'])
  assert.ok(turns.most <= 2, `${turns.most} messages in one turn`)
})
