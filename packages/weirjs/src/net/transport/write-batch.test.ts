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

/** A response that is ready `afterMs` after the one before. */
function answer(name: string, afterMs = 0.01): void {
  now += afterMs
  batch.add({ flush: () => void (written += name) })
}

/** Enough responses that the next ones are gathered. */
function manyAnswers(): void {
  for (let i = 0; i < 9; i++) answer('.')
  assert.equal(written, '.........', 'these were written immediately')
  written = ''
}

test('responses that arrive one by one are written immediately', () => {
  for (let i = 1; i < 30; i++) {
    answer('a', 0.05)
    assert.equal(written.length, i)
  }
})

test('responses in close succession wait for one turn of the event loop, and are written in order', async () => {
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

test('if only few responses waited, the next one does not', async () => {
  manyAnswers()
  for (const name of 'abc') answer(name)
  await turn()
  answer('d')
  assert.equal(written, 'abcd')
})

test('the first response after a pause does not wait, whether many waited before it or none', async () => {
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

test('responses that each took long do not wait for one another', async () => {
  manyAnswers()
  for (const name of 'abcde') answer(name)
  now += 1
  await turn()
  answer('f')
  assert.equal(written, 'abcdef')
})

test('the first of many waiting responses does not wait for long', () => {
  manyAnswers()
  for (const name of 'abcdefgh') answer(name, 0.03)
  assert.equal(written, '')
  for (const name of 'ijklmnop') answer(name, 0.06)
  assert.equal(written, 'abcdefghijklmnop')
})

test('a response that becomes ready while others are written is written too', async () => {
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
