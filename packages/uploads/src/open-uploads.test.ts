import assert from 'node:assert/strict'
import { test } from 'node:test'

import { OpenUploads } from './open-uploads.ts'

test('counts uploads and bytes of each client', () => {
  const open = new OpenUploads(2, 10)
  open.add('1', 'ann', 6)
  assert.throws(() => open.add('2', 'ann', 5), { code: 'WEIR_UPLOADS_OPEN', limit: 'maxOpenSize', maximum: 10, actual: 11 })
  open.add('2', 'ann', 4)
  assert.throws(() => open.add('3', 'ann', 0), { code: 'WEIR_UPLOADS_OPEN', limit: 'maxOpenUploads', maximum: 2, actual: 3 })
  open.add('3', 'bob', 10)
  open.delete('1')
  open.delete('1')
  open.note('2', 'ann', 9)
  open.add('4', 'ann', 6)
})

test('an upload without any limit takes all the room, and gives it back', () => {
  const open = new OpenUploads(9, 10)
  open.note('1', 'ann', Number.POSITIVE_INFINITY)
  assert.throws(() => open.add('2', 'ann', 1), { limit: 'maxOpenSize' })
  open.delete('1')
  assert.throws(() => open.add('2', 'ann', 11), { limit: 'maxOpenSize' })
  open.add('2', 'ann', 10)
})

test('forgets what others have ended, but not what is new', () => {
  const open = new OpenUploads(1, 10)
  open.add('1', 'ann', 1)
  const before = open.ids
  open.add('2', 'bob', 1)
  open.keepOnly(new Set(), before)
  open.add('3', 'ann', 1)
  assert.throws(() => open.add('4', 'bob', 1), { limit: 'maxOpenUploads' })
})
