import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { encodeEvent, type SseEvent } from './event.ts'

/** Reads one event by the rules of the standard, independently of the code under test. */
function read(text: string): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const line of text.split(/\r\n|\r|\n/)) {
    const colon = line.indexOf(':')
    if (line === '' || colon === 0) continue
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    fields[name] = name === 'data' && 'data' in fields ? `${fields['data']}\n${value}` : value
  }
  return fields
}

test('an event has one line for each field, and ends with an empty line', () => {
  assert.equal(encodeEvent({ data: 'a', event: 'b', id: 'c', retry: 5, comment: 'd' }), ': d\nretry: 5\nid: c\nevent: b\ndata: a\n\n')
  assert.equal(encodeEvent({ retry: '30s' }), 'retry: 30000\n\n')
  assert.equal(encodeEvent('text'), 'data: text\n\n')
  assert.equal(encodeEvent(''), 'data: \n\n')
  assert.equal(encodeEvent({ data: { a: [1] } }), 'data: {"a":[1]}\n\n')
  assert.equal(encodeEvent({ data: null }), 'data: null\n\n')
  assert.equal(encodeEvent({ id: '' }), 'id: \n\n')
})

test('every kind of line end in data begins a new data line', () => {
  assert.equal(encodeEvent('a\nb\rc\r\nd\n'), 'data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n')
  assert.equal(encodeEvent({ comment: 'a\rdata: b' }), ': a\n: data: b\n\n')
})

test('a client reads any data unchanged, except for line ends', () => {
  const text = fc.string({ unit: fc.constantFrom('a', ' ', ':', '\r', '\n', '\0', 'data: ', '\u{feff}', 'ü', 'event: x') })
  const word = fc.string().filter((value) => !/[\r\n\0]/.test(value))
  fc.assert(
    fc.property(text, word, word, (data, id, event) => {
      const encoded = encodeEvent({ data, id, event })
      assert.deepEqual(read(encoded), { id, event, data: data.replace(/\r\n|\r/g, '\n') })
      assert.equal(encoded.search(/\n\n/), encoded.length - 2, 'one event')
    }),
  )
})

test('an event that would be read as something else is refused', () => {
  const circle: Record<string, unknown> = {}
  circle['itself'] = circle
  const refused: unknown[] = [
    { id: 'a\nb' },
    { id: 'a\0' },
    { event: 'a\rb' },
    { event: 5 },
    { retry: -1 },
    { retry: 1.5 },
    { retry: '5' },
    { retry: '5 min' },
    { comment: 5 },
    { data: () => {} },
    { data: Symbol('a') },
    { data: 1n },
    { data: { inside: [1n] } },
    { data: circle },
    null,
    5,
  ]
  for (const event of refused) assert.throws(() => encodeEvent(event as SseEvent), { code: 'WEIR_RESULT_UNSENDABLE' })
})
