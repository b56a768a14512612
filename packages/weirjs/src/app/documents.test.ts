import assert from 'node:assert/strict'
import { test } from 'node:test'

import { documentsOf, noteDocument } from './documents.ts'

test('documents belong to their host, and one of the same name is replaced', () => {
  const [host, other] = [{}, {}]
  assert.equal(documentsOf(host).size, 0)
  noteDocument(host, 'a', () => 'old')
  noteDocument(host, 'b', () => 'b')
  noteDocument(host, 'a', () => 'new')
  assert.deepEqual(
    [...documentsOf(host)].map(([name, text]) => [name, text()]),
    [
      ['a', 'new'],
      ['b', 'b'],
    ],
  )
  assert.equal(documentsOf(other).size, 0)
})
