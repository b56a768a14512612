import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { ExchangeHandle } from '../kit/exchange.ts'
import type { CacheEntry } from './cache-entry.ts'
import { MemoryEntries } from './memory-entries.ts'

const exchange = {} as ExchangeHandle
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function entryOf(...tags: string[]): CacheEntry {
  return { kept: { keepForms() {}, body: null, type: null, fields: [] }, tags, vary: { names: [], values: '' } } as unknown as CacheEntry
}

test('all entries with a tag are gone at once, and few of them are removed from memory in one turn', async () => {
  const memory = new MemoryEntries(64 * 1024 * 1024)
  const entries = 5_000
  for (let i = 0; i < entries; i++) memory.put(String(i), exchange, entryOf('path', `own ${i}`))
  memory.put('other', exchange, entryOf('elsewhere'))
  memory.dropTagged('path')
  for (let i = 0; i < entries; i++) assert.equal(memory.find(String(i), exchange).entry, null)
  const again = entryOf('path')
  memory.put('4999', exchange, again)
  let before = memory.count
  assert.ok(before >= entries - 1_000, `${before} are left`)
  for (let turns = 0; memory.count > 2; turns++) {
    await nextTurn()
    assert.ok(before - memory.count <= 2_000, `${before - memory.count} in one turn`)
    assert.ok(turns < entries, 'they are removed in the end')
    before = memory.count
  }
  assert.equal(memory.find('4999', exchange).entry, again)
  assert.notEqual(memory.find('other', exchange).entry, null)
  memory.dropTagged('own 4999') // which only the entry had that was replaced
  assert.equal(memory.find('4999', exchange).entry, again)
})

test('a form that is made of an entry after it was dropped does not bring it back', () => {
  const memory = new MemoryEntries(1024 * 1024)
  let grow = (_: number): void => {}
  const entry = entryOf('path')
  Object.assign(entry.kept, { keepForms: (listener: (bytes: number) => void) => (grow = listener) })
  memory.put('a', exchange, entry)
  memory.put('b', exchange, entryOf('path'))
  grow(100)
  assert.equal(memory.find('a', exchange).entry, entry)
  memory.dropTagged('path')
  grow(100)
  assert.equal(memory.find('a', exchange).entry, null)
})
