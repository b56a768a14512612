// Parameters from header fields and cookies, and schemas that can never be read from their source.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Controller, cookie, HttpServer, header, Route, routes, t } from '../../src/index.ts'

const TENANT = '0b1d7b8e-7b7e-4a52-8ac4-0242ac120002'

describe('header() and cookie()', () => {
  const server = new HttpServer({ logger: null })
  server.mapGet(
    '/',
    {
      tenant: header('X-Tenant', t.uuid),
      retries: header('x-retries', t.int.default(0)),
      theme: cookie('theme', t.enum('dark', 'light').optional()),
      token: header('authorization', t.string.pattern(/^Bearer /).optional()),
    },
    (args) => args,
  )
  const get = async (headers: Record<string, string | string[]>) =>
    (await server.inject({ url: '/', headers })).json() as { errors?: unknown }

  test('convert what was sent, and leave out what is optional', async () => {
    assert.deepEqual(await get({ 'X-TENANT': TENANT, 'X-Retries': '3', Cookie: 'a=b; theme=dark' }), {
      tenant: TENANT,
      retries: 3,
      theme: 'dark',
    })
    assert.deepEqual(await get({ 'x-tenant': TENANT }), { tenant: TENANT, retries: 0 })
  })

  test('refuse what does not fit, under the name that the client knows', async () => {
    assert.deepEqual((await get({ 'X-Tenant': 'x', 'X-Retries': '', Cookie: 'theme=<b>' })).errors, [
      { name: 'x-tenant', in: 'header', expected: 'a UUID', actual: 'x' },
      { name: 'x-retries', in: 'header', expected: 'a whole number', actual: '' },
      { name: 'theme', in: 'cookie', expected: 'one of "dark", "light"', actual: '(not shown)' },
    ])
    assert.deepEqual((await get({})).errors, [{ name: 'x-tenant', in: 'header', expected: 'a UUID' }])
  })

  test('never repeat credentials', async () => {
    const { errors } = await get({ 'X-Tenant': TENANT, Authorization: 'Basic c2VjcmV0' })
    assert.doesNotMatch(JSON.stringify(errors), /c2VjcmV0/)
  })

  test('a repeated field is one string, and the first of several cookies counts', async () => {
    assert.deepEqual((await get({ 'X-Tenant': [TENANT, TENANT] })).errors, [
      { name: 'x-tenant', in: 'header', expected: 'a UUID', actual: `${TENANT}, ${TENANT}` },
    ])
    assert.deepEqual(await get({ 'X-Tenant': TENANT, Cookie: 'theme=dark; theme=light' }), { tenant: TENANT, retries: 0, theme: 'dark' })
  })

  test('work in groups and in both spellings of controllers', async () => {
    class Decorated extends Controller {
      @Route('GET', '/decorated', { theme: cookie('theme', t.string) })
      show({ theme }: { theme: string }) {
        return theme
      }
    }
    class Tabled extends Controller {
      static routes = routes(this, { show: ['GET', '/tabled', { theme: cookie('theme', t.string) }] })

      show({ theme }: { theme: string }) {
        return theme
      }
    }
    const server = new HttpServer({ logger: null })
    const group = server.group('/g', { tenant: header('X-Tenant', t.string) })
    group.mapGet('/', ({ tenant }) => tenant).mapGet('/own', { tenant: t.string }, ({ tenant }) => tenant)
    server.mapControllers([Decorated, Tabled])
    const see = async (url: string) => (await server.inject({ url, headers: { 'X-Tenant': 'acme', Cookie: 'theme=x' } })).text()
    assert.deepEqual(
      [await see('/g'), await see('/g/own?tenant=query'), await see('/decorated'), await see('/tabled')],
      ['acme', 'query', 'x', 'x'],
    )
    assert.equal((await server.inject('/g')).status, 400)
  })

  test('an invalid name or schema is refused when it is declared', () => {
    assert.throws(() => header('x tenant', t.string), /header\(\): the string "x tenant" is not the name of a header/)
    assert.throws(() => cookie('', t.string), /cookie\(\): the string "" is not the name of a cookie/)
    assert.throws(() => header(t.uuid as never, undefined as never), /header\(\): .* is not the name of a header/)
    assert.throws(() => header('x-tenant', undefined as never), /header\("x-tenant"\) needs a schema, such as t\.string, not undefined/)
  })
})

describe('when a route is mapped', () => {
  const Point = t.object({ x: t.int })
  const rows: [what: string, path: string, declaration: object, message: RegExp][] = [
    [
      'an object from the query',
      '/a',
      { at: Point },
      /"at" of GET \/a \(inline\) can never be read from the query: an object with x can only be read from JSON/,
    ],
    ['an optional one too', '/a', { at: Point.optional() }, /"at" of GET \/a \(inline\) can never be read from the query/],
    ['an object from the path', '/a/:at', { at: Point }, /"at" of GET \/a\/:at \(inline\) can never be read from the path/],
    ['an object from a header', '/a', { at: header('x-at', Point) }, /"at" of GET \/a \(inline\) can never be read from the header/],
    ['an object from a cookie', '/a', { at: cookie('at', Point) }, /"at" of GET \/a \(inline\) can never be read from the cookie/],
    ['an array of objects', '/a', { at: t.array(Point) }, /can never be read from the query/],
    ['two texts from one', '/a/:at', { at: t.array(t.int).min(2) }, /can never be read from the path: one text is not an array/],
    [
      'what is in the path from a header',
      '/a/:at',
      { at: header('x-at', t.int) },
      /"at" of GET \/a\/:at \(inline\) is in the path, and cannot come from a header/,
    ],
  ]
  for (const [what, path, declaration, message] of rows)
    test(`${what} is refused`, () => {
      assert.throws(() => new HttpServer().mapGet(path, declaration as never, () => 1), message)
    })

  test('and named with its method in a controller', () => {
    class Points extends Controller {
      static routes = routes(this, { show: ['GET', '/points', { at: Point }] })
      show(_: { at: { x: number } }) {}
    }
    assert.throws(() => new HttpServer().mapController(Points), /"at" of GET \/points \(Points\.show\) can never be read from the query/)
  })

  test('also if its group declares it', () => {
    const group = new HttpServer().group('/g', { at: Point })
    assert.throws(() => group.mapGet('/', () => 1), /"at" of GET \/g \(inline\) can never be read from the query/)
  })

  test('parameters are listed with their source', () => {
    const server = new HttpServer()
    const theme = t.enum('dark', 'light')
    server
      .group('/:org', { org: t.int, tenant: header('X-Tenant', t.uuid) })
      .mapGet('/:rest', { page: t.int, look: cookie('theme', theme) }, () => 1)
    assert.deepEqual(
      { ...server.routes[0]!.bindings },
      {
        org: { source: 'path', name: 'org', schema: t.int },
        rest: { source: 'path', name: 'rest', schema: null },
        tenant: { source: 'header', name: 'x-tenant', schema: t.uuid },
        page: { source: 'query', name: 'page', schema: t.int },
        look: { source: 'cookie', name: 'theme', schema: theme },
      },
    )
  })
})
