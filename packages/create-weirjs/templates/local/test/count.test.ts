import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createServer } from '../src/app.ts'

test('the counter counts, and refuses what is not a count', async () => {
  const server = createServer({ logger: null })
  const count = (json: object) => server.inject({ method: 'POST', url: '/api/count', json })
  assert.deepEqual((await count({})).json(), { count: 1 })
  assert.deepEqual((await count({ by: 5 })).json(), { count: 6 })
  assert.equal((await count({ by: 'many' })).status, 400)
  assert.deepEqual((await server.inject('/api/count')).json(), { count: 6 })
})
