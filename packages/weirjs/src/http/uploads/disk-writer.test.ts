import assert from 'node:assert/strict'
import fs from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import { DiskWriter } from './disk-writer.ts'

const KIB = 1024

/** A write that was passed to the disk and is not complete. */
interface Write {
  readonly bytes: Buffer
  readonly position: number
  answer(error: Error | null, written?: number): void
}

/** A disk whose writes end when the test decides. */
function fakeDisk(t: TestContext): { writer: DiskWriter; writes: Write[]; rooms: () => number } {
  const writes: Write[] = []
  const write = (
    _fd: number,
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    done: (error: Error | null, written: number) => void,
  ): void => {
    writes.push({
      bytes: buffer.subarray(offset, offset + length),
      position,
      answer: (error, written = length) => done(error, error === null ? written : 0),
    })
  }
  t.mock.method(fs, 'write', write as typeof fs.write)
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  let rooms = 0
  const writer = new DiskWriter({ fd: 1 } as FileHandle, null, { look() {}, end() {} }, () => rooms++)
  return { writer, writes, rooms: () => rooms }
}

function give(writer: DiskWriter, kib: number, fill = 'x'): boolean {
  const bytes = Buffer.alloc(kib * KIB, fill)
  return writer.data(bytes, 0, bytes.length)
}

/** Whether a promise has settled by now. */
async function hasSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  const note = (): void => void (settled = true)
  promise.then(note, note)
  await setImmediate()
  return settled
}

test('bytes are written one buffer after the other, each at its position', async (t) => {
  const { writer, writes } = fakeDisk(t)
  give(writer, 256, 'a')
  give(writer, 100, 'b')
  writer.end()
  assert.equal(writes.length, 1, 'one write at a time')
  writes[0]!.answer(null)
  assert.deepEqual(
    writes.map(({ bytes, position }) => [bytes.length, position, bytes.toString('latin1', 0, 1)]),
    [
      [256 * KIB, 0, 'a'],
      [100 * KIB, 256 * KIB, 'b'],
    ],
  )
  assert.equal(await hasSettled(writer.done), false)
  writes[1]!.answer(null)
  await writer.done
  assert.equal(writer.size, 356 * KIB)
})

test('a source is stopped while two full buffers wait, and resumed when one is written', (t) => {
  const { writer, writes, rooms } = fakeDisk(t)
  assert.equal(give(writer, 256), true)
  assert.equal(give(writer, 255), true)
  assert.equal(give(writer, 1), false)
  assert.equal(rooms(), 0)
  writes[0]!.answer(null)
  assert.equal(rooms(), 1)
  assert.equal(give(writer, 1), true)
})

test('a buffer that the disk accepts in pieces is written to its end', async (t) => {
  const { writer, writes } = fakeDisk(t)
  give(writer, 10)
  writer.end()
  writes[0]!.answer(null, 1_000)
  writes[1]!.answer(null, 9_000)
  writes[2]!.answer(null)
  await writer.done
  assert.deepEqual(
    writes.map(({ bytes, position }) => [bytes.length, position]),
    [
      [10_240, 0],
      [9_240, 1_000],
      [240, 10_000],
    ],
  )
})

test('a disk that accepts nothing more without an error is a failure, not a short file', async (t) => {
  const { writer, writes } = fakeDisk(t)
  give(writer, 10)
  writer.end()
  writes[0]!.answer(null, 1_000)
  writes[1]!.answer(null, 0)
  await assert.rejects(writer.done, /accepts no more/)
})

test('a failure is reported only when no write is pending: then the file may be closed', async (t) => {
  const { writer, writes, rooms } = fakeDisk(t)
  const error = new Error('the client left')
  give(writer, 300)
  writer.fail(error)
  assert.equal(await hasSettled(writer.done), false)
  writes[0]!.answer(null)
  await assert.rejects(writer.done, error)
  assert.deepEqual([writes.length, writer.hasFailed, rooms() > 0], [1, true, true])
})

test('the first failure wins, and later bytes are discarded', async (t) => {
  const { writer, writes } = fakeDisk(t)
  const error = new Error('the disk')
  give(writer, 512)
  writes[0]!.answer(error)
  writer.fail(new Error('later'))
  assert.equal(give(writer, 512), true)
  writer.end()
  await assert.rejects(writer.done, error)
  assert.equal(writes.length, 1)
})
