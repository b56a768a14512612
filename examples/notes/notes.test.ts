import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createServer } from './app.ts'

test('a note is kept', async () => {
  const server = createServer()
  const added = await server.inject({
    method: 'POST',
    url: '/notes',
    json: { title: 'Milk' },
  })
  assert.equal(added.status, 201)
  const shown = await server.inject('/notes/1')
  assert.deepEqual(shown.json(), { id: 1, title: 'Milk', text: '' })
})

test('a note without a title is refused', async () => {
  const refused = await createServer().inject({
    method: 'POST',
    url: '/notes',
    json: { title: '' },
  })
  assert.equal(refused.status, 400)
})
