import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { HttpSession } from '../../weirjs/src/http/session.ts'

import { locationOf } from './upload-fields.ts'

function locationAt(url: string, queryString = ''): string {
  return locationOf({ request: { url, queryString } } as HttpSession, 'id')
}

test('an upload is below the path of the request that creates it', () => {
  for (const url of ['/files', '/files/', '/files?', '/files//', '/files/??/']) assert.equal(locationAt(url), '/files/id', url)
  assert.equal(locationAt('/files/?a=/', 'a=/'), '/files/id')
  assert.equal(locationAt('/a//b?c', ''), '/a//b?c/id')
  for (const url of ['/', '']) assert.equal(locationAt(url), '/id')
})
