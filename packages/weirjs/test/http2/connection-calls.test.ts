// What an owner may do inside an event, and what is a mistake of the owner. Beside it: the settings that the connection announces.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { resolveLimits } from '../../src/base/limits.ts'
import { Http2WireConnection } from '../../src/wire/http2/connection.ts'
import { DATA, END, HEAD, NEED_DATA, PAUSED, REFUSED } from '../../src/wire/http2/connection-events.ts'
import * as frames from '../../src/wire/http2/frames/frame-types.ts'
import { SETTING_BYTES } from '../../src/wire/http2/frames/frame-types.ts'
import type { Http2Stream } from '../../src/wire/http2/stream.ts'
import { encodeFields, encodeFrame } from '../support/http2-client.ts'
import { PROLOGUE, SETTING_NAMES, uint32 } from '../support/http2-steps.ts'

const HEAD_BLOCK = encodeFields([
  [':method', 'POST'],
  [':scheme', 'https'],
  [':authority', 'a'],
  [':path', '/'],
])
const open = (id: number, isEnd = true): Buffer =>
  encodeFrame(frames.HEADERS, frames.END_HEADERS | (isEnd ? frames.END_STREAM : 0), id, HEAD_BLOCK)

type Wire = Http2WireConnection<null>

/** @returns the events, and the types and streams of the frames that were sent */
function run(wire: Wire, bytes: Buffer, onEvent: (event: number, stream: Http2Stream<null>) => void): [string[], string[]] {
  const events: string[] = []
  wire.receive(bytes, bytes.length)
  for (let event = wire.next(); event > PAUSED; event = wire.next()) {
    events.push(`${event} ${wire.stream.id}`)
    onEvent(event, wire.stream)
  }
  wire.sender.fill(64 * 1024)
  return [events, framesOf(wire.sender.output.take())]
}

function framesOf(output: Buffer): string[] {
  const list: string[] = []
  for (let at = 0; at < output.length; at += 9 + output.readUIntBE(at, 3)) list.push(`${output[at + 3]} ${output.readUInt32BE(at + 5)}`)
  return list
}

function begun(limits = resolveLimits()): Wire {
  const wire = new Http2WireConnection<null>(limits)
  run(wire, PROLOGUE, () => {})
  return wire
}

for (const [offersConnect, expected] of [
  [false, 'MAX_CONCURRENT_STREAMS=7 INITIAL_WINDOW_SIZE=262144 MAX_HEADER_LIST_SIZE=2960 NO_RFC7540_PRIORITIES=1'],
  [true, 'MAX_CONCURRENT_STREAMS=7 INITIAL_WINDOW_SIZE=262144 MAX_HEADER_LIST_SIZE=2960 NO_RFC7540_PRIORITIES=1 ENABLE_CONNECT_PROTOCOL=1'],
] as const) {
  test(`announces ${expected}`, () => {
    const limits = resolveLimits({ maxConcurrentStreams: 7, maxRequestHeaderSize: 1000, maxRequestHeaders: 10 })
    const output = new Http2WireConnection<null>(limits, { offersConnect }).sender.output.take()
    const end = 9 + output.readUIntBE(0, 3)
    const pairs: string[] = []
    for (let at = 9; at < end; at += SETTING_BYTES) pairs.push(`${SETTING_NAMES[output.readUInt16BE(at)]}=${output.readUInt32BE(at + 2)}`)
    assert.equal(pairs.join(' '), expected)
    assert.deepEqual(framesOf(output), ['4 0', '8 0'])
  })
}

test('a request that is answered inside its HEAD leaves nothing behind, and what follows is read', () => {
  const wire = begun()
  const bytes = Buffer.concat([open(1), open(3), open(5)])
  const answer = (_: number, stream: Http2Stream<null>): void => {
    wire.sender.sendHead(stream, 200, null, null, 2, '', false)
    wire.sender.sendText(stream, 'OK', 2)
    assert.ok(stream.isClosed)
    wire.release(stream)
  }
  const [events, sent] = run(wire, bytes, answer)
  assert.deepEqual(events, [`${HEAD} 1`, `${HEAD} 3`, `${HEAD} 5`])
  assert.deepEqual(sent, ['1 1', '0 1', '1 3', '0 3', '1 5', '0 5'])
  assert.deepEqual([wire.openStreams, wire.unreleased, wire.heldBytes], [0, 0, 0])
})

test('the last request may be said inside its HEAD: those that came with it are ignored', () => {
  const wire = begun()
  const [events, sent] = run(wire, Buffer.concat([open(1), open(3), open(5)]), (_, stream) => {
    if (stream.id === 3) wire.control.end()
  })
  assert.deepEqual(events, [`${HEAD} 1`, `${HEAD} 3`])
  assert.deepEqual(sent, ['7 0'])
  assert.equal(wire.openStreams, 2)
})

test('the connection may fail inside an event', () => {
  const wire = begun()
  const [events, sent] = run(wire, Buffer.concat([open(1), open(3), open(5)]), (_, stream) => {
    if (stream.id === 3) wire.control.fail(2)
  })
  assert.deepEqual([events, sent, wire.openStreams], [[`${HEAD} 1`, `${HEAD} 3`], ['7 0'], 0])
})

test('a stream may be reset inside its HEAD and inside DATA', () => {
  const wire = begun()
  const data = (id: number): Buffer => encodeFrame(frames.DATA, frames.END_STREAM, id, Buffer.from('x'))
  const [events, sent] = run(wire, Buffer.concat([open(1, false), data(1), open(3, false), data(3)]), (event, stream) => {
    if ((stream.id === 1) === (event === HEAD)) wire.sender.reset(stream, 8)
  })
  assert.deepEqual(events, [`${HEAD} 1`, `${HEAD} 3`, `${DATA} 3`])
  assert.deepEqual(sent, ['3 1', '3 3'])
})

test('a body may be paused and resumed inside its DATA', () => {
  const wire = begun()
  const data = (text: string, flags = 0): Buffer => encodeFrame(frames.DATA, flags, 1, Buffer.from(text))
  const [events] = run(wire, Buffer.concat([open(1, false), data('a'), data('b', frames.END_STREAM)]), (event, stream) => {
    wire.bodies.pauseBody(stream)
    if (event === DATA) wire.bodies.resumeBody(stream)
    else if (event === HEAD) wire.bodies.resumeBody(stream)
  })
  assert.deepEqual(events, [`${HEAD} 1`, `${DATA} 1`, `${DATA} 1`, `${END} 1`])
})

test('bytes are borrowed, or the owner may keep them', () => {
  const wire = begun()
  const bytes = Buffer.concat([open(1, false), encodeFrame(frames.DATA, 0, 1, Buffer.from('borrowed'))])
  run(wire, bytes, (event) => {
    if (event !== DATA) return
    assert.deepEqual([wire.buffer.buffer === bytes.buffer, wire.isBorrowed], [true, true])
  })
  const stream = wire.stream
  wire.bodies.pauseBody(stream)
  const more = encodeFrame(frames.DATA, 0, 1, Buffer.from('held'))
  run(wire, more, () => assert.fail('nothing is passed on'))
  more.fill(0)
  wire.bodies.resumeBody(stream)
  assert.equal(wire.next(), DATA)
  assert.deepEqual([wire.isBorrowed, wire.buffer.toString('latin1', wire.dataStart, wire.dataEnd)], [false, 'held'])
  assert.equal(wire.next(), NEED_DATA)
})

test('an output that was taken does not change', () => {
  const wire = begun()
  const ping = (text: string): Buffer => encodeFrame(frames.PING, 0, 0, Buffer.from(text))
  wire.receive(ping('11111111'), 17)
  wire.next()
  const first = wire.sender.output.take()
  wire.receive(ping('22222222'), 17)
  wire.next()
  assert.equal(first.toString('latin1', 9), '11111111')
  assert.equal(wire.sender.output.take().toString('latin1', 9), '22222222')
  assert.equal(wire.sender.output.take().length, 0)
})

test('mistakes of the owner throw', () => {
  const wire = begun()
  run(wire, Buffer.concat([open(1), open(3)]), () => {})
  const { stream } = wire
  assert.throws(() => wire.sender.sendData(stream, Buffer.from('x'), false), /follows its head/)
  wire.sender.sendHead(stream, 200, null, null, -1, '', false)
  assert.throws(() => wire.sender.sendHead(stream, 200, null, null, -1, '', false), /one head/)
  wire.sender.sendData(stream, Buffer.alloc(100_000), true) // it waits for the window
  assert.throws(() => wire.sender.sendData(stream, Buffer.from('x'), false), /ends once/)
  assert.throws(() => wire.sender.sendEnd(stream), /ends once/)
})

test('frames on streams that were reset are ignored, however many were', () => {
  const wire = begun(resolveLimits({ maxConcurrentStreams: 1 }))
  run(wire, open(1, false), () => {})
  const ids = Array.from({ length: 600 }, (_, i) => 2 * i + 3)
  run(wire, Buffer.concat(ids.map((id) => open(id, false))), (event) => assert.equal(event, REFUSED))
  run(wire, Buffer.concat(ids.map((id) => encodeFrame(frames.DATA, frames.END_STREAM, id, Buffer.from('x')))), () =>
    assert.fail('they are ignored'),
  )
  run(wire, Buffer.concat(ids.map((id) => encodeFrame(frames.RST_STREAM, 0, id, uint32(8)))), () => assert.fail('they are ignored'))
  assert.deepEqual([wire.control.life, wire.openStreams], [0, 1])
})

test('priorities of up to 100 requests that were not opened are kept, and those of others are ignored', () => {
  const wire: Wire = new Http2WireConnection(resolveLimits())
  const priority = (id: number): Buffer => encodeFrame(frames.PRIORITY_UPDATE, 0, 0, Buffer.concat([uint32(id), Buffer.from('u=7')]))
  const ids = Array.from({ length: 101 }, (_, i) => 2 * i + 1)
  const urgencies: number[] = []
  run(wire, Buffer.concat([PROLOGUE, ...ids.map(priority), ...ids.map((id) => open(id))]), (_event, stream) => {
    wire.sender.sendHead(stream, 200, null, null, 0, '', true)
    wire.release(stream)
    urgencies.push(stream.urgency)
  })
  assert.deepEqual(urgencies, [...Array.from({ length: 100 }, () => 7), 3])
})

test('a source is not asked for more while a piece that did not fit into a frame waits', () => {
  const wire = begun()
  const bytes = open(1)
  wire.receive(bytes, bytes.length)
  assert.equal(wire.next(), HEAD)
  const { stream } = wire
  assert.equal(wire.next(), NEED_DATA)
  wire.sender.sendHead(stream, 200, null, null, -1, '', false)
  wire.sender.sendData(stream, Buffer.alloc(1), false)
  wire.sender.sendData(stream, Buffer.alloc(16 * 1024 + 1), false)
  wire.sender.fill(64)
  assert.equal(wire.sender.nextHungry(), null)
  wire.sender.fill(64 * 1024)
  assert.equal(wire.sender.nextHungry(), stream)
})
