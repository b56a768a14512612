import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'

import { WriteBatch } from './write-batch.ts'

let now = 0
let written = ''
let batch = new WriteBatch(() => now)

beforeEach(() => {
  now = 1000
  written = ''
  batch = new WriteBatch(() => now)
})

/** An answer that is ready `afterMs` behind the one before. */
function answer(name: string, afterMs = 0.01): void {
  now += afterMs
  batch.add({ flush: () => void (written += name) })
}

/** So many answers that the next are gathered. */
function manyAnswers(): void {
  for (let i = 0; i < 9; i++) answer('.')
  assert.equal(written, '.........', 'these were written at once')
  written = ''
}

test('answers that come one by one are written at once', () => {
  for (let i = 1; i < 30; i++) {
    answer('a', 0.05)
    assert.equal(written.length, i)
  }
})

test('answers that follow one another closely wait for the event loop to go round, and are written in their order', async () => {
  manyAnswers()
  for (const name of 'abcde') answer(name)
  assert.equal(written, '')
  await turn()
  assert.equal(written, 'abcde')
  for (const name of 'fghij') answer(name)
  assert.equal(written, 'abcde')
  await turn()
  assert.equal(written, 'abcdefghij')
})

test('where few waited the next does not', async () => {
  manyAnswers()
  for (const name of 'abc') answer(name)
  await turn()
  answer('d')
  assert.equal(written, 'abcd')
})

test('the first behind a pause does not wait, whether many waited before it or none', async () => {
  manyAnswers()
  answer('a', 6)
  assert.equal(written, 'a')
  written = ''
  now += 6
  manyAnswers()
  for (const name of 'abcde') answer(name)
  await turn()
  answer('f', 6)
  assert.equal(written, 'abcdef')
})

test('where each took long none waits for another', async () => {
  manyAnswers()
  for (const name of 'abcde') answer(name)
  now += 1
  await turn()
  answer('f')
  assert.equal(written, 'abcdef')
})

test('of many that wait the first does not wait for long', () => {
  manyAnswers()
  for (const name of 'abcdefgh') answer(name, 0.03)
  assert.equal(written, '')
  for (const name of 'ijklmnop') answer(name, 0.06)
  assert.equal(written, 'abcdefghijklmnop')
})

test('an answer that comes while others are written is written too', async () => {
  manyAnswers()
  answer('a')
  batch.add({
    flush: () => {
      written += 'b'
      answer('d')
    },
  })
  answer('c')
  await turn()
  assert.equal(written, 'abcd')
})
