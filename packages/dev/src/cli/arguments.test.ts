import assert from 'node:assert/strict'
import { test } from 'node:test'

import { parseCommand, UsageError } from './arguments.ts'

test('explain needs the URL of a request', () => {
  for (const [url, message] of [
    ['POST', '"POST" is not a path such as /users/5'],
    ['users', '"users" is not a path such as /users/5'],
  ] as const)
    assert.throws(() => parseCommand(['explain', 'app.js', url]), new UsageError(message, 'explain'))
  for (const url of ['/users/5', '*', 'https://app.example.com/users/5']) {
    const parsed = parseCommand(['explain', 'app.js', url])
    assert.equal(parsed.name === 'explain' && parsed.request.url, url)
  }
})
