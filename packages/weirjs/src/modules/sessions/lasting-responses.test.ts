import assert from 'node:assert/strict'
import { test } from 'node:test'

import { eventually } from '../../../test/support/serving.ts'
import { Turns } from '../../../test/support/turns.ts'
import { LastingResponses } from './lasting-responses.ts'

/** Responses by name, and the names of those that were ended. */
function responses() {
  const lasting = new LastingResponses()
  const ended: string[] = []
  return { lasting, ended, open: (id: string, name: string, since = lasting.givenUp) => lasting.add(id, since, () => ended.push(name)) }
}

test('those of a session that is over end, and no others', () => {
  const { lasting, ended, open } = responses()
  for (const [id, name] of [
    ['ann', 'a'],
    ['ann', 'b'],
    ['bob', 'c'],
  ] as const)
    open(id, name)
  const end = lasting.replace('ann', null)
  assert.deepEqual(ended, [], 'not before the response to the request that ends it')
  end()
  assert.deepEqual(ended, ['a', 'b'])
})

test('nothing is kept of those that have ended', () => {
  const { lasting, ended, open } = responses()
  const leaves = [open('ann', 'a'), open('ann', 'b'), open('bob', 'c')]
  lasting.replace('bob', 'bob again')
  assert.equal(lasting.size, 2)
  for (const leave of leaves) leave()
  for (const leave of leaves) leave()
  assert.equal(lasting.size, 0)
  lasting.replace('ann', null)()
  lasting.replace('bob again', null)()
  assert.deepEqual(ended, [])
})

test('one that ends between the sign-out and the end of its response is not ended again', () => {
  const { lasting, ended, open } = responses()
  const leave = open('ann', 'a')
  open('ann', 'b')
  const end = lasting.replace('ann', null)
  leave()
  end()
  assert.deepEqual(ended, ['b'])
  assert.equal(lasting.size, 0)
})

test('they go on under a new id, and so do those that are opened late under the old one', () => {
  const { lasting, ended, open } = responses()
  open('1', 'early')
  lasting.replace('1', '2')()
  lasting.replace('2', '3')()
  open('1', 'late')
  assert.deepEqual(ended, [])
  lasting.replace('3', null)()
  assert.deepEqual(ended, ['early', 'late'])
})

test('one that is opened late ends at once if its session is over', () => {
  const { lasting, ended, open } = responses()
  lasting.replace('1', '2')()
  lasting.replace('2', null)()
  open('1', 'late')()
  assert.deepEqual(ended, ['late'])
  assert.equal(lasting.size, 0)
})

test('an id that comes back leads in no circle', () => {
  const { lasting, ended, open } = responses()
  lasting.replace('1', '2')()
  lasting.replace('2', '1')()
  lasting.replace('1', '1')()
  open('2', 'a')
  assert.deepEqual(ended, [])
  lasting.replace('1', null)()
  assert.deepEqual(ended, ['a'])
})

test('ids that were given up are remembered for a while, and whoever is later than that is ended', () => {
  const { lasting, ended, open } = responses()
  const since = lasting.givenUp
  lasting.replace('0', null)()
  const afterFirst = lasting.givenUp
  for (let i = 1; i < 1_001; i++) lasting.replace(`${i}`, null)()
  open('0', 'held back until its end was forgotten', since)
  open('1', 'remembered', afterFirst)
  open('other', 'found since', afterFirst)
  assert.deepEqual(ended, ['held back until its end was forgotten', 'remembered'])
  lasting.replace('other', null)()
  assert.equal(ended.at(-1), 'found since')
})

test('an id that is given up again is not the first to be forgotten', () => {
  const { lasting, ended, open } = responses()
  lasting.replace('again', null)()
  for (let i = 1; i < 1_000; i++) lasting.replace(`${i}`, null)()
  const since = lasting.givenUp
  lasting.replace('again', null)()
  lasting.replace('other', null)()
  open('again', 'a', since)
  assert.deepEqual(ended, ['a'])
})

test('the many responses of a session end in several turns, and another session does not wait for all of them', async (t) => {
  const turns = new Turns(t)
  const lasting = new LastingResponses()
  const ended: string[] = []
  const open = (id: string) =>
    lasting.add(id, lasting.givenUp, () => {
      turns.count()
      ended.push(id)
    })
  const leaves = Array.from({ length: 2_000 }, () => open('ann'))
  open('bob')
  lasting.replace('ann', null)()
  lasting.replace('bob', null)()
  leaves.at(-1)!() // its client leaves while it waits
  await eventually(() => ended.length >= 2_000, 'all have ended')
  assert.equal(ended.length, 2_000)
  assert.ok(turns.most <= 2 * 256, `${turns.most} in one turn`) // the check phase may have two parts
  assert.ok(ended.indexOf('bob') <= 2 * 256, `${ended.indexOf('bob')} came first`)
})
