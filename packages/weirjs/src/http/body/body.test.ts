import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { type BodyEngine, type BodySink, RequestBody, STREAMED } from './body.ts'

const UNKNOWN = -1

test('a body of unknown length is read correctly, however it was split and whenever the receive buffer was reused', () => {
  const piece = fc.record({ bytes: fc.uint8Array({ minLength: 1, maxLength: 6000 }), readsAgain: fc.boolean() })
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.nat(100), (pieces, offset) => {
      const body = new RequestBody(UNKNOWN, null)
      const received = Buffer.alloc(64 * 1024)
      let at = offset
      for (const { bytes, readsAgain } of pieces) {
        received.set(bytes, at)
        body.push(received, at, at + bytes.length, true)
        at += bytes.length
        if (!readsAgain) continue
        body.own()
        received.fill(0xee)
        at = offset
      }
      body.own()
      received.fill(0xee)
      body.finish()
      assert.deepEqual(Buffer.from(body.copy('bodyBytes')), Buffer.concat(pieces.map(({ bytes }) => bytes)))
    }),
  )
})

test('the second piece does not overwrite the memory after the first, which does not belong to the body', () => {
  const body = new RequestBody(UNKNOWN, null)
  const chunk = Buffer.from('first, another request')
  body.push(chunk, 0, 5, false)
  body.push(Buffer.from('second'), 0, 6, false)
  body.finish()
  assert.equal(body.text('body'), 'firstsecond')
  assert.equal(chunk.toString(), 'first, another request')
})

test('a body of unknown length that arrived in one piece is not copied until a copy is needed', () => {
  const body = new RequestBody(UNKNOWN, null)
  const received = Buffer.from('number 42')
  body.push(received, 7, 9, true)
  body.finish()
  assert.ok(body.holds(received))
  assert.equal(body.text('body'), '42')
})

/** Takes a body, as a reader does that has been loaded. */
const takeText =
  (body: RequestBody) =>
  (member: string): Promise<string> =>
    new Promise((resolve, reject) => {
      let text = ''
      const sink: BodySink = {
        data: (buffer, start, end) => {
          text += buffer.toString('utf8', start, end)
          return true
        },
        end: () => resolve(text),
        fail: reject,
      }
      body.take(member, sink)
    })

function streamed(isGating = false): { body: RequestBody; push(text: string): boolean } {
  const engine: BodyEngine = { demand() {}, isGating }
  const body = new RequestBody(UNKNOWN, engine, STREAMED)
  return { body, push: (text) => body.push(Buffer.from(text), 0, text.length, false) }
}

test('a body whose reader is being loaded waits for it, and nothing else can take it', async () => {
  const { body, push } = streamed()
  const { promise, resolve } = withResolvers()
  const read = body.takeAfter(promise, takeText(body))
  assert.equal(push('one '), false, 'the engine waits')
  assert.equal(body.isUnread, false)
  const message = 'a body stream can be read only once: bufferBody(): keep what the first reader gets, or call bufferBody() first'
  await assert.rejects(body.collect('bufferBody()'), { code: 'WEIR_BODY_ALREADY_READ', message })
  assert.throws(() => body.text('body'), { code: 'WEIR_BODY_ALREADY_READ' })
  const second = body.takeAfter(promise, takeText(body))
  resolve('late')
  await assert.rejects(second, { code: 'WEIR_BODY_ALREADY_READ' })
  assert.equal(push('two'), true)
  body.finish()
  assert.equal(await read, 'one two')
})

test('a body that ends or fails while its reader is being loaded tells it so', async () => {
  const ended = streamed()
  const read = ended.body.takeAfter(Promise.resolve('late'), takeText(ended.body))
  ended.push('whole')
  ended.body.finish()
  assert.equal(await read, 'whole')

  const failed = streamed()
  const broken = failed.body.takeAfter(Promise.resolve('late'), takeText(failed.body))
  failed.body.fail(new Error('the client is gone'))
  await assert.rejects(broken, /the client is gone/)

  const over = streamed()
  const expired = over.body.takeAfter(Promise.resolve('late'), takeText(over.body))
  over.body.expire('GET /', false)
  await assert.rejects(expired, { code: 'WEIR_REQUEST_EXPIRED' })
})

test('a body whose reader cannot be loaded is free for another, and none is held in a gate', async () => {
  const { body } = streamed()
  await assert.rejects(body.takeAfter(Promise.reject(new Error('no such file')), takeText(body)), /no such file/)
  body.finish()
  assert.equal(await takeText(body)('bodyStream()'), '')

  const gated = streamed(true)
  await assert.rejects(gated.body.takeAfter(Promise.resolve('late'), takeText(gated.body)), { code: 'WEIR_BODY_IN_GATE' })
})

function withResolvers(): { promise: Promise<string>; resolve: (value: string) => void } {
  let resolve!: (value: string) => void
  const promise = new Promise<string>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
