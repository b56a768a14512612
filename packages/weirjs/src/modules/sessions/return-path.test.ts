import assert from 'node:assert/strict'
import { test } from 'node:test'

import { returnPath } from './return-path.ts'

test('paths of this server pass, in the form in which they can be sent', () => {
  for (const [given, sent] of [
    ['/', '/'],
    ['/orders?page=2#last', '/orders?page=2#last'],
    ['/a/../b', '/b'],
    ['/größe', '/gr%C3%B6%C3%9Fe'],
    ['/a b', '/a%20b'],
    ['/%2F%2Fevil.example', '/%2F%2Fevil.example'],
    ['/%5Cevil.example', '/%5Cevil.example'],
    ['/@evil.example', '/@evil.example'],
    ['/a//b', '/a//b'],
    ['/a?next=//evil.example', '/a?next=//evil.example'],
    ['/:80', '/:80'],
  ])
    assert.equal(returnPath(given), sent, given)
})

test('anything that could lead to another site does not', () => {
  for (const given of [
    '//evil.example',
    '///evil.example',
    '////evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '\\/evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/\r\nSet-Cookie: a=b',
    '\t//evil.example',
    ' //evil.example',
    '/\u0000/evil.example',
    '/\u007f',
    '/.//evil.example',
    '/..//evil.example',
    '/a/..//evil.example',
    '/%2e//evil.example',
    '/a/%2E%2E//evil.example',
    '/.\\/evil.example',
    'https://evil.example',
    'https:evil.example',
    'https:/evil.example',
    'HTTPS://evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    'evil.example',
    '@evil.example',
    '?a=b',
    '#a',
    '',
    `/${'a'.repeat(2_048)}`,
    null,
    undefined,
  ])
    assert.equal(returnPath(given, '/home'), '/home', JSON.stringify(given))
})

test('whatever passes has the origin of this server in every browser: it begins with one slash and neither a slash nor a backslash', () => {
  const parts = ['/', '\\', '.', '%2e', '%2f', '\t', 'evil.example', ':', '@', '?', '#', ' ', '\u00a0', '\u3002']
  const visit = (text: string, depth: number): void => {
    const path = returnPath(text, '/instead')
    assert.match(path, /^\/(?![/\\])[\u0021-\u007e]*$/, JSON.stringify(text))
    assert.equal(new URL(path, 'https://own.example/page').origin, 'https://own.example')
    if (depth > 0) for (const part of parts) visit(text + part, depth - 1)
  }
  visit('/', 3)
})
