// Properties of the wire parser for every input. On failure, fast-check prints the seed and the smallest input that it found.
// wire-reading.ts also checks that events are in order, that nothing borrowed is kept and that a refusal is final.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { ERRORS } from '../../src/base/error-codes.ts'
import { resolveLimits } from '../../src/base/limits.ts'
import { thinned } from '../support/thinned.ts'
import { anyText, encodeRequest, fieldsOf, places, requestSpec, wireText } from '../support/wire-arbitraries.ts'
import { cutAt, pieces } from '../support/wire-cases.ts'
import { formatReading, read } from '../support/wire-reading.ts'

const limits = fc.constantFrom(
  resolveLimits(),
  resolveLimits({ maxRequestHeaderSize: 120, maxRequestHeaders: 5, maxRequestBodySize: 20, maxChunkExtensionSize: 6 }),
  resolveLimits({ maxRequestHeaderSize: 60, maxRequestHeaders: 3, maxRequestBodySize: 0, maxChunkExtensionSize: 0 }),
)

test('however the bytes are cut, and whether or not the owner pauses, the log is the same', () => {
  fc.assert(
    fc.property(fc.oneof({ weight: 3, arbitrary: wireText }, anyText), places, limits, fc.boolean(), (text, cuts, limits, halfClose) => {
      const bytes = Buffer.from(text, 'latin1')
      const whole = formatReading(read([bytes], { limits, halfClose }), halfClose)
      const log = (parts: Buffer[], pauses: boolean) => formatReading(read(parts, { limits, halfClose, pauses }), halfClose)
      assert.equal(log(cutAt(bytes, cuts), false), whole)
      assert.equal(log(cutAt(bytes, cuts), true), whole)
      assert.equal(log(pieces(bytes, 1), false), whole)
    }),
    { numRuns: thinned(1500) },
  )
})

test('any bytes lead to events or one refusal, with the client at fault', () => {
  fc.assert(
    fc.property(fc.oneof(anyText, wireText), limits, (text, limits) => {
      const { messages, error } = read([Buffer.from(text, 'latin1')], { limits })
      for (const [i, message] of messages.entries())
        assert.ok(message.isWhole || i === messages.length - 1, 'only the last request may lack its end')
      if (error !== null) assert.match(ERRORS[error].fault, /^(peer|limit)$/)
    }),
    { numRuns: thinned(5000) },
  )
})

test('memory that is held between two receives is bounded by the limits and one piece', () => {
  const limits = resolveLimits({ maxRequestHeaderSize: 6000, maxRequestBodySize: null })
  const long = fc.record({
    start: fc.constantFrom(
      'GET /',
      'GET / HTTP/1.1\r\nHost: a\r\nB: ',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0;a="',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: ',
    ),
    size: fc.integer({ min: 1, max: 5000 }),
    length: fc.integer({ min: 0, max: 20_000 }),
  })
  fc.assert(
    fc.property(long, ({ start, size, length }) => {
      const reading = read(pieces(Buffer.from(start + 'x'.repeat(length)), size), { limits })
      // Memory doubles as it grows, so up to twice of what is used may be held.
      const most = 2 * (limits.maxRequestHeaderSize + size) + 4096
      assert.ok(reading.mostHeldBytes <= most, `${reading.mostHeldBytes} bytes held, ${most} allowed`)
    }),
    { numRuns: thinned(150) },
  )
})

test('what an independent encoder writes is read as intended', () => {
  fc.assert(
    fc.property(fc.array(requestSpec, { minLength: 1, maxLength: 4 }), places, (specs, cuts) => {
      const { messages, error } = read(cutAt(Buffer.concat(specs.map(encodeRequest)), cuts))
      const last = specs.findIndex((spec) => !spec.keepAlive)
      const answered = last === -1 ? specs : specs.slice(0, last + 1)
      assert.equal(error, null)
      assert.deepEqual(
        messages.map(({ method, target, minorVersion, keepAlive, fields, body, trailers, isWhole }) => {
          return { method, target, minorVersion, keepAlive, fields, body: body.toString('latin1'), trailers, isWhole }
        }),
        answered.map((spec) => ({
          method: spec.method,
          target: spec.target,
          minorVersion: spec.minorVersion,
          keepAlive: spec.keepAlive,
          fields: fieldsOf(spec),
          body: Buffer.concat(spec.body ?? []).toString('latin1'),
          trailers: spec.body !== null && spec.framing === 'chunked' ? spec.trailers : [],
          isWhole: true,
        })),
      )
    }),
    { numRuns: thinned(1500) },
  )
})
