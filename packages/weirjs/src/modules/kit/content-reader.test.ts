import assert from 'node:assert/strict'
import { test } from 'node:test'

import { type ByteSource, takeSource } from '../../http/response/byte-source.ts'
import { ContentReader } from './content-reader.ts'
import type { ResponseHandle } from './response.ts'

function readerOf(source: ByteSource): ContentReader {
  return ContentReader.of({ content: { kind: 'stream', ...takeSource(source) }, declaredLength: -1 } as unknown as ResponseHandle)!
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
