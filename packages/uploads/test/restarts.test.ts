// What another process makes of what one has left.

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import type { InjectResponse } from '../../weirjs/src/index.ts'
import { gate } from '../../weirjs/test/support/serving.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { uploading } from '../../weirjs/test/support/uploading.ts'
import { diskStorage } from '../src/index.ts'

test('an upload whose process died in onComplete is completed when its client asks again', async (t) => {
  const directory = temporaryDirectory(t)
  const storage = diskStorage(directory, { sync: false })
  const forever = gate()
  const reached = gate()
  const first = uploading(t, { storage }, () => {
    reached.open()
    return forever.promise
  })
  const url = await first.create(5)
  const waiting = first.tus('PATCH', url, { 'Upload-Offset': 0 }, 'hello')
  await reached.promise
  const second = uploading(t, { storage })
  assert.equal((await second.tus('HEAD', url)).headers.get('upload-offset'), '5')
  assert.equal(second.received[0]?.text, 'hello')
  await second.tus('HEAD', url)
  assert.equal(second.received.length, 1)
  forever.open()
  await waiting
})

test('unfinished uploads of a principal count after a restart, too', async (t) => {
  const storage = diskStorage(temporaryDirectory(t), { sync: false })
  const first = uploading(t, { storage })
  for (let i = 0; i < 2; i++) await first.create(5, { 'X-User': 'ann' })
  const second = uploading(t, { storage, maxOpenUploads: 2 })
  assert.equal((await second.tus('POST', '/files', { 'Upload-Length': 1, 'X-User': 'ann' })).status, 429)
  assert.equal((await second.tus('POST', '/files', { 'Upload-Length': 1, 'X-User': 'bob' })).status, 201)
})

test('moveTo may be repeated when what follows it has failed', async (t) => {
  const place = temporaryDirectory(t)
  let runs = 0
  const { tus, create, files } = uploading(t, {
    async onComplete(upload) {
      await upload.moveTo(join(place, String(runs)))
      if (runs++ < 2) throw new Error('the database is away')
      assert.equal(upload.path, join(place, '2'))
      await rename(upload.path, join(place, 'done'))
    },
  })
  const url = await create(5)
  assert.equal((await tus('PATCH', url, { 'Upload-Offset': 0 }, 'hello')).status, 500)
  assert.equal((await tus('HEAD', url)).status, 423)
  assert.equal((await tus('HEAD', url)).status, 204)
  assert.equal((await tus('HEAD', url)).headers.get('upload-offset'), '5')
  assert.equal(files().length, 1) // the record: so a client whose response was lost learns that all is well
})

test('an upload is not complete before a moveTo that onComplete does not wait for', async (t) => {
  const place = temporaryDirectory(t)
  const errors: unknown[] = []
  const { create, tus } = uploading(
    t,
    {},
    (upload) => {
      upload.moveTo(join(place, 'made later', 'a')) // no await
    },
    { onError: (error) => void errors.push(error) },
  )
  const url = await create(1)
  const append = (offset: number, body: string): Promise<InjectResponse> =>
    tus('PATCH', url, { 'Upload-Offset': offset, 'Content-Type': 'application/offset+octet-stream' }, body)
  assert.equal((await append(0, 'x')).status, 500)
  assert.equal((errors[0] as NodeJS.ErrnoException).code, 'ENOENT')
  mkdirSync(join(place, 'made later'))
  assert.equal((await append(1, '')).status, 204)
  assert.deepEqual(readdirSync(join(place, 'made later')), ['a'])
})

test('a moveTo that fails and is handled does not count', async (t) => {
  const place = temporaryDirectory(t)
  const { create, tus } = uploading(t, {}, async (upload) => {
    await upload.moveTo(join(place, 'missing', 'a')).catch(() => upload.moveTo(join(place, 'b')))
  })
  const url = await create(1)
  const headers = { 'Upload-Offset': 0, 'Content-Type': 'application/offset+octet-stream' }
  assert.equal((await tus('PATCH', url, headers, 'x')).status, 204)
  assert.deepEqual(readdirSync(place), ['b'])
})
