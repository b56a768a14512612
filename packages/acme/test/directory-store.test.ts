// The store in a directory: closed to others, and a lock that one at a time has.

import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { TestClock } from 'weirjs/testing'

import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { openDirectory } from '../src/directory-store.ts'

const TTL_MS = 60_000

test('the directory has the mode 700, each file 600, whatever the umask; one that others can read is refused', async (t) => {
  const path = join(temporaryDirectory(t), 'deep', 'store')
  const before = process.umask(0)
  t.after(() => process.umask(before))
  const store = await openDirectory(path, new TestClock(), 'acme')
  await store.set('a.pem', 'first')
  await store.set('a.pem', 'second')
  await store.lock('ca.lock', 'me', TTL_MS)
  assert.equal(await store.get('a.pem'), 'second')
  assert.equal(await store.get('b.pem'), null)
  assert.equal(statSync(path).mode & 0o777, 0o700)
  assert.deepEqual(readdirSync(path).sort(), ['a.pem', 'ca.lock.1'])
  for (const file of readdirSync(path)) assert.equal(statSync(join(path, file)).mode & 0o777, 0o600)
  await store.delete('a.pem')
  await store.delete('a.pem')
  assert.equal(await store.get('a.pem'), null)
  chmodSync(path, 0o750)
  await assert.rejects(openDirectory(path, new TestClock(), 'acme'), /with the mode 750, and it has keys: its mode must be 700/)
  const file = join(path, 'file')
  writeFileSync(file, '')
  await assert.rejects(openDirectory(file, new TestClock(), 'acme'))
})

test('of many processes, one gets the lock; it keeps it, gives it back, and loses it when its time is over', async (t) => {
  const path = join(temporaryDirectory(t), 'store')
  mkdirSync(path, { mode: 0o700 })
  const clock = new TestClock()
  const owners = Array.from({ length: 8 }, (_, i) => `owner ${i}`)
  const stores = await Promise.all(owners.map(() => openDirectory(path, clock, 'acme')))
  const contend = async (): Promise<string[]> => {
    const got = await Promise.all(stores.map((store, i) => store.lock('ca.lock', owners[i]!, TTL_MS)))
    return owners.filter((_, i) => got[i])
  }
  for (let round = 0; round < 60; round++) {
    const winners = await contend()
    assert.equal(winners.length, 1, `round ${round}: ${winners.join(', ')}`)
    const winner = owners.indexOf(winners[0]!)
    await clock.advance(TTL_MS - 1)
    assert.deepEqual(await contend(), winners, 'it keeps what it has')
    await clock.advance(TTL_MS - 1)
    for (const [i, store] of stores.entries()) if (i !== winner) await store.unlock('ca.lock', owners[i]!)
    assert.equal(await stores[(winner + 1) % owners.length]!.lock('ca.lock', owners[(winner + 1) % owners.length]!, TTL_MS), false)
    if (round % 2 === 0) await stores[winner]!.unlock('ca.lock', winners[0]!)
    else await clock.advance(2)
  }
  assert.ok(readdirSync(path).length <= 2, readdirSync(path).join(', '))
})

test('a lock that was taken by a clock that was years ahead is free once the clock is right', async (t) => {
  const path = join(temporaryDirectory(t), 'store')
  const clock = new TestClock()
  const ahead = { now: () => clock.now(), wallTime: () => clock.wallTime() + 10 * 365 * 86_400_000, every: () => () => {} }
  assert.equal(await (await openDirectory(path, ahead, 'acme')).lock('ca.lock', 'killed', TTL_MS), true)
  const store = await openDirectory(path, clock, 'acme')
  assert.equal(await store.lock('ca.lock', 'me', TTL_MS), true)
  assert.equal(await store.lock('ca.lock', 'other', TTL_MS), false)
})

test('a lock that is no text of ours is free', async (t) => {
  const path = temporaryDirectory(t)
  writeFileSync(join(path, 'ca.lock.7'), 'nonsense')
  const store = await openDirectory(path, new TestClock(), 'acme')
  assert.equal(await store.lock('ca.lock', 'me', TTL_MS), true)
  assert.deepEqual(readdirSync(path), ['ca.lock.8'])
})
