// s3Storage, with a real client and an S3-compatible server: nothing that has been acknowledged is lost, and nothing is left behind.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import fc from 'fast-check'
import { s3Storage } from '../../packages/s3/src/index.ts'
import { S3Bucket } from '../../packages/s3/src/s3-bucket.ts'
import type { UploadRecord, UploadStorage } from '../../packages/uploads/src/index.ts'
import { newUploadId } from '../../packages/uploads/src/upload-record.ts'
import { recordOf } from '../../packages/uploads/test/support/upload-record.ts'
import { patternBytes } from '../../packages/weirjs/test/support/forms.ts'
import { noS3, type S3Server, startS3 } from '../../packages/weirjs/test/support/s3.ts'
import { eventually, gate } from '../../packages/weirjs/test/support/serving.ts'

const MIB = 1024 * 1024
const PART = 5 * MIB
const FILE = patternBytes(3 * PART)
const PLAIN = { isAtomic: false, hasTakenOver: false }

async function* chunksOf(bytes: Uint8Array, size = 700_001): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size)
}

/** Fails after these bytes, as when the client leaves. */
async function* brokenAfter(bytes: Uint8Array, error: Error): AsyncGenerator<Uint8Array> {
  yield* chunksOf(bytes)
  throw error
}

function storageOf(s3: S3Server): UploadStorage {
  return s3Storage(s3.connect({ maxAttempts: 1 }), { bucket: s3.bucket, partSize: PART })
}

async function created(storage: UploadStorage, length: number | null): Promise<UploadRecord> {
  const record = recordOf({ length })
  await storage.create(record)
  return record
}

async function offsetOf(storage: UploadStorage, { id }: UploadRecord): Promise<number> {
  return (await storage.load(id))!.offset
}

/** Deletes the upload, after which there is nothing. */
async function assertDeleted(s3: S3Server, storage: UploadStorage, record: UploadRecord): Promise<void> {
  await storage.delete(record)
  assert.equal(await storage.load(record.id), null)
  assert.deepEqual(await s3.keys(), [])
  assert.ok(await s3.isEmpty())
}

describe('s3Storage', { skip: noS3 }, () => {
  for (const size of [0, 1, 1234, PART - 1, PART, PART + 1, 2 * PART, 2 * PART + 99]) {
    test(`keeps ${size} bytes that come at once`, async (t) => {
      const s3 = await startS3(t)
      const storage = storageOf(s3)
      const record = await created(storage, size)
      assert.equal(await storage.append(record, 0, chunksOf(FILE.subarray(0, size)), PLAIN), size)
      assert.equal(await offsetOf(storage, record), size)
      await storage.complete(record, size)
      await storage.complete(record, size)
      const received = { ...record, stage: 'received' as const }
      await storage.save(received)
      assert.deepEqual(await storage.load(record.id), { record: received, offset: size })
      assert.ok((await buffer(storage.read(received))).equals(FILE.subarray(0, size)))
      assert.equal(storage.locate(received), `s3://${s3.bucket}/uploads/${record.id}`)
      assert.deepEqual(await s3.unfinished(), [])
      await assertDeleted(s3, storage, received)
    })
  }

  test('an upload that never got a byte, and whose length came later, becomes an object', async (t) => {
    const s3 = await startS3(t)
    const storage = storageOf(s3)
    const [empty, late] = [await created(storage, null), await created(storage, null)]
    await storage.complete({ ...empty, length: 0 }, 0)
    assert.equal((await buffer(storage.read(empty))).length, 0)
    await storage.append(late, 0, chunksOf(FILE.subarray(0, PART + 7)), PLAIN)
    await storage.complete({ ...late, length: PART + 7 }, PART + 7)
    assert.ok((await buffer(storage.read(late))).equals(FILE.subarray(0, PART + 7)))
    assert.deepEqual(await s3.unfinished(), [])
  })

  test('any cut of any upload is continued by another instance where it ended', async (t) => {
    const s3 = await startS3(t)
    const cuts = fc.array(fc.integer({ min: 0, max: FILE.length }), { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(cuts, fc.integer({ min: 100_000, max: 8 * MIB }), async (places, chunk) => {
        const record = await created(storageOf(s3), FILE.length)
        for (const end of [...places.sort((a, b) => a - b), FILE.length]) {
          const storage = storageOf(s3)
          const offset = await offsetOf(storage, record)
          const isLast = end === FILE.length
          const gone = new Error('the client has left')
          const bytes = chunksOf(FILE.subarray(offset, end), chunk)
          const broken = (async function* () {
            yield* bytes
            throw gone
          })()
          const appending = storage.append(record, offset, isLast ? bytes : broken, PLAIN)
          if (isLast) await appending
          else await assert.rejects(appending, gone)
          assert.equal(await offsetOf(storageOf(s3), record), end)
        }
        const storage = storageOf(s3)
        await storage.complete(record, FILE.length)
        assert.ok((await buffer(storage.read(record))).equals(FILE))
        await storage.delete(record)
      }),
      { numRuns: 2 },
    )
    assert.ok(await s3.isEmpty())
  })

  test('few uploads have the bytes of an unfinished part in memory at once, however many get one more byte, and owners take turns', async (t) => {
    const s3 = await startS3(t)
    const storage = storageOf(s3)
    const begin = async (owner: string): Promise<UploadRecord> => {
      const record = recordOf({ length: FILE.length, owner })
      await storage.create(record)
      await storage.append(record, 0, chunksOf(FILE.subarray(0, MIB)), PLAIN)
      return record
    }
    const flood = await Promise.all(Array.from({ length: 12 }, () => begin('one')))
    const other = await begin('another')
    const written: string[] = []
    const all = gate()
    s3.front.before = async ({ method, path }) => {
      if (method !== 'PUT' || !path.endsWith('.state')) return
      written.push(path)
      if (written.length <= 4) await all.promise
    }
    let sent = 0
    const append = (record: UploadRecord): Promise<number> => {
      const bytes = (async function* () {
        yield FILE.subarray(MIB, MIB + 1)
        sent++
      })()
      return storage.append(record, MIB, bytes, PLAIN)
    }
    const appended = flood.map(append)
    await eventually(() => sent === 12 && written.length === 4, 'the first four')
    appended.push(append(other))
    await eventually(() => sent === 13, 'the upload of another')
    assert.equal(written.length, 4)
    all.open()
    await Promise.all(appended)
    const place = written.findIndex((path) => path.includes(other.id))
    assert.ok(place < 9, `${place} were written before`)
    for (const record of [...flood, other]) {
      assert.equal(await storage.append(record, MIB + 1, chunksOf(FILE.subarray(MIB + 1)), PLAIN), FILE.length)
      assert.ok((await buffer(storage.read(record))).equals(FILE))
    }
  })

  test('a process that is killed loses no part that it had sent, and another one continues', async (t) => {
    const s3 = await startS3(t)
    const record = await created(storageOf(s3), FILE.length)
    const run = (...args: readonly unknown[]) => {
      const child = spawn(
        process.execPath,
        ['build/test/uploads/append-process.js', s3.endpoint, s3.bucket, record.id, ...args.map(String)],
        {
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      )
      t.after(() => child.kill('SIGKILL'))
      return { child, lines: createInterface({ input: child.stdout }) }
    }
    const killed = run(0, FILE.length, 2 * PART + 3_000_000)
    await once(killed.lines, 'line')
    await eventually(async () => (await offsetOf(storageOf(s3), record)) === 2 * PART, 'two parts')
    killed.child.kill('SIGKILL')
    const storage = storageOf(s3)
    // Its lock was never released.
    const more = chunksOf(FILE.subarray(2 * PART, 2 * PART + 1000))
    assert.equal(await storage.append(record, 2 * PART, more, { isAtomic: false, hasTakenOver: true }), 2 * PART + 1000)
    const [line] = (await once(run(2 * PART + 1000, FILE.length).lines, 'line')) as [string]
    assert.equal(line, String(FILE.length))
    await storage.complete(record, FILE.length)
    assert.ok((await buffer(storage.read(record))).equals(FILE))
    await assertDeleted(s3, storage, record)
  })

  test('bytes that are verified count all or not at all, and leave no parts', async (t) => {
    const s3 = await startS3(t)
    const storage = storageOf(s3)
    const record = await created(storage, FILE.length)
    const wrong = new Error('the checksum is wrong')
    const atomic = { isAtomic: true, hasTakenOver: false }
    await assert.rejects(storage.append(record, 0, brokenAfter(FILE.subarray(0, 2 * PART + 5), wrong), atomic), wrong)
    assert.equal(await offsetOf(storage, record), 0)
    assert.deepEqual(await s3.unfinished(), [])
    assert.equal(await storage.append(record, 0, chunksOf(FILE.subarray(0, PART + 5)), atomic), PART + 5)
    const others = brokenAfter(patternBytes(2 * PART).reverse(), wrong)
    await assert.rejects(storage.append(record, PART + 5, others, atomic), wrong)
    assert.equal(await offsetOf(storage, record), PART + 5)
    await storage.append(record, PART + 5, chunksOf(FILE.subarray(PART + 5)), atomic)
    await storage.complete(record, FILE.length)
    assert.ok((await buffer(storage.read(record))).equals(FILE))
  })

  test('an upload that is aborted at any point leaves nothing', async (t) => {
    const s3 = await startS3(t)
    const gone = new Error('the client has left')
    for (const size of [0, 10, PART + 10, 2 * PART]) {
      const storage = storageOf(s3)
      const record = await created(storage, FILE.length)
      if (size > 0) await assert.rejects(storage.append(record, 0, brokenAfter(FILE.subarray(0, size), gone), PLAIN), gone)
      await assertDeleted(s3, storage, record)
      await storage.delete(record)
    }
  })

  test('lists all records, whatever else is there, and sweeps what a crash has left', async (t) => {
    const s3 = await startS3(t)
    const storage = storageOf(s3)
    const records = [await created(storage, 10), await created(storage, FILE.length)]
    await assert.rejects(storage.append(records[1]!, 0, brokenAfter(FILE.subarray(0, PART + 10), new Error('left')), PLAIN))
    for (const Key of ['uploads/mine.json', `uploads/${newUploadId()}.json`, 'other.json'])
      await s3.client.send(new PutObjectCommand({ Bucket: s3.bucket, Key, Body: '{}' }))
    const listed: string[] = []
    for await (const { id } of storage.list()) listed.push(id)
    assert.deepEqual(listed.sort(), records.map(({ id }) => id).sort())

    const lost = new S3Bucket(s3.client, s3.bucket, {})
    await lost.begin(`uploads/${newUploadId()}`, {})
    await lost.begin('uploads/of-the-program', {})
    await s3.client.send(new PutObjectCommand({ Bucket: s3.bucket, Key: `uploads/${newUploadId()}.state`, Body: 'x' }))
    const [kept, before] = [await s3.unfinished(), await s3.keys()]
    await storage.sweep!(Date.now() - 60_000)
    assert.deepEqual([await s3.unfinished(), await s3.keys()], [kept, before])
    await storage.sweep!(Date.now() + 60_000)
    assert.equal((await s3.unfinished()).length, 2)
    assert.equal((await s3.keys()).length, before.length - 1)
    assert.equal(await offsetOf(storage, records[1]!), PART + 10)
  })

  test('what the program keeps or moves is not deleted, and nothing is overwritten', async (t) => {
    const s3 = await startS3(t)
    const storage = storageOf(s3)
    const save = async (size: number): Promise<UploadRecord> => {
      const record = await created(storage, size)
      await storage.append(record, 0, chunksOf(FILE.subarray(0, size)), PLAIN)
      return { ...record, stage: 'received' }
    }
    const [first, second] = [await save(PART + 5), await save(5)]
    const kept = { ...first, keptAt: storage.locate(first) }
    await storage.save(kept)
    assert.ok((await buffer(storage.read(kept))).equals(FILE.subarray(0, PART + 5)))
    await storage.moveTo(second, 'done/b.bin')
    const moved = { ...second, keptAt: 'done/b.bin' }
    await storage.moveTo(second, 'done/b.bin') // after a crash
    await storage.save(moved)
    const { metadata } = (await new S3Bucket(s3.client, s3.bucket, {}).find('done/b.bin'))!
    assert.deepEqual(Object.keys(metadata), ['weir-upload'])
    assert.notEqual(metadata['weir-upload'], second.id, 'ids are secret, and the object may be public')
    assert.deepEqual(await storage.load(second.id), { record: moved, offset: 5 })
    assert.ok((await buffer(storage.read(moved))).equals(FILE.subarray(0, 5)))
    await assert.rejects(storage.moveTo(kept, 'done/b.bin'), {
      code: 'WEIR_OPTION_INVALID',
      message: /there is an object with this key: choose another one$/,
    })
    await assert.rejects(storage.moveTo(kept, 's3://other/b.bin'), { code: 'WEIR_OPTION_INVALID' })
    await storage.delete(kept)
    await storage.delete(moved)
    assert.deepEqual(await s3.keys(), ['done/b.bin', `uploads/${first.id}`])
  })

  test('an object that S3 does not copy at once is copied in parts', async (t) => {
    const s3 = await startS3(t)
    const bucket = new S3Bucket(s3.client, s3.bucket, {})
    await bucket.put('from', FILE.subarray(0, 2 * PART - 9), { mark: '1' })
    await bucket.copy('from', 'to', (await bucket.find('from'))!, PART)
    assert.deepEqual(await bucket.find('to'), { size: 2 * PART - 9, metadata: { mark: '1' } })
    assert.ok((await s3.bytes('to')).equals(FILE.subarray(0, 2 * PART - 9)))
    await assert.rejects(bucket.copy('from', 'to', (await bucket.find('from'))!, PART), { message: 'the key is taken' })
    assert.deepEqual(await s3.unfinished(), [])
  })

  describe('a process that has lost its lock', () => {
    test('neither adds to the upload nor changes it, whatever it still writes', async (t) => {
      const s3 = await startS3(t)
      const record = await created(storageOf(s3), FILE.length)
      let goOn = (): void => {}
      const waits = new Promise<void>((resolve) => (goOn = resolve))
      const others = patternBytes(2 * PART).reverse()
      const late = storageOf(s3).append(
        record,
        0,
        (async function* () {
          yield FILE.subarray(0, PART)
          yield others.subarray(0, PART - 1)
          await waits
          yield others
        })(),
        PLAIN,
      )
      await eventually(async () => (await offsetOf(storageOf(s3), record)) === PART, 'the first part')
      const storage = storageOf(s3)
      await storage.append(record, PART, chunksOf(FILE.subarray(PART, 2 * PART + 9)), { isAtomic: false, hasTakenOver: true })
      goOn()
      await assert.rejects(late, { code: 'WEIR_STORE_UNAVAILABLE', message: /another process writes the same upload$/ })
      await storage.append(record, 2 * PART + 9, chunksOf(FILE.subarray(2 * PART + 9)), PLAIN)
      await storage.complete(record, FILE.length)
      assert.ok((await buffer(storage.read(record))).equals(FILE))
      await assertDeleted(s3, storage, record)
    })

    test('cannot bring back an upload that is complete', async (t) => {
      const s3 = await startS3(t)
      const storage = storageOf(s3)
      const record = await created(storage, 20)
      const late = storage.append(
        record,
        0,
        (async function* () {
          yield FILE.subarray(0, 5)
          await storage.append(record, 0, chunksOf(FILE.subarray(0, 20)), PLAIN)
          yield FILE.subarray(5, 7)
        })(),
        PLAIN,
      )
      await assert.rejects(late, { code: 'WEIR_STORE_UNAVAILABLE' })
      assert.equal(await offsetOf(storage, record), 20)
      assert.ok((await buffer(storage.read(record))).equals(FILE.subarray(0, 20)))
    })
  })

  describe('when S3 fails', () => {
    for (const fault of [403, 500, 'cut'] as const) {
      test(`${fault}: one error, and the upload goes on where it was`, async (t) => {
        const s3 = await startS3(t)
        const storage = storageOf(s3)
        const record = await created(storage, FILE.length)
        await storage.append(record, 0, chunksOf(FILE.subarray(0, 1000)), PLAIN)
        const calls: [string, () => Promise<unknown>][] = [
          ['append', () => storage.append(record, 1000, chunksOf(FILE.subarray(1000)), PLAIN)],
          ['load', () => storage.load(record.id)],
          ['create', () => storage.create(recordOf({ length: 1 }))],
          ['complete', () => storage.complete({ ...record, length: 1000 }, 1000)],
          ['read', () => buffer(storage.read(record))],
          ['moveTo', () => storage.moveTo(record, 'x')],
          ['delete', () => storage.delete(record)],
          ['list', () => storage.list()[Symbol.asyncIterator]().next()],
          ['sweep', () => storage.sweep!(0)],
        ]
        for (const [what, call] of calls) {
          s3.front.fault = () => fault
          await assert.rejects(call(), { code: 'WEIR_STORE_UNAVAILABLE', status: 503, message: /S3: .* failed with / }, what)
        }
        for (const failing of ['uploads', 'partNumber', 'uploadId']) {
          s3.front.fault = () => null
          const offset = await offsetOf(storage, record)
          s3.front.fault = ({ query }) => (query.has(failing) && !(failing === 'uploadId' && query.has('partNumber')) ? fault : null)
          await assert.rejects(storage.append(record, offset, chunksOf(FILE.subarray(offset)), PLAIN), { code: 'WEIR_STORE_UNAVAILABLE' })
          s3.front.fault = () => null
          assert.ok((await offsetOf(storage, record)) >= offset)
        }
        const offset = await offsetOf(storage, record)
        await storage.append(record, offset, chunksOf(FILE.subarray(offset)), PLAIN)
        assert.ok((await buffer(storage.read(record))).equals(FILE))
        await assertDeleted(s3, storage, record)
      })
    }

    test('a response that is lost changes nothing: the client repeats its request', async (t) => {
      const s3 = await startS3(t)
      const storage = s3Storage(s3.connect({ maxAttempts: 3 }), { bucket: s3.bucket, partSize: PART })
      const record = await created(storage, null)
      const seen = new Set<string>()
      s3.front.fault = ({ method, path, query }) => {
        const key = `${method} ${path} ${query.get('partNumber')}`
        if (method !== 'PUT' || seen.has(key)) return null
        seen.add(key)
        return 'lost'
      }
      await storage.append(record, 0, chunksOf(FILE.subarray(0, PART + 9)), PLAIN)
      assert.ok(seen.size >= 2)
      assert.equal(await offsetOf(storage, record), PART + 9)
    })

    test('a state whose response is lost for good keeps the parts that it names', async (t) => {
      const s3 = await startS3(t)
      const storage = storageOf(s3)
      const record = await created(storage, FILE.length)
      s3.front.fault = ({ method, path }) => (method === 'PUT' && path.endsWith('.state') ? 'lost' : null)
      await assert.rejects(storage.append(record, 0, chunksOf(FILE), PLAIN), { code: 'WEIR_STORE_UNAVAILABLE' })
      s3.front.fault = () => null
      const offset = await offsetOf(storage, record)
      assert.equal(offset, PART)
      await storage.append(record, offset, chunksOf(FILE.subarray(offset)), PLAIN)
      assert.ok((await buffer(storage.read(record))).equals(FILE))
      await assertDeleted(s3, storage, record)
    })

    test('a process that dies after it has joined the parts is continued', async (t) => {
      const SIZE = 2 * PART + 99
      const s3 = await startS3(t)
      const storage = storageOf(s3)
      const record = await created(storage, SIZE)
      await storage.append(record, 0, chunksOf(FILE.subarray(0, PART + 9)), PLAIN)
      let hasJoined = false
      s3.front.fault = ({ method, query }) => {
        if (hasJoined) return 'cut'
        hasJoined = method === 'POST' && query.has('uploadId')
        return hasJoined ? 'lost' : null
      }
      await assert.rejects(storage.append(record, PART + 9, chunksOf(FILE.subarray(PART + 9, SIZE)), PLAIN))
      s3.front.fault = () => null
      const offset = await offsetOf(storage, record)
      assert.ok(offset < SIZE)
      assert.equal(await storage.append(record, offset, chunksOf(FILE.subarray(offset, SIZE)), PLAIN), SIZE)
      assert.ok((await buffer(storage.read(record))).equals(FILE.subarray(0, SIZE)))
      await assertDeleted(s3, storage, record)
    })

    test('an upload whose parts somebody has deleted is lost, and leaves nothing', async (t) => {
      const s3 = await startS3(t)
      const storage = storageOf(s3)
      const record = await created(storage, FILE.length)
      await storage.append(record, 0, chunksOf(FILE.subarray(0, PART + 9)), PLAIN)
      const [uploadId] = await s3.unfinished()
      await new S3Bucket(s3.client, s3.bucket, {}).abort(`uploads/${record.id}`, uploadId!)
      const appending = storage.append(record, PART + 9, chunksOf(FILE.subarray(PART + 9)), PLAIN)
      await assert.rejects(appending, { code: 'WEIR_STORE_UNAVAILABLE', message: /the parts of the upload have been deleted$/ })
      assert.equal(await storage.load(record.id), null)
      assert.ok(await s3.isEmpty())
    })
  })

  test('part sizes grow with the length that the client states', async (t) => {
    const s3 = await startS3(t)
    const storage = storageOf(s3)
    const record = await created(storage, 95 * 1024 ** 3)
    await storage.append(record, 0, chunksOf(FILE.subarray(0, 2 * PART)), PLAIN)
    assert.deepEqual(await s3.unfinished(), []) // 10.8 MiB are needed for the first part
    await storage.append(record, 2 * PART, chunksOf(FILE.subarray(0, PART)), PLAIN)
    assert.equal((await s3.unfinished()).length, 1)
    assert.equal(await offsetOf(storage, record), 3 * PART)
  })
})
