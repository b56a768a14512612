import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { href } from './href.ts'
import { Matcher } from './matcher.ts'
import { Template } from './template.ts'

test('values are written into the template and encoded', () => {
  assert.equal(href('/users/:id', { id: 5 }), '/users/5')
  assert.equal(href('/a/:x/:y', { x: 'b c', y: 'ä/?#%' }), '/a/b%20c/%C3%A4%2F%3F%23%25')
  assert.equal(href('/users/:id', { id: 5n }), '/users/5')
  assert.equal(href('/', {}), '/')
  assert.equal(href('/list/', {}), '/list/')
})

test('characters that a path may contain are not encoded', () => {
  assert.equal(href('/:x', { x: `-._~!$&'()*+,;=:@` }), `/-._~!$&'()*+,;=:@`)
})

test('the text of a template is encoded', () => {
  assert.equal(href('/grüße/a%2fb/%2A/a b', {}), '/gr%C3%BC%C3%9Fe/a%2Fb/*/a%20b')
})

test('slashes in the value of a rest parameter are not encoded', () => {
  assert.equal(href('/files/*path', { path: 'a b/c/' }), '/files/a%20b/c/')
})

test('a query is appended: arrays repeat their name, and null and undefined are left out', () => {
  assert.equal(
    href('/s', {}, { q: 'a b&c', page: 2, tag: ['x', 'y'], none: undefined, null: null, on: false }),
    '/s?q=a+b%26c&page=2&tag=x&tag=y&on=false',
  )
  assert.equal(href('/s', {}, {}), '/s')
  assert.equal(href('/s', {}, { tag: [] }), '/s')
})

test('a value that cannot be part of a path is refused', () => {
  const refused = { code: 'WEIR_ROUTE_TEMPLATE' }
  for (const id of ['', '.', '..', '\ud800']) assert.throws(() => href('/:id', { id }), refused, id)
  for (const path of ['', '/a', 'a/../b', '.']) assert.throws(() => href('/f/*path', { path }), refused, path)
  assert.throws(() => href('/:id', {} as { id: string }), refused)
  assert.throws(() => href('/:toString', Object.create({ toString: 'x' })), refused)
})

test('the matcher reads back the values that href wrote', () => {
  const matcher = new Matcher<{ source: string }>()
  matcher.add('GET', new Template('/a/:x/*rest'), null, { source: 'route' })
  const segment = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text !== '.' && text !== '..' && !text.includes('/'))
  fc.assert(
    fc.property(segment, fc.array(segment, { minLength: 1 }), (x, parts) => {
      const rest = parts.join('/')
      const path = decodeURIComponent(href('/a/:x/*rest', { x, rest }))
      assert.deepEqual(matcher.find('GET', path, '')?.values, [x, rest])
    }),
  )
})
