// What happens now and then, beside requests: uploads that have expired are deleted, and those of other processes are counted.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestClock } from '../../weirjs/src/testing/index.ts'
import { mostInATurn } from '../../weirjs/test/support/most-in-a-turn.ts'
import { eventually, gate } from '../../weirjs/test/support/serving.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { over, uploading } from '../../weirjs/test/support/uploading.ts'
import { diskStorage, memoryLocks, type UploadStorage } from '../src/index.ts'

/** Sweeps until `condition` holds. */
function sweepUntil(clock: TestClock, condition: () => Promise<boolean>, what: string): Promise<void> {
  return eventually(async () => {
    await clock.advance(600_000)
    return condition()
  }, what)
}

async function idsIn(storage: UploadStorage): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of storage.list()) ids.push(id)
  return ids
}

test('an upload that another process completes does not count as unfinished until it expires', async (t) => {
  const storage = diskStorage(temporaryDirectory(t), { sync: false })
  const shared = { storage, locks: memoryLocks(), maxOpenUploads: 1, expiresAfter: '100d' } as const
  const first = uploading(t, shared)
  const second = uploading(t, shared)
  for (const headers of [{}, { 'X-User': 'ann' }]) {
    const url = await first.create(2, headers)
    assert.equal((await second.tus('PATCH', url, { 'Upload-Offset': 0, ...headers }, 'ab')).status, 204)
    const canCreate = async (): Promise<boolean> => (await first.tus('POST', '/files', { 'Upload-Length': 2, ...headers })).status === 201
    assert.equal(await canCreate(), false)
    await sweepUntil(first.clock, canCreate, 'a creation')
    assert.equal(await canCreate(), false, 'the one that was just created counts')
  }
})

test('an upload that cannot be deleted keeps no other from being deleted', async (t) => {
  const disk = diskStorage(temporaryDirectory(t), { sync: false })
  const failures: unknown[] = []
  let stuck = '' // listed first
  const up = uploading(t, {
    expiresAfter: '1h',
    onError: (error) => failures.push(error),
    storage: over(disk, {
      async *list() {
        if (stuck !== '') yield (await disk.load(stuck))!.record
        for await (const record of disk.list()) if (record.id !== stuck) yield record
      },
      async delete(record) {
        if (record.id === stuck) throw new Error('this one stays')
        await disk.delete(record)
      },
    }),
  })
  stuck = (await up.create(5)).slice('/files/'.length)
  await up.create(5)
  await sweepUntil(up.clock, async () => failures.length > 0 && (await idsIn(disk)).length < 2, 'a deletion, and what is told of the other')
  assert.deepEqual(await idsIn(disk), [stuck])
  assert.match(String(failures[0]), /this one stays/)
})

test('new uploads that wait until those in the storage are counted go on in turns', async (t) => {
  const disk = diskStorage(temporaryDirectory(t), { sync: false })
  const listed = gate()
  let [lists, created] = [0, 0]
  const storage = over(disk, {
    async *list() {
      lists++
      await listed.promise
      yield* disk.list()
    },
    create(record) {
      created++
      return disk.create(record)
    },
  })
  const up = uploading(t, { storage, maxOpenUploads: 1 })
  const all = Array.from({ length: 1_000 }, () => up.tus('POST', '/files', { 'Upload-Length': 2 }))
  await eventually(() => lists === 1, 'the listing')
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate) // all of them wait now
  listed.open()
  const most = await mostInATurn(all)
  assert.ok(most <= 256, `${most} in one turn`)
  assert.deepEqual([lists, created], [1, 1])
})
