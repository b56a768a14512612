// Fields that are too long are refused before they are read, and none that is kept is long.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { codeOf, uploading } from '../../weirjs/test/support/uploading.ts'

test('Upload-Metadata that is too long is refused for that, whatever it has', async (t) => {
  const { tus } = uploading(t)
  const response = await tus('POST', '/files', { 'Upload-Length': 5, 'Upload-Metadata': `${'a,'.repeat(3_000)}a` })
  assert.deepEqual([response.status, codeOf(response)], [413, 'WEIR_BODY_TOO_LARGE'])
})

test('Upload-Concat is at most 16 KiB long', async (t) => {
  const { tus, create } = uploading(t)
  const url = await create(3, { 'Upload-Concat': 'partial' })
  assert.equal((await tus('PATCH', url, { 'Upload-Offset': 0 }, 'abc')).status, 204)
  const concat = (length: number): string => `final;${'/'.repeat(length - url.length - 'final;'.length)}${url}`
  const refused = await tus('POST', '/files', { 'Upload-Concat': concat(16 * 1024 + 1) })
  assert.deepEqual([refused.status, codeOf(refused)], [400, 'WEIR_UPLOAD_REQUEST'])
  assert.equal((await tus('POST', '/files', { 'Upload-Concat': concat(16 * 1024) })).status, 201)
})

test('Content-Disposition is read up to 8,192 characters, and ignored above', async (t) => {
  const { send, received } = uploading(t)
  for (const start of ['inline; filename="x"', 'inline; filename="x"; y=z'])
    for (const length of [8_192, 8_193])
      await send('POST', '/files', { 'Upload-Complete': '?1', 'Content-Disposition': start.padEnd(length, ';') }, 'hello')
  assert.deepEqual(
    received.map(({ fileName }) => fileName),
    ['x', null, 'x', null],
  )
})
