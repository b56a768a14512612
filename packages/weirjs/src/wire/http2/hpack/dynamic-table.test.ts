import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { DynamicTable } from './dynamic-table.ts'
import { HeaderField } from './header-field.ts'

const field = (name: string, bytes = 0): HeaderField => new HeaderField(name, 'x'.repeat(bytes))
const namesIn = (table: DynamicTable): string[] => Array.from({ length: table.count }, (_, age) => table.at(age).name)

test('the newest entry is first, and the oldest go when there is no room', () => {
  const table = new DynamicTable(100)
  table.add(field('a'))
  table.add(field('b'))
  table.add(field('c'))
  assert.deepEqual([namesIn(table), table.bytes], [['c', 'b', 'a'], 99])
  table.add(field('d', 33))
  assert.deepEqual([namesIn(table), table.bytes], [['d', 'c'], 99])
})

test('an entry of the size of the table has it alone; one that is larger empties it', () => {
  const table = new DynamicTable(50)
  table.add(field('a'))
  table.add(field('b', 17))
  assert.deepEqual([namesIn(table), table.bytes], [['b'], 50])
  table.add(field('c', 18))
  assert.deepEqual([namesIn(table), table.bytes], [[], 0])
})

test('a smaller size evicts, a larger one brings nothing back', () => {
  const table = new DynamicTable(100)
  for (const name of ['a', 'b', 'c']) table.add(field(name))
  table.resize(66)
  assert.deepEqual(namesIn(table), ['c', 'b'])
  table.resize(0)
  assert.deepEqual([namesIn(table), table.bytes], [[], 0])
  table.add(field('d'))
  assert.deepEqual(namesIn(table), [])
  table.resize(100)
  table.add(field('e'))
  assert.deepEqual(namesIn(table), ['e'])
})

test('whatever is added and whatever its size becomes, it is a list that is cut at its end', () => {
  const act = fc.oneof(
    { weight: 8, arbitrary: fc.record({ bytes: fc.nat(120) }) },
    { weight: 1, arbitrary: fc.record({ maxBytes: fc.nat(400) }) },
  )
  fc.assert(
    fc.property(fc.nat(400), fc.array(act, { maxLength: 80 }), (maxBytes, acts) => {
      const table = new DynamicTable(maxBytes)
      let limit = maxBytes
      let model: HeaderField[] = []
      const sizeOf = (list: readonly HeaderField[]): number => list.reduce((sum, { size }) => sum + size, 0)
      acts.forEach((one, i) => {
        if ('bytes' in one) {
          const added = field(String(i), one.bytes)
          table.add(added)
          model = added.size > limit ? [] : [added, ...model]
        } else {
          limit = one.maxBytes
          table.resize(limit)
        }
        while (sizeOf(model) > limit) model.pop()
        assert.deepEqual([namesIn(table), table.bytes, table.count], [model.map(({ name }) => name), sizeOf(model), model.length])
      })
    }),
  )
})
