import assert from 'node:assert/strict'
import { test } from 'node:test'

import { type ByteSource, takeSource } from '../../http/response/byte-source.ts'
import { ContentReader } from './content-reader.ts'
import type { ResponseHandle } from './response.ts'

function readerOf(source: ByteSource, clientAddress = ''): ContentReader {
  const response = { content: { kind: 'stream', ...takeSource(source) }, declaredLength: -1 } as unknown as ResponseHandle
  return ContentReader.of(response, { clientAddress })!
}

test('many responses that are read at once take turns of the event loop, and one that is closed meanwhile is at its end', async () => {
  const READERS = 100
  const PIECES = 200
  let inTurn = 0
  let most = 0
  let isOver = false
  const count = (): void => {
    inTurn = 0
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  async function* pieces(): ByteSource {
    for (let i = 0; i < PIECES; i++) yield 'x'
  }
  const readAll = async (): Promise<number> => {
    const reader = readerOf(pieces())
    let read = 0
    for (; (await reader.next()) !== null; read++) most = Math.max(most, ++inTurn)
    return read
  }
  const all = Promise.all(Array.from({ length: READERS }, readAll))
  const closed = readerOf(pieces())
  const last = closed.next()
  closed.close()
  assert.equal(await last, null)
  assert.equal(
    (await all).reduce((sum, read) => sum + read),
    READERS * PIECES,
  )
  isOver = true
  assert.ok(most <= 2_100, `${most} pieces in one turn`)
})

test('a response of another client does not wait for all that one client has asked for', async () => {
  const large = new Uint8Array(256 * 1024)
  let read = 0
  let isOver = false
  async function* pieces(): ByteSource {
    while (!isOver) yield large
  }
  const readAll = async (): Promise<void> => {
    const reader = readerOf(pieces(), '192.0.2.1')
    while ((await reader.next()) !== null) read++
  }
  const all = Promise.all(Array.from({ length: 500 }, readAll))
  const reader = readerOf(pieces(), '192.0.2.2')
  const waits: number[] = []
  for (let i = 0; i < 10; i++) {
    const before = read
    await reader.next()
    waits.push(read - before)
  }
  isOver = true
  reader.close()
  await all
  assert.ok(Math.max(...waits.slice(1)) < 10, `pieces of the other client in between: ${waits.slice(1)}`)
})
