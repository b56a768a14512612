// How document and page are served, and when they are not.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { describe, test } from 'node:test'
import zlib from 'node:zlib'

import { z } from 'zod'

import { HttpServer } from '../../weirjs/src/index.ts'
import { auth, basic } from '../../weirjs/src/modules/auth/index.ts'
import { compression } from '../../weirjs/src/modules/compression/index.ts'
import { openapi } from '../src/index.ts'

const INFO = { title: 'Shop <1>', version: '1' }

interface Document {
  readonly openapi: string
  readonly paths: Record<string, Record<string, unknown>>
}

const documentOf = async (server: HttpServer, url = '/openapi.json'): Promise<Document> => (await server.inject(url)).json() as Document

describe('the document', () => {
  test('has an ETag, and is made again when routes were added', async () => {
    const server = new HttpServer({ logger: null }).use(openapi({ info: INFO }))
    server.mapGet('/one', () => 'x')
    const first = await server.inject('/openapi.json')
    assert.equal(first.headers.get('content-type'), 'application/json')
    const tag = first.headers.get('etag')!
    const again = await server.inject({ url: '/openapi.json', headers: { 'If-None-Match': tag } })
    assert.equal(again.status, 304)
    server.mapGet('/two', () => 'x')
    const later = await server.inject({ url: '/openapi.json', headers: { 'If-None-Match': tag } })
    assert.equal(later.status, 200)
    assert.deepEqual(Object.keys((later.json() as Document).paths), ['/one', '/two'])
  })

  test('is compressed once in each coding, whoever asks for it', async (t) => {
    const mocked = t.mock.method(zlib, 'gzipSync')
    syncBuiltinESMExports()
    t.after(() => {
      mocked.mock.restore()
      syncBuiltinESMExports()
    })
    const server = new HttpServer({ logger: null }).use(compression({ minSize: 1 })).use(openapi({ info: INFO }))
    for (const name of ['one', 'two', 'three']) server.mapGet(`/${name}`, () => 'x')
    const { body: plain, headers } = await server.inject('/openapi.json')
    const tag = headers.get('etag')!
    for (let i = 0; i < 3; i++) {
      const coded = await server.inject({ url: '/openapi.json', headers: { 'Accept-Encoding': 'gzip' } })
      assert.deepEqual(zlib.gunzipSync(coded.body), Buffer.from(plain))
      assert.equal(coded.headers.get('etag'), `${tag.slice(0, -1)}~gzip"`)
    }
    assert.equal(mocked.mock.callCount(), 1)
    const { status } = await server.inject({ url: '/openapi.json', headers: { 'Accept-Encoding': 'gzip', 'If-None-Match': tag } })
    assert.equal(status, 304)
  })

  test('states the path that the application is below, and is not read again for that', async (t) => {
    const info = { ...INFO, servers: [{ url: '/' }], description: '\n  "servers": [\n    {\n      "url": "/"\n    }\n  ],' }
    const server = new HttpServer({ logger: null, basePath: '/app' }).use(openapi({ info }))
    server.mapGet('/one', () => 'x')
    const { parse } = JSON
    let parsed = 0
    t.mock.method(JSON, 'parse', (...given: Parameters<typeof parse>) => {
      parsed++
      return parse(...given) as unknown
    })
    const text = (await server.inject('/app/openapi.json')).text()
    assert.equal(parsed, 0)
    const document = parse(text) as Document & { readonly servers: unknown; readonly info: unknown }
    assert.deepEqual(document.servers, [{ url: '/app' }])
    assert.deepEqual(document.info, info)
    assert.equal(text, JSON.stringify(document, null, 2))
  })

  test('of a group describes the group', async () => {
    const server = new HttpServer({ logger: null })
    server.mapGet('/outside', () => 'x')
    server
      .group('/api')
      .mapGet('/inside', () => 'x')
      .use(openapi({ info: INFO, ui: '/docs' }))
    assert.deepEqual(Object.keys((await documentOf(server, '/api/openapi.json')).paths), ['/api/inside'])
    assert.match((await server.inject('/api/docs')).text(), /data-url="\.\/openapi\.json"/)
  })

  test('has only what include lets in, and a server may have several', async () => {
    const server = new HttpServer({ logger: null })
    const include = (prefix: string) => (route: { path: string }) => route.path.startsWith(prefix)
    server.use(openapi({ info: INFO, include: include('/a/') }))
    server.use(openapi({ info: INFO, include: include('/b/'), path: '/b.json', name: 'b' }))
    server.mapGet('/a/x', () => 'x').mapGet('/b/x', () => 'x')
    assert.deepEqual(Object.keys((await documentOf(server)).paths), ['/a/x'])
    assert.deepEqual(Object.keys((await documentOf(server, '/b.json')).paths), ['/b/x'])
  })

  test('is refused if include returns promises, which would let everything in', async (t) => {
    const include = (async () => false) as unknown as () => boolean
    const server = new HttpServer({ logger: null }).use(openapi({ info: INFO, include }))
    server.mapGet('/private', () => 'x')
    t.after(() => server.stop())
    const message = /openapi: include returned a promise, not true or false$/
    await assert.rejects(server.start(), { code: 'WEIR_OPTION_INVALID', message })
    assert.equal((await server.inject('/openapi.json')).status, 500)
  })

  test('is behind auth unless it is opened', async () => {
    const guard = auth({ schemes: [basic({ users: () => null })] })
    const closed = new HttpServer({ logger: null }).use(guard).use(openapi({ info: INFO }))
    assert.equal((await closed.inject('/openapi.json')).status, 401)
    const open = new HttpServer({ logger: null }).use(guard).use(openapi({ info: INFO, use: [auth.open] }))
    assert.equal((await open.inject('/openapi.json')).status, 200)
  })

  test('is not served in production unless it is exposed', async (t) => {
    const before = process.env['NODE_ENV']
    process.env['NODE_ENV'] = 'production'
    t.after(() => {
      if (before === undefined) delete process.env['NODE_ENV']
      else process.env['NODE_ENV'] = before
    })
    const hidden = new HttpServer({ logger: null }).use(openapi({ info: INFO, ui: '/docs' }))
    for (const url of ['/openapi.json', '/docs']) assert.equal((await hidden.inject(url)).status, 404)
    const shown = new HttpServer({ logger: null }).use(openapi({ info: INFO, ui: '/docs', expose: true }))
    for (const url of ['/openapi.json', '/docs']) assert.equal((await shown.inject(url)).status, 200)
  })
})

test('paths are written as in URLs', async () => {
  const server = new HttpServer({ logger: null }).use(openapi({ info: INFO }))
  for (const path of ['/a\\b', '/ü x', '/{a}/:a', '/__proto__', '/a%2Fb', '/x"<>']) server.mapGet(path, () => 'x')
  const { paths } = await documentOf(server)
  assert.deepEqual(Object.keys(paths), ['/a%5Cb', '/%C3%BC%20x', '/%7Ba%7D/{a}', '/__proto__', '/a%2Fb', '/x%22%3C%3E'])
})

describe('what cannot be described', () => {
  const Dated = z.object({ at: z.date() })

  function serverWith(isStrict: boolean): { readonly server: HttpServer; readonly warnings: string[] } {
    const warnings: string[] = []
    const server = new HttpServer('127.0.0.1', 0, { logger: { error: () => {}, warn: (text) => warnings.push(String(text)) } })
    server.use(openapi({ info: INFO, strict: isStrict }))
    server.mapPost('/dated', { body: Dated, answers: { 200: Dated } }, ({ body }) => body as never)
    return { server, warnings }
  }

  test('is warned of once, at the start', async (t) => {
    const { server, warnings } = serverWith(false)
    assert.deepEqual(warnings, [])
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    assert.equal(warnings.length, 1)
    assert.match(warnings[0]!, /the body of POST \/dated \(inline\): a schema is written as \{\}.*[Dd]ate/)
    server.mapGet('/other', () => 'x')
    const { paths } = await documentOf(server)
    assert.equal(warnings.length, 1)
    assert.deepEqual((paths['/dated']!['post'] as { requestBody: unknown }).requestBody, {
      required: true,
      content: { 'application/json': {}, 'application/x-www-form-urlencoded': {} },
    })
  })

  test('is an error of the start with strict', async () => {
    await assert.rejects(serverWith(true).server.start(), { code: 'WEIR_OPENAPI_INCOMPLETE', message: /POST \/dated/ })
  })

  const left: readonly (readonly [string, (server: HttpServer) => unknown, RegExp])[] = [
    ['a route for any method', (server) => server.map(null, '/x', () => 'x'), /ANY \/x \(inline\) is left out: OpenAPI cannot/],
    ['a method that 3.1 lacks', (server) => server.map('PURGE', '/x', () => 'x'), /PURGE \/x .*OpenAPI 3\.1 has no method PURGE/],
    [
      'the same path on two hosts',
      (server) => server.mapGet('/x', { host: 'a.test' }, () => 'x').mapGet('/x', { host: 'b.test' }, () => 'x'),
      /GET b\.test\/x .*already is an operation GET \/x/,
    ],
  ]
  for (const [what, map, expected] of left)
    test(`${what} is left out, or refused`, async () => {
      const server = new HttpServer('127.0.0.1', 0, { logger: null }).use(openapi({ info: INFO, strict: true }))
      map(server)
      await assert.rejects(server.start(), { code: 'WEIR_OPENAPI_INCOMPLETE', message: expected })
    })
})

describe('the page', () => {
  test('and its files have a strict policy, and nothing is inline', async () => {
    const server = new HttpServer({ logger: null }).use(openapi({ info: INFO, ui: '/docs' }))
    const page = await server.inject('/docs')
    assert.match(page.headers.get('content-type')!, /^text\/html/)
    const policy = page.headers.get('content-security-policy')!
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; /)
    for (const [, ...sources] of policy.split('; ').map((directive) => directive.split(' ')))
      for (const source of sources) assert.match(source, /^(?:'none'|'self'|data:)$/, policy)
    assert.match(page.text(), /<title>Shop &lt;1&gt;<\/title>/)
    assert.doesNotMatch(page.text(), /<script>|<style|style=|https?:/)
    const links = [...page.text().matchAll(/(?:src|href)="\.\/(docs\/[^"]+)"/g)].map(([, link]) => link!)
    assert.equal(links.length, 4)
    for (const link of links) assert.equal((await server.inject(`/${link}`)).status, 200, link)
    assert.equal((await server.inject('/docs/package.json')).status, 404)
    assert.deepEqual(Object.keys((await documentOf(server)).paths), [])
  })

  test('sends what is in the package', async () => {
    const server = new HttpServer({ logger: null }).use(openapi({ info: INFO, ui: '/a/docs' }))
    assert.equal(
      (await server.inject('/a/docs/swagger-ui.css')).text(),
      readFileSync('node_modules/swagger-ui-dist/swagger-ui.css', 'utf8'),
    )
    assert.match((await server.inject('/a/docs')).text(), /data-url="\.\/\.\.\/openapi\.json"/)
  })
})

test('wrong options are refused', () => {
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{}, /info is undefined/],
    [{ info: { title: 'x' } }, /info\.version is undefined/],
    [{ info: { title: '', version: '1' } }, /info\.title is the string ""/],
    [{ info: { ...INFO, 'x-big': 1n } }, /info cannot be written as JSON/],
    [{ info: INFO, servers: [{ url: '/', 'x-big': 1n }] }, /servers cannot be written as JSON/],
    [{ info: INFO, version: '3.0' }, /version is the string "3\.0"/],
    [{ info: INFO, path: 'x' }, /path is the string "x", not a path/],
    [{ info: INFO, ui: '/:x' }, /ui is/],
    [{ info: INFO, ui: '/x', path: '/x' }, /path and ui are both/],
    [{ info: INFO, servers: ['x'] }, /servers: the string "x" is not an object with a url/],
    [{ info: INFO, strict: 1 }, /strict/],
    [{ info: INFO, expose: 1 }, /expose/],
    [{ info: INFO, include: 1 }, /include/],
    [{ info: INFO, unknown: 1 }, /unknown/],
  ]
  for (const [options, message] of wrong) assert.throws(() => openapi(options as never), { code: 'WEIR_OPTION_INVALID', message })
  assert.doesNotThrow(() => openapi({ info: INFO, servers: [{ url: 'https://api.example.com' }] }))
})
