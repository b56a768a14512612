import assert from 'node:assert/strict'
import { test } from 'node:test'

import { templateOf } from './http-conventions.ts'

test('mounted code is named by its path and a star, other routes by their template', () => {
  const names = ['ANY /**mountedPath', 'ANY /old/:id/**mountedPath', 'GET /users/:id', 'GET /files/**path'].map(templateOf)
  assert.deepEqual(names, ['/*', '/old/:id/*', '/users/:id', '/files/**path'])
})
