// Which template a path matches, and with which values; which of several routes takes precedence; and the list of routes.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, t } from '../../src/index.ts'
import { texts } from '../support/texts.ts'

const quiet = { logger: null }

const paths: [promise: string, template: string, path: string, values: unknown][] = [
  ['a parameter is one segment, decoded', '/a/:x', '/a/b%20c', { x: 'b c' }],
  ['a parameter is not empty', '/a/:x', '/a/', 404],
  ['a parameter is not two segments', '/a/:x', '/a/b/c', 404],
  ['an encoded slash is part of a value', '/a/:x', '/a/b%2Fc', { x: 'b/c' }],
  ['an encoded slash in lower case too', '/a/:x/d', '/a/b%2fc/d', { x: 'b/c' }],
  ['an encoded percent sign is decoded once', '/a/:x', '/a/%252F', { x: '%2F' }],
  ['both at once', '/a/:x', '/a/%252F%2F', { x: '%2F/' }],
  ['a rest has slashes', '/a/*r', '/a/b/c', { r: 'b/c' }],
  ['a rest keeps an encoded slash, since it is a path', '/a/*r', '/a/b%2Fc/d', { r: 'b%2Fc/d' }],
  ['a rest is decoded', '/a/*r', '/a/%C3%BC/%20', { r: 'ü/ ' }],
  ['a rest is not empty', '/a/*r', '/a/', 404],
  ['a rest may end with a slash', '/a/*r', '/a/b/', { r: 'b/' }],
  ['a trailing slash makes another path', '/a', '/a/', 404],
  ['text is compared decoded', '/gr%C3%BC%C3%9Fe', '/gr%c3%bc%c3%9fe', null],
  ['the case of text matters', '/a', '/A', 404],
  ['dot segments are refused', '/*r', '/a/%2e%2e/b', 400],
  ['an encoded NUL is refused', '/*r', '/a%00b', 400],
  ['invalid UTF-8 is refused', '/*r', '/%ff', 400],
]
for (const [promise, template, path, values] of paths) {
  test(`path: ${promise}`, async () => {
    const server = new HttpServer(quiet).mapGet(template, (args, { request }) => ({ args, values: request.routeValues }))
    const response = await server.inject(path)
    if (typeof values === 'number') assert.equal(response.status, values)
    else assert.deepEqual(response.json(), { args: values ?? {}, values })
  })
}

test('exact paths beat parameters, and parameters beat a rest, whatever the order of mapping', async () => {
  const server = new HttpServer(quiet)
  server
    .mapGet('/*r', () => 'rest')
    .mapGet('/:x', () => 'parameter')
    .mapGet('/exact', () => 'exact')
    .mapGet('/:x/y', () => 'deep')
  assert.deepEqual(await texts(server, '/exact', '/other', '/exact/y', '/exact/z'), ['exact', 'parameter', 'deep', 'rest'])
})

test('host routes: the exact host, then a wildcard, then none', async () => {
  const server = new HttpServer(quiet)
  server
    .mapGet('/', () => 'none')
    .mapGet('/', { host: '*.example.com' }, () => 'wild')
    .mapGet('/', { host: 'a.example.com' }, () => 'exact')
  const ask = async (Host: string): Promise<string> => (await server.inject({ url: '/', headers: { Host } })).text()
  const hosts = ['a.example.com', 'A.EXAMPLE.com:81', 'b.example.com', 'x.b.example.com', 'example.com', 'other', '[::1]:80']
  assert.deepEqual(await Promise.all(hosts.map(ask)), ['exact', 'exact', 'wild', 'wild', 'none', 'none', 'none'])
})

test('server.routes lists method, path, host, bindings and metadata in the order of mapping', () => {
  const server = new HttpServer(quiet)
    .mapGet('/a/:id', { id: t.int, host: 'h.example', metadata: { x: 1 } }, () => 1)
    .map(null, '/b', () => 2)
  const seen = server.routes.map(({ method, path, host, bindings, metadata }) => [
    method,
    path,
    host,
    Object.keys(bindings),
    { ...metadata },
  ])
  assert.deepEqual(seen, [
    ['GET', '/a/:id', 'h.example', ['id'], { x: 1 }],
    [null, '/b', null, [], {}],
  ])
})
