import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { subjectToken } from './nats-subject.ts'

test('a name stays readable', () => {
  assert.equal(subjectToken('orders-2_a'), 'orders-2_a')
  assert.equal(subjectToken('room:1'), 'room%3A1')
  assert.equal(subjectToken('a.*.> b'), 'a%2E%2A%2E%3E%20b')
  assert.equal(subjectToken('ä\u{1f600}'), '%C3%A4%F0%9F%98%80')
  assert.equal(subjectToken('\ud800'), '%uD800')
  assert.equal(subjectToken(''), '%')
})

/** Any UTF-16, and names that look like escapes. */
const names = fc.oneof(
  fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)), maxLength: 300 }),
  fc.string({ unit: fc.constantFrom('%', 'u', 'D', '8', '0', '2', 'E', '.', '-', '\ud800', '\udc00'), maxLength: 120 }),
)

test('every name is one token without wildcards, of bounded length', () => {
  fc.assert(
    fc.property(names, (name) => {
      const token = subjectToken(name)
      assert.match(token, /^[A-Za-z0-9_%-]{1,256}$/)
    }),
  )
})

test('two names have two tokens', () => {
  fc.assert(
    fc.property(names, names, (one, other) => {
      assert.equal(subjectToken(one) === subjectToken(other), one === other)
    }),
    { numRuns: 1_000 },
  )
  const tokens = new Map<string, string>()
  fc.assert(
    fc.property(names, (name) => {
      const token = subjectToken(name)
      assert.equal(tokens.get(token) ?? name, name)
      tokens.set(token, name)
    }),
    { numRuns: 1_000 },
  )
})

test('a name that would be too long is known by its hash', () => {
  assert.equal(subjectToken('a'.repeat(256)), 'a'.repeat(256))
  assert.match(subjectToken('a'.repeat(257)), /^%-[0-9a-f]{64}$/)
  assert.notEqual(subjectToken('a'.repeat(257)), subjectToken('a'.repeat(258)))
})
