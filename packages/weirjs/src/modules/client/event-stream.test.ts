// The parser of event streams, with every cut.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { readEvents, type ServerEvent } from './event-stream.ts'

async function read(chunks: readonly Uint8Array[], isJson = false): Promise<ServerEvent[]> {
  const events: ServerEvent[] = []
  for await (const event of readEvents(new Blob(chunks as Uint8Array<ArrayBuffer>[]).stream(), isJson, {})) events.push(event)
  return events
}

/** The text in pieces of `size` bytes. */
async function readCut(text: string, size: number): Promise<ServerEvent[]> {
  const bytes = new TextEncoder().encode(text)
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size))
      controller.close()
    },
  })
  const events: ServerEvent[] = []
  for await (const event of readEvents(stream, false, {})) events.push(event)
  return events
}

const STREAM =
  '\ufeffdata: é\r\ndata:2\r\n\r\n: comment\n\nevent: price\rdata:  x: y\rid: 7\r\rid\ndata\n\nretry: 5\nid: a\0b\nunknown: 1\ndata: last\n\ndata: lost\n'
const EVENTS = [
  { event: 'message', data: 'é\n2', id: '' },
  { event: 'price', data: ' x: y', id: '7' },
  { event: 'message', data: '', id: '' },
  { event: 'message', data: 'last', id: '' },
]

test('events are read by the standard, however the bytes are cut', async () => {
  for (const size of [1, 2, 3, 5, 7, 1000]) assert.deepEqual(await readCut(STREAM, size), EVENTS, `pieces of ${size} bytes`)
})

test('data may be JSON', async () => {
  const text = new TextEncoder().encode('data: {"a":\ndata: 1}\n\n')
  assert.deepEqual(await read([text], true), [{ event: 'message', data: { a: 1 }, id: '' }])
  await assert.rejects(read([new TextEncoder().encode('data: {\n\n')], true), SyntaxError)
})

test('leaving the loop ends the stream', async () => {
  let reason: unknown = 'none'
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode('data: 1\n\n')),
    cancel: (why) => void (reason = why),
  })
  for await (const { data } of readEvents(stream, false, {})) {
    assert.equal(data, '1')
    break
  }
  assert.equal(reason, undefined)
})

test('a broken stream breaks the loop', async () => {
  const stream = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error('reset')) })
  await assert.rejects(async () => {
    for await (const _ of readEvents(stream, false, {})) assert.fail('no event')
  }, /^Error: reset$/)
})
