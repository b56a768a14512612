// @weirjs/uploads with s3Storage: what clients are told, and what is left in the bucket.

import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { s3Storage } from '../../packages/s3/src/index.ts'
import { memoryLocks, type UploadLocks, type UploadsOptions } from '../../packages/uploads/src/index.ts'
import { patternBytes } from '../../packages/weirjs/test/support/forms.ts'
import { noS3, type S3Server, startS3 } from '../../packages/weirjs/test/support/s3.ts'
import { eventually } from '../../packages/weirjs/test/support/serving.ts'
import { type Uploading, uploading } from '../../packages/weirjs/test/support/uploading.ts'

const PART = 5 * 1024 * 1024
const FILE = patternBytes(2 * PART + 77)

interface Machine extends Uploading {
  /** The bytes of each upload for which `onComplete` was called, and where they are. */
  readonly completed: (readonly [path: string, bytes: Buffer])[]
}

function machineOf(t: TestContext, s3: S3Server, options: Partial<UploadsOptions> = {}): Machine {
  const completed: (readonly [string, Buffer])[] = []
  // The server closes connections that were idle for 5 s, which a busy machine may need between two requests: the client tries again.
  const storage = s3Storage(s3.connect(), { bucket: s3.bucket, partSize: PART })
  const machine = uploading(t, {
    storage,
    async onComplete(upload) {
      completed.push([upload.path, await buffer(upload.stream())])
    },
    ...options,
  })
  return { ...machine, completed }
}

describe('@weirjs/uploads in S3', { skip: noS3 }, () => {
  test('an upload goes on at another machine, is complete once, and its bytes are deleted when it expires', async (t) => {
    const s3 = await startS3(t)
    const locks: UploadLocks = memoryLocks()
    const [first, second] = [machineOf(t, s3, { locks, expiresAfter: '1h' }), machineOf(t, s3, { locks, expiresAfter: '1h' })]
    const url = await first.create(FILE.length)
    const half = await first.tus('PATCH', url, { 'Upload-Offset': 0 }, FILE.subarray(0, PART + 5))
    assert.deepEqual([half.status, half.headers.get('upload-offset')], [204, String(PART + 5)])
    assert.equal((await second.tus('HEAD', url)).headers.get('upload-offset'), String(PART + 5))
    assert.equal((await second.tus('PATCH', url, { 'Upload-Offset': 0 }, 'x')).status, 409)
    const last = await second.tus('PATCH', url, { 'Upload-Offset': PART + 5 }, FILE.subarray(PART + 5))
    assert.equal(last.status, 204)
    const [id] = /[^/]+$/.exec(url)!
    assert.deepEqual(first.completed, [])
    assert.equal(second.completed.length, 1)
    const [path, bytes] = second.completed[0]!
    assert.equal(path, `s3://${s3.bucket}/uploads/${id}`)
    assert.ok(bytes.equals(FILE))
    const complete = await first.tus('HEAD', url)
    assert.deepEqual([complete.status, complete.headers.get('upload-offset')], [204, String(FILE.length)])
    await second.clock.advance(3_600_000)
    await eventually(() => s3.isEmpty(), 'an empty bucket')
  })

  test('an upload that is cancelled or expires in the middle leaves nothing', async (t) => {
    const s3 = await startS3(t)
    const { create, tus, clock } = machineOf(t, s3, { expiresAfter: '1h' })
    const cancelled = await create(FILE.length)
    await tus('PATCH', cancelled, { 'Upload-Offset': 0 }, FILE.subarray(0, PART + 5))
    assert.equal((await s3.unfinished()).length, 1)
    assert.equal((await tus('DELETE', cancelled)).status, 204)
    assert.ok(await s3.isEmpty())
    for (const size of [0, 5, PART + 5]) {
      const url = await create(FILE.length)
      if (size > 0) await tus('PATCH', url, { 'Upload-Offset': 0 }, FILE.subarray(0, size))
    }
    await clock.advance(3_600_000)
    await eventually(() => s3.isEmpty(), 'an empty bucket')
  })

  test('what the program moves to a key of its own stays', async (t) => {
    const s3 = await startS3(t)
    const { create, tus, clock } = machineOf(t, s3, { expiresAfter: '1h', onComplete: (upload) => upload.moveTo('photos/7.png') })
    const url = await create(FILE.length)
    assert.equal((await tus('PATCH', url, { 'Upload-Offset': 0 }, FILE)).status, 204)
    await clock.advance(3_600_000)
    await eventually(async () => (await s3.keys()).length === 1, 'the object of the program only')
    assert.ok((await s3.bytes('photos/7.png')).equals(FILE))
  })

  test('while S3 fails, clients get a 503 that says nothing about it, and then go on', async (t) => {
    const s3 = await startS3(t)
    const { create, tus, completed } = machineOf(t, s3)
    const url = await create(FILE.length)
    await tus('PATCH', url, { 'Upload-Offset': 0 }, FILE.subarray(0, PART + 5))
    for (const fault of [403, 500, 'cut'] as const) {
      s3.front.fault = () => fault
      for (const response of [await tus('HEAD', url), await tus('POST', '/files', { 'Upload-Length': 1 }), await tus('DELETE', url)]) {
        assert.equal(response.status, 503)
        assert.doesNotMatch(response.text(), /S3|uploads-|AccessDenied|InternalError|127\.0\.0\.1/)
      }
      s3.front.fault = ({ query }) => (query.has('partNumber') ? fault : null)
      assert.equal((await tus('PATCH', url, { 'Upload-Offset': PART + 5 }, FILE.subarray(PART + 5))).status, 503)
      s3.front.fault = () => null
      assert.equal((await tus('HEAD', url)).headers.get('upload-offset'), String(PART + 5))
    }
    assert.equal((await tus('PATCH', url, { 'Upload-Offset': PART + 5 }, FILE.subarray(PART + 5))).status, 204)
    assert.ok(completed[0]![1].equals(FILE))
  })

  test('the checksum of tus decides about all bytes of a request', async (t) => {
    const s3 = await startS3(t)
    const { create, tus } = machineOf(t, s3)
    const url = await create(FILE.length)
    const wrong = { 'Upload-Offset': 0, 'Upload-Checksum': `sha1 ${Buffer.alloc(20).toString('base64')}` }
    assert.equal((await tus('PATCH', url, wrong, FILE.subarray(0, PART + 5))).status, 460)
    assert.equal((await tus('HEAD', url)).headers.get('upload-offset'), '0')
    assert.deepEqual(await s3.unfinished(), [])
  })

  test('two parts that were sent at the same time become one upload', async (t) => {
    const s3 = await startS3(t)
    const { tus, completed } = machineOf(t, s3)
    const urls: string[] = []
    for (const bytes of [FILE.subarray(0, PART), FILE.subarray(PART)]) {
      const made = await tus('POST', '/files', { 'Upload-Length': bytes.length, 'Upload-Concat': 'partial' })
      urls.push(made.headers.get('location')!)
      assert.equal((await tus('PATCH', urls.at(-1)!, { 'Upload-Offset': 0 }, bytes)).status, 204)
    }
    assert.equal((await tus('POST', '/files', { 'Upload-Concat': `final;${urls.join(' ')}` })).status, 201)
    assert.ok(completed[0]![1].equals(FILE))
  })
})
