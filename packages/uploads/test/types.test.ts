// The option `types`: what an upload is, its first bytes tell.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { uploading } from '../../weirjs/test/support/uploading.ts'
import { type UploadsOptions, uploads } from '../src/index.ts'

const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(100)])
const WHOLE = { 'Upload-Complete': '?1', 'Content-Type': 'image/png' }

test('an upload of another type is refused and deleted, whatever its client states', async (t) => {
  const { send, received, files } = uploading(t, { types: ['image/*'] })
  const refused = await send('POST', '/files', WHOLE, '<script>')
  assert.equal(refused.status, 415)
  const { code, accepted } = refused.json() as Record<string, unknown>
  assert.deepEqual({ code, accepted }, { code: 'WEIR_FILE_MAGIC', accepted: ['image/*'] })
  assert.deepEqual([received, files()], [[], []])
  assert.equal((await send('POST', '/files', WHOLE, PNG)).status, 204)
  assert.equal(received[0]?.size, PNG.length)
})

test('the type is told when all bytes are there, also if the first ones came in pieces', async (t) => {
  const { tus, create, received } = uploading(t, { types: ['image/png'] })
  const url = await create(PNG.length)
  const statuses: number[] = []
  for (const [from, to] of [
    [0, 3],
    [3, PNG.length],
  ] as const)
    statuses.push((await tus('PATCH', url, { 'Upload-Offset': from }, PNG.subarray(from, to))).status)
  assert.deepEqual([statuses, received.length], [[204, 204], 1])
})

test('what has been moved is not read again when onComplete is repeated', async (t) => {
  let calls = 0
  const shown: (string | null)[] = []
  const { directory, create, tus } = uploading(t, { types: ['image/*'] }, async (upload) => {
    shown.push(upload.detectedType)
    await upload.moveTo(`${directory}/kept.png`)
    if (++calls === 1) throw new Error('no database')
  })
  const url = await create(PNG.length)
  assert.equal((await tus('PATCH', url, { 'Upload-Offset': 0 }, PNG)).status, 500)
  await tus('HEAD', url)
  assert.equal(calls, 2)
  assert.deepEqual(shown, ['image/png', 'image/png'])
})

test('types that bytes cannot tell are refused where they are given', () => {
  const wrong = { storage: {}, onComplete() {}, types: ['text/csv'] } as unknown as UploadsOptions
  assert.throws(() => uploads('/files', wrong), { code: 'WEIR_OPTION_INVALID' })
})
