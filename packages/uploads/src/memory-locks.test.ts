import assert from 'node:assert/strict'
import { test } from 'node:test'

import { TestClock } from '../../weirjs/src/testing/test-clock.ts'
import { memoryLocks } from './memory-locks.ts'
import type { UploadLock } from './upload-locks.ts'

const nobody = (): void => {}

test('asks the holder once, and passes the lock on in order', async () => {
  const locks = memoryLocks()
  const clock = new TestClock()
  const asked: string[] = []
  const first = (await locks.acquire('a', () => asked.push('first'), 1000, clock))!
  const second = locks.acquire('a', () => asked.push('second'), 1000, clock)
  const third = locks.acquire('a', () => asked.push('third'), 1000, clock)
  assert.deepEqual(asked, ['first'])
  assert.equal(first.isHeld(), true)
  await first.release()
  assert.equal(first.isHeld(), false)
  const held = (await second) as UploadLock
  assert.deepEqual(asked, ['first', 'second'])
  await held.release()
  await first.release() // a second time: it must not release the lock of another
  const last = (await third)!
  assert.equal(last.isHeld(), true)
  assert.equal(await locks.acquire('a', nobody, 0, clock), null)
  assert.deepEqual(asked, ['first', 'second'])
  await last.release()
  assert.ok(await locks.acquire('a', nobody, 0, clock))
  assert.equal(clock.running, 0)
})

test('gives up when the time is over, and gets nothing later', async () => {
  const locks = memoryLocks()
  const clock = new TestClock()
  const first = (await locks.acquire('a', nobody, 1000, clock))!
  const second = locks.acquire('a', nobody, 1000, clock)
  assert.ok(await locks.acquire('b', nobody, 1000, clock))
  await clock.advance(1000)
  assert.equal(await second, null)
  await first.release()
  assert.ok(await locks.acquire('a', nobody, 0, clock))
})

test('passes the lock on in order, whoever has given up in between, and whoever has come since', async () => {
  const locks = memoryLocks()
  const clock = new TestClock()
  const granted: number[] = []
  const first = (await locks.acquire('a', nobody, 1000, clock))!
  const wait = (number: number, waitMs: number): void =>
    void locks.acquire('a', nobody, waitMs, clock).then((lock) => {
      if (lock === null) return
      granted.push(number)
      if (number === 2) for (const late of [1000, 1001, 1002]) wait(late, 1000)
      void lock.release()
    })
  for (let number = 0; number < 1000; number++) wait(number, number % 3 === 0 ? 500 : 1000)
  await clock.advance(500)
  const inOrder = Array.from({ length: 1000 }, (_, number) => number).filter((number) => number % 3 !== 0)
  for (const [release, expected] of [
    [first, inOrder],
    [null, [...inOrder, 1000, 1001, 1002]],
  ] as const) {
    await release?.release()
    const last = (await locks.acquire('a', nobody, 1000, clock))!
    assert.deepEqual(granted, expected)
    await last.release()
  }
  assert.equal(clock.running, 0)
})
