import assert from 'node:assert/strict'
import { test } from 'node:test'

import { joinPaths, Template } from './template.ts'

test('a template without parameters matches one path', () => {
  assert.equal(new Template('/').exactPath, '/')
  assert.equal(new Template('/users').exactPath, '/users')
  assert.equal(new Template('/users/').exactPath, '/users/')
  assert.deepEqual(new Template('/users').parameters, [])
})

test('a parameter has a name and the index of its segment', () => {
  const template = new Template('/users/:id/files/*path')
  assert.deepEqual(template.parameters, [
    { name: 'id', segmentIndex: 1, rest: false },
    { name: 'path', segmentIndex: 3, rest: true },
  ])
  assert.equal(template.exactPath, null)
})

test('any JavaScript identifier can be the name of a parameter', () => {
  for (const name of ['x', '_', '$a', 'größe', 'a1', 'constructor']) assert.equal(new Template(`/:${name}`).parameters[0]?.name, name)
})

test('text is compared in decoded form, except that %2F is kept', () => {
  assert.equal(new Template('/gr%C3%BC%C3%9Fe').exactPath, '/grüße')
  assert.equal(new Template('/grüße').exactPath, '/grüße')
  assert.equal(new Template('/a b').exactPath, new Template('/a%20b').exactPath)
  assert.equal(new Template('/a%2fb').exactPath, '/a%2Fb')
  assert.equal(new Template('/100%25').exactPath, '/100%')
})

test('a literal colon or asterisk is percent-encoded', () => {
  assert.equal(new Template('/things%3Abatch').exactPath, '/things:batch')
  assert.equal(new Template('/%2A').exactPath, '/*')
})

const MALFORMED: Record<string, RegExp> = {
  '': /does not begin with a slash/,
  users: /does not begin with a slash/,
  ':id': /does not begin with a slash/,
  '//': /empty segment/,
  '/a//b': /empty segment/,
  '/:': /has no valid name/,
  '/*': /has no valid name/,
  '/:1a': /has no valid name/,
  '/:id.json': /has no valid name/,
  '/:a-b': /has no valid name/,
  '/:a:b': /has no valid name/,
  '/:id?': /has no valid name/,
  '/:__proto__': /has no valid name/,
  '/user-:id': /whole segment/,
  '/a*': /whole segment/,
  '/*path/more': /something follows/,
  '/*path/': /something follows/,
  '/:id/:id': /two parameters "id": rename one, yours if the other is a module's$/,
  '/:id/*id': /two parameters "id"/,
  '/a?b': /"a\?b" has a query: declare its parameters/,
  '/a#b': /"a#b" is not allowed in a path: write "a%23b"$/,
  '/a\nb': /is not allowed in a path/,
  '/%': /percent-encoded/,
  '/%zz': /percent-encoded/,
  '/%ff': /percent-encoded/,
  '/\ud800': /percent-encoded/,
  '/a/../b': /dot segment/,
  '/%2e': /dot segment/,
}

for (const [text, why] of Object.entries(MALFORMED)) {
  test(`refuses the template ${JSON.stringify(text)}`, () => {
    assert.throws(() => new Template(text), { code: 'WEIR_ROUTE_TEMPLATE', message: why })
  })
}

test('paths are joined with exactly one slash between them', () => {
  assert.equal(joinPaths('/api', '/user', ''), '/api/user')
  assert.equal(joinPaths('/api', '/user', '/'), '/api/user')
  assert.equal(joinPaths('/api/', '/user/', '/save'), '/api/user/save')
  assert.equal(joinPaths('api', 'user', 'save'), '/api/user/save')
  assert.equal(joinPaths('', '', '/save'), '/save')
  assert.equal(joinPaths('/', '/', '/'), '/')
  assert.equal(joinPaths('', ''), '/')
  assert.equal(joinPaths(), '/')
})

test('a trailing slash of the last path is kept', () => {
  assert.equal(joinPaths('/api', '/list/'), '/api/list/')
})

test('the template refuses double slashes inside a part', () => {
  assert.throws(() => new Template(joinPaths('/api', '//x')), { code: 'WEIR_ROUTE_TEMPLATE' })
})
