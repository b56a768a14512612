import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { growthOf } from '../../test/support/memory-growth.ts'
import { thinned } from '../../test/support/thinned.ts'
import { WrittenBody } from './written-body.ts'

const WRITER = { onTaken: () => {}, onEnd: () => {}, onClose: () => {} }

async function textOf(body: WrittenBody): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of body) pieces.push(Buffer.from(piece as string))
  return Buffer.concat(pieces).toString()
}

test('pieces of one byte that wait cost what they have bytes', async () => {
  const BYTES = thinned(256 * 1024)
  const BODIES = 8
  const fill = (): WrittenBody => {
    const body = new WrittenBody(WRITER)
    for (let i = 0; i < BYTES; i++) body.add(Buffer.of(97 + (i % 26)), null)
    return body
  }
  fill() // so that it is compiled
  const bodies: WrittenBody[] = []
  const growths: number[] = []
  // What else the process does takes some memory at the same time: little beside that of many bodies, and not each time.
  const fillMany = (): void => void bodies.push(...Array.from({ length: BODIES }, fill))
  for (let i = 0; i < 3; i++) growths.push((await growthOf(fillMany)) / BODIES)
  assert.ok(Math.min(...growths) <= BYTES + 64 * 1024, `${growths} bytes`)
  const body = bodies[0]!
  assert.equal(body.waitingBytes, BYTES)
  body.end()
  assert.equal((await textOf(body)).length, BYTES)
  assert.equal(body.waitingBytes, 0)
})

test('texts, bytes and long pieces stay in order, and each callback comes after its piece', async () => {
  const body = new WrittenBody(WRITER)
  const called: number[] = []
  const long = 'l'.repeat(70_000)
  body.add('a', null)
  body.add('é', null)
  body.add(Buffer.from('b'), () => called.push(1))
  body.add('c', null)
  body.add(long, () => called.push(2))
  body.add('d', null)
  body.add('e', null)
  const first = await body.next()
  assert.deepEqual(called, [])
  await body.next()
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([first.value?.length, called], [70_005, [1, 2]])
  body.end()
  await body.next()
  assert.equal(body.waitingBytes, 0)
})
