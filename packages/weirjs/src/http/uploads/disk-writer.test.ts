import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import type { OpenFile } from '../disk/open-file.ts'
import { DiskWriter } from './disk-writer.ts'

const KIB = 1024

/** A write that was passed to the disk and is not complete. */
interface Write {
  readonly bytes: Buffer
  readonly position: number
  answer(error: Error | null, written?: number): void
}

/** A disk whose writes end when the test decides. */
function fakeDisk(): { writer: DiskWriter; writes: Write[]; rooms: () => number } {
  const writes: Write[] = []
  const write: OpenFile['write'] = (buffer, offset, length, position, done) => {
    writes.push({
      bytes: Buffer.from(buffer.buffer, buffer.byteOffset + offset, length),
      position,
      answer: (error, written = length) => done(error, error === null ? written : 0),
    })
  }
  let rooms = 0
  const writer = new DiskWriter({ write }, null, { look() {}, end() {}, detectedType: null }, () => rooms++)
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

test('bytes are written one buffer after the other, each at its position', async () => {
  const { writer, writes } = fakeDisk()
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

test('a source is stopped while two full buffers wait, and resumed when one is written', () => {
  const { writer, writes, rooms } = fakeDisk()
  assert.equal(give(writer, 256), true)
  assert.equal(give(writer, 255), true)
  assert.equal(give(writer, 1), false)
  assert.equal(rooms(), 0)
  writes[0]!.answer(null)
  assert.equal(rooms(), 1)
  assert.equal(give(writer, 1), true)
})

test('a buffer that the disk accepts in pieces is written to its end', async () => {
  const { writer, writes } = fakeDisk()
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

test('a disk that accepts nothing more without an error is a failure, not a short file', async () => {
  const { writer, writes } = fakeDisk()
  give(writer, 10)
  writer.end()
  writes[0]!.answer(null, 1_000)
  writes[1]!.answer(null, 0)
  await assert.rejects(writer.done, /accepts no more/)
})

test('a failure is reported only when no write is pending: then the file may be closed', async () => {
  const { writer, writes, rooms } = fakeDisk()
  const error = new Error('the client left')
  give(writer, 300)
  writer.fail(error)
  assert.equal(await hasSettled(writer.done), false)
  writes[0]!.answer(null)
  await assert.rejects(writer.done, error)
  assert.deepEqual([writes.length, writer.hasFailed, rooms() > 0], [1, true, true])
})

test('the first failure wins, and later bytes are discarded', async () => {
  const { writer, writes } = fakeDisk()
  const error = new Error('the disk')
  give(writer, 512)
  writes[0]!.answer(error)
  writer.fail(new Error('later'))
  assert.equal(give(writer, 512), true)
  writer.end()
  await assert.rejects(writer.done, error)
  assert.equal(writes.length, 1)
})
