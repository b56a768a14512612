// What is left of a moveTo when S3 fails, or the process dies, at any point of it, and what the next request makes of that.

import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'

import type { Upload } from '../../uploads/src/index.ts'
import { received } from '../../uploads/test/support/upload-record.ts'
import { type Uploading, uploading } from '../../weirjs/test/support/uploading.ts'
import { s3Storage } from '../src/index.ts'
import { FakeS3 } from './support/fake-s3.ts'

interface Case {
  /** How many commands of the moveTo succeed. */
  readonly commands: number
  /** Whether the last one was done nevertheless, and its response alone was lost. */
  readonly isLost: boolean
  readonly isTaken: boolean
  readonly then: 'same' | 'other'
  readonly from: 'own' | 'elsewhere'
}

/** A server with a bucket that can be away. */
class Bucket {
  readonly s3 = new FakeS3()
  readonly server: Uploading
  /** What the server has read of uploads. */
  seen: string[] = []
  onComplete: (upload: Upload) => Promise<void> = async () => {}
  isAway = false
  isLost = false
  #left = Number.POSITIVE_INFINITY

  constructor(t: TestContext) {
    const outage = Object.assign(new Error('SlowDown'), { name: 'SlowDown', $metadata: { httpStatusCode: 503 } })
    let isLost = false
    this.s3.fault = () => {
      this.isAway ||= this.#left <= 0
      if (!this.isAway) this.#left--
      isLost = this.isLost
      return this.isAway ? outage : null
    }
    this.s3.lost = () => {
      this.isAway ||= isLost && this.#left <= 0
      return this.isAway ? outage : null
    }
    this.server = uploading(t, {
      storage: s3Storage(this.s3.client, { bucket: 'b' }),
      maxOpenUploads: 1e6,
      onComplete: async (upload) => {
        this.seen.push(await text(upload.stream()))
        await this.onComplete(upload)
      },
    })
  }

  /** It fails after some commands: the last one is done, and `isLost` says whether its response is lost. */
  failAfter(commands: number, isLost: boolean): void {
    this.isLost = isLost
    this.#left = commands
  }

  reset(): void {
    this.failAfter(Number.POSITIVE_INFINITY, false)
    this.isAway = false
  }
}

/** @returns whether S3 failed before the moveTo had ended */
async function interrupted(bucket: Bucket, { commands, isLost, isTaken, then, from }: Case): Promise<boolean> {
  const label = JSON.stringify([commands, isLost, isTaken, then, from])
  const { s3, server } = bucket
  s3.objects.clear()
  bucket.seen = []
  if (isTaken) s3.objects.set('done/cat', { bytes: Buffer.from('ann bytes'), metadata: { 'weir-upload': 'of ann' } })
  bucket.onComplete = async (upload) => {
    if (from === 'elsewhere') await upload.moveTo('done/first')
    bucket.failAfter(commands, isLost)
    await upload.moveTo('done/cat')
    bucket.failAfter(Number.POSITIVE_INFINITY, false)
  }
  const url = await server.create(9)
  await server.tus('PATCH', url, { 'Upload-Offset': 0 }, 'bob bytes')
  const hasFailed = bucket.isAway
  bucket.reset()

  let target = then === 'other' ? 'done/dog' : 'done/cat'
  bucket.onComplete = async (upload) => {
    if (then === 'other') return upload.moveTo('done/dog')
    await upload.moveTo('done/cat').catch((error: { code: string }) => {
      assert.equal(error.code, 'WEIR_OPTION_INVALID', label)
      assert.ok(isTaken, label)
      target = 'done/dog'
      return upload.moveTo('done/dog')
    })
  }
  assert.ok((await server.tus('HEAD', url)).status < 300, label)
  for (const bytes of bucket.seen) assert.equal(bytes, 'bob bytes', label)
  const kept = [...s3.objects].filter(([key]) => !/\.(?:json|state)$/.test(key)).map(([key, { bytes }]) => [key, String(bytes)])
  const expected = { ...(isTaken && { 'done/cat': 'ann bytes' }), [target]: 'bob bytes' }
  if (hasFailed) assert.deepEqual(Object.fromEntries(kept), expected, label)
  return hasFailed
}

test('whenever S3 fails in moveTo, the next request has the bytes, and no others', async (t) => {
  const bucket = new Bucket(t)
  for (const isLost of [false, true])
    for (const isTaken of [false, true])
      for (const then of ['same', 'other'] as const)
        for (const from of ['own', 'elsewhere'] as const) {
          let failures = 0
          for (let commands = isLost ? 1 : 0; await interrupted(bucket, { commands, isLost, isTaken, then, from }); commands++) failures++
          assert.ok(failures >= 3, String(failures))
        }
})

test('an object of another upload is not taken for that of an interrupted move, whatever its size', async () => {
  const s3 = new FakeS3()
  const storage = s3Storage(s3.client, { bucket: 'b' })
  const [ann, bob] = [await received(storage, 'ann'), await received(storage, 'bob')]
  await storage.moveTo(ann, 'done/cat')
  // The target, and what a record of an earlier version says before anything has moved.
  for (const record of [
    { ...bob, moving: 'done/cat' },
    { ...bob, keptAt: 'done/cat' },
  ]) {
    await storage.save(record)
    const found = (await storage.load(bob.id))!.record
    assert.equal(found.keptAt, null)
    assert.equal(await text(storage.read(found)), 'bob')
    await assert.rejects(storage.moveTo(found, 'done/cat'), { code: 'WEIR_OPTION_INVALID' })
  }
  // The place that was left is taken in the meantime.
  await storage.moveTo(bob, 'done/dog')
  await storage.save({ ...bob, keptAt: 'done/cat', moving: 'done/dog' })
  assert.equal((await storage.load(bob.id))!.record.keptAt, 'done/dog')
})
