// s3Storage over a bucket in memory: uploads go on where they were, and nothing is left behind.

import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'

import type { UploadRecord, UploadStorage } from '../../uploads/src/index.ts'
import { recordOf } from '../../uploads/test/support/upload-record.ts'
import { patternBytes } from '../../weirjs/test/support/forms.ts'
import { s3Storage } from '../src/index.ts'
import { FakeS3 } from './support/fake-s3.ts'

const PART = 5 * 1024 * 1024
const FILE = patternBytes(2 * PART + 99)
const PLAIN = { isAtomic: false, hasTakenOver: false }
const gone = new Error('the client has left')

async function* piecesOf(bytes: Uint8Array, error?: Error): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 700_001) yield bytes.slice(at, at + 700_001)
  if (error !== undefined) throw error
}

function storageOf(s3: FakeS3): UploadStorage {
  return s3Storage(s3.client, { bucket: 'b', partSize: PART })
}

async function created(storage: UploadStorage, length: number | null): Promise<UploadRecord> {
  const record = recordOf({ length })
  await storage.create(record)
  return record
}

async function assertDeleted(s3: FakeS3, storage: UploadStorage, record: UploadRecord): Promise<void> {
  await storage.delete(record)
  assert.equal(await storage.load(record.id), null)
  assert.deepEqual([s3.objects.size, s3.unfinished.size], [0, 0])
}

for (const size of [0, 1234, PART, FILE.length]) {
  test(`keeps ${size} bytes as one object`, async () => {
    const s3 = new FakeS3()
    const storage = storageOf(s3)
    const record = await created(storage, size)
    assert.equal(await storage.append(record, 0, piecesOf(FILE.subarray(0, size)), PLAIN), size)
    await storage.complete(record, size)
    const received = { ...record, stage: 'received' as const }
    await storage.save(received)
    assert.deepEqual(await storage.load(record.id), { record: received, offset: size })
    assert.ok((await buffer(storage.read(received))).equals(FILE.subarray(0, size)))
    assert.equal(storage.locate(received), `s3://b/uploads/${record.id}`)
    assert.equal(s3.unfinished.size, 0)
    await assertDeleted(s3, storage, received)
  })
}

test('an upload that is cut is continued by another instance where it ended', async () => {
  const s3 = new FakeS3()
  const record = await created(storageOf(s3), FILE.length)
  let offset = 0
  for (const end of [10, PART - 1, PART, PART + 7, 2 * PART + 1]) {
    await assert.rejects(storageOf(s3).append(record, offset, piecesOf(FILE.subarray(offset, end), gone), PLAIN), gone)
    offset = (await storageOf(s3).load(record.id))!.offset
    assert.equal(offset, end)
  }
  const storage = storageOf(s3)
  assert.equal(await storage.append(record, offset, piecesOf(FILE.subarray(offset)), PLAIN), FILE.length)
  assert.ok((await buffer(storage.read(record))).equals(FILE))
  await assertDeleted(s3, storage, record)
})

test('bytes that are verified count all or not at all', async () => {
  const s3 = new FakeS3()
  const storage = storageOf(s3)
  const record = await created(storage, FILE.length)
  const atomic = { isAtomic: true, hasTakenOver: false }
  await assert.rejects(storage.append(record, 0, piecesOf(FILE.subarray(0, PART + 5), gone), atomic), gone)
  assert.equal((await storage.load(record.id))!.offset, 0)
  assert.equal(s3.unfinished.size, 0)
})

test('a process that has lost its lock neither adds to the upload nor changes it', async () => {
  const s3 = new FakeS3()
  const storage = storageOf(s3)
  const record = await created(storage, 20)
  const late = storage.append(
    record,
    0,
    (async function* () {
      yield FILE.subarray(0, 5)
      await storage.append(record, 0, piecesOf(FILE.subarray(0, 20)), PLAIN)
      yield FILE.subarray(5, 7)
    })(),
    PLAIN,
  )
  await assert.rejects(late, { code: 'WEIR_STORE_UNAVAILABLE', message: /another process writes the same upload$/ })
  assert.ok((await buffer(storage.read(record))).equals(FILE.subarray(0, 20)))
})

test('what the program moves is not deleted, and nothing is overwritten', async () => {
  const s3 = new FakeS3()
  const storage = storageOf(s3)
  const [first, second] = [await created(storage, 5), await created(storage, 6)]
  for (const record of [first, second]) await storage.append(record, 0, piecesOf(FILE.subarray(0, record.length!)), PLAIN)
  await storage.moveTo(first, 'done/a.bin')
  await storage.moveTo(first, 'done/a.bin') // after a crash
  await assert.rejects(storage.moveTo(second, 'done/a.bin'), { code: 'WEIR_OPTION_INVALID', message: /there is an object with this key/ })
  await storage.delete({ ...first, keptAt: 'done/a.bin' })
  await storage.delete(second)
  assert.deepEqual([...s3.objects.keys()], ['done/a.bin'])
  assert.ok(!JSON.stringify([...s3.objects.values()].map(({ metadata }) => metadata)).includes(first.id), 'ids are secret')
})

test('sweeping removes parts and states of which nothing knows, and keeps the others', async () => {
  const s3 = new FakeS3()
  const storage = storageOf(s3)
  const record = await created(storage, FILE.length)
  await storage.append(record, 0, piecesOf(FILE.subarray(0, PART + 5)), PLAIN)
  const [lost, other] = [recordOf(), recordOf()]
  s3.unfinished.set('lost', { key: `uploads/${lost.id}`, metadata: {}, parts: new Map() })
  s3.objects.set(`uploads/${other.id}.state`, { bytes: Buffer.from('x'), metadata: {} })
  await storage.sweep!(Date.now() - 60_000)
  assert.deepEqual([s3.objects.size, s3.unfinished.size], [3, 2])
  await storage.sweep!(Date.now() + 60_000)
  assert.deepEqual([s3.objects.size, s3.unfinished.size], [2, 1])
  assert.equal((await storage.load(record.id))!.offset, PART + 5)
})
