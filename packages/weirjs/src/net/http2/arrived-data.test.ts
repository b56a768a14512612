import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { ArrivedData } from './arrived-data.ts'

const reader = { push: (): boolean => false }
const shown = ({ buffer, start, end }: ArrivedData<typeof reader>): string => buffer.toString('latin1', start, end)

test('pieces of one body in one buffer are joined, without the heads of frames between them', () => {
  const buffer = Buffer.from('..one<head>two<head>three..')
  const arrived = new ArrivedData<typeof reader>()
  arrived.set(reader, buffer, 2, 5, true)
  assert.ok(arrived.join(reader, buffer, 11, 14))
  assert.ok(arrived.join(reader, buffer, 20, 25))
  assert.equal(shown(arrived), 'onetwothree')
  assert.equal(buffer.toString('latin1', 25), '..', 'what has not been read does not change')
})

test('a piece is not joined to that of another body, to one in other memory, or to nothing', () => {
  const buffer = Buffer.from('one<head>two')
  const arrived = new ArrivedData<typeof reader>()
  assert.equal(arrived.join(reader, buffer, 9, 12), false)
  arrived.set(reader, buffer, 0, 3, true)
  assert.equal(arrived.join({ push: () => true }, buffer, 9, 12), false)
  assert.equal(arrived.join(reader, Buffer.from(buffer), 9, 12), false)
  assert.equal(shown(arrived), 'one')
  arrived.clear()
  assert.equal(arrived.join(reader, buffer, 9, 12), false)
})

test('no more than 64 KiB are joined, so that a reader may ask to wait after them', () => {
  const buffer = Buffer.alloc(80 * 1024)
  const arrived = new ArrivedData<typeof reader>()
  arrived.set(reader, buffer, 0, 60 * 1024, true)
  assert.ok(arrived.join(reader, buffer, 61 * 1024, 65 * 1024))
  assert.equal(arrived.join(reader, buffer, 66 * 1024, 66 * 1024 + 1), false)
  assert.equal(arrived.end - arrived.start, 64 * 1024)
})
