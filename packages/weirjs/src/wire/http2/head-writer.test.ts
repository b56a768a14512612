import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { FrameOutput } from './frame-output.ts'
import { FRAME_HEAD_BYTES } from './frames/frame-types.ts'
import { HeadWriter } from './head-writer.ts'
import { HpackDecoder } from './hpack/decoder.ts'
import type { HeaderField } from './hpack/header-field.ts'

const DATE = 'Sun, 06 Nov 1994 08:49:37 GMT'
const LATER = 'Sun, 06 Nov 1994 08:49:38 GMT'
const JSON_TYPE = 'application/json'

/** A writer, and the client that reads what it writes. */
class Conversation {
  readonly #output = new FrameOutput()
  readonly #writer = new HeadWriter(this.#output)
  readonly #decoder = new HpackDecoder(null)

  setTableLimit(bytes: number): void {
    this.#writer.setTableLimit(bytes)
  }

  /** @returns the fields that the client reads, and how long their block is */
  head(status: number, type: string | null, fields: readonly string[] | null, length: number, date: string): [string[], number] {
    this.#writer.writeHead(1, status, type, fields, length, date, true)
    const frame = this.#output.take()
    const read: HeaderField[] = []
    this.#decoder.decode(frame, FRAME_HEAD_BYTES, frame.length, read, Number.POSITIVE_INFINITY)
    return [read.map(({ name, value }) => `${name}: ${value}`), frame.length - FRAME_HEAD_BYTES]
  }
}

/** The fields of a head, in their order. */
function fieldsOf(status: number, type: string | null, fields: readonly string[] | null, length: number, date: string): string[] {
  const own: string[] = []
  for (let i = 0; fields !== null && i < fields.length; i += 2) own.push(`${fields[i]}: ${fields[i + 1]}`)
  const hasDate = own.some((one) => one.startsWith('date:'))
  return [
    `:status: ${status}`,
    ...(date === '' || hasDate ? [] : [`date: ${date}`]),
    ...(type === null ? [] : [`content-type: ${type}`]),
    ...(length < 0 ? [] : [`content-length: ${length}`]),
    ...own,
  ]
}

test('the second head of a second begins with indices, and so do those after it', () => {
  const conversation = new Conversation()
  const lengths = [1, 2, 3, 4].map((length) => conversation.head(200, JSON_TYPE, null, length, DATE)[1])
  assert.ok(lengths[0]! > lengths[1]! + JSON_TYPE.length, `${lengths}`)
  assert.deepEqual(lengths.slice(1), [lengths[1], lengths[1], lengths[1]])
})

test('heads that begin like the last one are read as they are meant, whatever the table has become since', () => {
  const limit = fc.record({ tableBytes: fc.constantFrom(0, 60, 100, 4096) })
  const head = fc.tuple(
    fc.constantFrom(200, 200, 200, 404, 299),
    fc.constantFrom(JSON_TYPE, JSON_TYPE, 'text/plain; charset=utf-8', null, 'a'.repeat(100)),
    fc.constantFrom(null, null, null, ['x-one', '1'], ['x-two', '2', 'date', LATER], ['x-long', 'b'.repeat(200)]),
    fc.constantFrom(-1, 0, 27, 1_000_000),
    fc.constantFrom(DATE, DATE, LATER, ''),
  )
  fc.assert(
    fc.property(fc.array(fc.oneof({ arbitrary: head, weight: 6 }, limit), { maxLength: 40 }), (steps) => {
      const conversation = new Conversation()
      for (const step of steps) {
        if ('tableBytes' in step) conversation.setTableLimit(step.tableBytes)
        else assert.deepEqual(conversation.head(...step)[0], fieldsOf(...step))
      }
    }),
    { numRuns: 300 },
  )
})
