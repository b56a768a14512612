import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { fieldsBelow } from './base-path-fields.ts'

const basePath = fc.constantFrom('/app', '/a', '/api/hassio_ingress/token', '/app/app')
const path = fc
  .array(fc.constantFrom('/', 'app', 'a', 'users', '?', '#', '.', '\\', ';', 'api'), { maxLength: 8 })
  .map((pieces) => pieces.join(''))
const field = fc.oneof(
  fc.tuple(fc.constantFrom('Location', 'content-location', 'ETag', 'X-Path'), path),
  path.map((target): [string, string] => ['Link', `<${target}>; rel=next, <https://a.example${target}>; rel=up`]),
  fc
    .tuple(fc.constantFrom('a', '__Host-a', '__Secure-a'), path)
    .map(([name, at]): [string, string] => ['Set-Cookie', `${name}=/app; Path=${at}; Secure`]),
)
const fields = fc.array(field, { maxLength: 6 }).map((all) => all.flat())

test('what has the path does not get it again', () => {
  fc.assert(
    fc.property(fields, basePath, (given, base) => {
      const once = fieldsBelow(given, base)
      assert.deepEqual(fieldsBelow(once, base), once)
    }),
  )
})

test('only values that begin with one slash change, and only by the path in front of them', () => {
  fc.assert(
    fc.property(path, basePath, (target, base) => {
      const [, location] = fieldsBelow(['Location', target], base)
      if (/^\/(?![/\\])/.test(target)) assert.ok(location === target ? target.startsWith(base) : location === base + target)
      else assert.equal(location, target)
      for (const name of ['ETag', 'X-Path', 'Content-Type']) assert.deepEqual(fieldsBelow([name, target], base), [name, target])
      const host = `__Host-a=1; Path=${target}`
      assert.deepEqual(fieldsBelow(['Set-Cookie', host], base), ['Set-Cookie', host])
    }),
  )
})
