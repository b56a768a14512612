import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { Fifo } from './fifo.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

test('values come out in the order in which they went in, however pushes and takes alternate', () => {
  const fifo = new Fifo<number>()
  const model: number[] = []
  for (let i = 0; i < 1_000; i++) {
    for (let k = i % 7; k > 0; k--) {
      fifo.push(i * 10 + k)
      model.push(i * 10 + k)
    }
    for (let k = i < 500 ? i % 5 : i % 11; k > 0; k--) assert.equal(fifo.shift(), model.shift())
    assert.equal(fifo.length, model.length)
    assert.equal(fifo.first, model[0])
  }
  fifo.clear()
  assert.deepEqual([fifo.length, fifo.first, fifo.shift(), fifo.length], [0, undefined, undefined, 0])
})

test('a value that was taken is not kept', async () => {
  const fifo = new Fifo<object>()
  const references: WeakRef<object>[] = []
  for (let i = 0; i < 20; i++) {
    const value = {}
    fifo.push(value)
    references.push(new WeakRef(value))
  }
  for (let i = 0; i < 10; i++) fifo.shift()
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  assert.deepEqual(
    references.map((one) => one.deref() === undefined),
    references.map((_, i) => i < 10),
  )
})
