import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import compressible from 'compressible'

import { isWorthCompressing } from './worth-compressing.ts'

const TYPES = Object.keys(createRequire(import.meta.resolve('compressible'))('mime-db') as object)

test('a type is worth it if the package compressible says so, but for what no web application serves', () => {
  const differs = TYPES.filter((type) => isWorthCompressing(type) !== (compressible(type) === true))
  const more = differs.filter((type) => isWorthCompressing(type))
  assert.ok(TYPES.length > 2_000)
  assert.ok(
    more.every((type) => /[+/]yaml$/.test(type)),
    `${more}`,
  )
  const less = differs.filter((type) => !more.includes(type) && !type.startsWith('application/x-virtualbox-'))
  assert.deepEqual(less.sort(), [
    'application/dart',
    'application/vnd.dart',
    'application/x-httpd-php',
    'application/x-ns-proxy-autoconfig',
    'image/vnd.adobe.photoshop',
    'image/vnd.ms-dds',
    'x-shader/x-fragment',
    'x-shader/x-vertex',
  ])
})

test('parameters and case do not matter, and a suffix counts only at the end', () => {
  for (const type of ['Text/HTML; charset=utf-8', 'application/vnd.a+json;q=1', ' application/JSON ', 'text/x-own', 'image/svg+xml'])
    assert.equal(isWorthCompressing(type), true, type)
  for (const type of [
    'text/event-stream;charset=utf-8',
    'application/x+jsonp',
    'image/png',
    'font/woff2',
    'application/zip',
    'a;text/html',
    '',
  ])
    assert.equal(isWorthCompressing(type), false, type)
})
