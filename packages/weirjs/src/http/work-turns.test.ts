import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { awaitTurn, countWork, mayWork } from './work-turns.ts'

test('clients take turns, however much one of them sends', async () => {
  countWork(1024)
  assert.equal(mayWork(), false)
  const gone: string[] = []
  const wait = (client: string, name: string) =>
    awaitTurn(client, () => {
      gone.push(name)
      countWork(1024)
    })
  for (const n of [1, 2, 3]) wait('2001:db8::1', `many ${n}`)
  wait('2001:db8::2', 'many 4') // the same network
  wait('192.0.2.1', 'one')
  for (const many of [1, 2, 3, 4, 5]) {
    await nextTurn()
    assert.equal(gone.length, many)
  }
  assert.deepEqual(gone, ['many 1', 'one', 'many 2', 'many 3', 'many 4'])
  await nextTurn()
  assert.equal(mayWork(), true)
})

test('who waits again during a turn does so for the next one', async () => {
  const gone: string[] = []
  const again = (): void => {
    gone.push('again')
    if (gone.length < 10) awaitTurn('192.0.2.1', again)
  }
  awaitTurn('192.0.2.1', again)
  awaitTurn('192.0.2.2', () => gone.push('once'))
  await nextTurn()
  assert.deepEqual(gone, ['again', 'once'])
  await nextTurn()
  assert.deepEqual(gone, ['again', 'once', 'again'])
  while (gone.length < 10) await nextTurn()
})
