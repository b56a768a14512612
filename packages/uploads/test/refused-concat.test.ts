// Concatenations that are refused: a few bytes of a client must not have its parts copied again and again.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { HttpError } from '../../weirjs/src/index.ts'
import { eventually, gate } from '../../weirjs/test/support/serving.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { over, type Uploading, uploading } from '../../weirjs/test/support/uploading.ts'
import { diskStorage, type UploadsOptions } from '../src/index.ts'

/** Uploads with two parts, and how many bytes were copied. */
async function start(t: TestContext, options: Partial<UploadsOptions> = {}, then?: () => unknown) {
  const disk = diskStorage(temporaryDirectory(t), { sync: false })
  const state = { copies: 0, atOnce: 0, most: 0, wait: null as Promise<void> | null }
  const storage = over(disk, {
    async append(record, ...rest) {
      if (record.concat?.startsWith('final') !== true) return disk.append(record, ...rest)
      state.copies++
      state.most = Math.max(state.most, ++state.atOnce)
      await state.wait
      return disk.append(record, ...rest).finally(() => state.atOnce--)
    },
  })
  const up = uploading(t, { storage, onComplete: then ?? ((upload) => upload.keep()), ...options })
  const part = async (text: string): Promise<string> => {
    const url = await up.create(text.length, { 'Upload-Concat': 'partial' })
    await up.tus('PATCH', url, { 'Upload-Offset': 0 }, text)
    return url
  }
  const join = (...parts: readonly string[]): ReturnType<Uploading['tus']> =>
    up.tus('POST', '/files', { 'Upload-Concat': `final;${parts.join(' ')}` })
  return { up, state, part, join }
}

test('a whole of a wrong type is refused before it is copied, and its parts are deleted', async (t) => {
  const { up, state, part, join } = await start(t, { types: ['image/png'] })
  const [a, b] = [await part('not'), await part('a PNG')]
  assert.equal((await join(a, b)).status, 415)
  assert.equal(state.copies, 0)
  for (const url of [a, b]) assert.equal((await up.tus('HEAD', url)).status, 404)
  assert.equal((await join(a, b)).status, 404)
})

test('the type of a whole may show in its second part', async (t) => {
  const { state, part, join } = await start(t, { types: ['image/gif'] })
  assert.equal((await join(await part('GI'), await part(`F89a${'x'.repeat(100)}`))).status, 201)
  assert.equal(state.copies, 1)
})

test('the parts of a whole that onComplete refuses are deleted; after any other failure they stay', async (t) => {
  let failure: Error = new Error('busy')
  const { state, part, join } = await start(t, {}, () => {
    throw failure
  })
  const parts = [await part('abc'), await part('def')]
  for (let i = 0; i < 2; i++) assert.equal((await join(...parts)).status, 500)
  failure = new HttpError(422, 'no')
  assert.equal((await join(...parts)).status, 422)
  for (let i = 0; i < 2; i++) assert.equal((await join(...parts)).status, 404)
  assert.equal(state.copies, 3)
})

test('the same parts are copied by one request at a time, in whatever order they are named', async (t) => {
  const { state, part, join } = await start(t)
  const { promise, open } = gate()
  state.wait = promise
  const [a, b, c] = [await part('abc'), await part('def'), await part('ghi')]
  const joining = [join(a, b), join(b, a), join(c, b), join(b, c), join(a, b)]
  await eventually(() => state.copies > 0, 'a copy')
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve))
  open()
  const statuses = (await Promise.all(joining)).map(({ status }) => status)
  assert.equal(state.most, 1)
  assert.deepEqual(statuses.sort(), [201, 404, 404, 404, 404])
})
