// server.explain: which route answers and why the others do not, what runs around it, what it is given, and what it may cost.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { bytes, Controller, cookie, type Explanation, HttpServer, header, multipart, type Policy, routes, t } from '../../src/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'

/** A server on which nothing may run. */
function explained(map: (server: HttpServer) => void, options: ConstructorParameters<typeof HttpServer>[0] & object = {}): HttpServer {
  const server = new HttpServer({ logger: null, ...options })
  map(server)
  return server
}

const never = (): never => assert.fail('nothing of the program runs')

function policy(name: string): Policy {
  return { name, gate: never, middleware: never, beforeSend: never, describe: never }
}

function reasons({ others }: Explanation): string[] {
  return others.map(
    ({ method, path, reasons }) => `${method} ${path}: ${reasons.map(({ kind, detail }) => `${kind}, ${detail}`).join('; ')}`,
  )
}

describe('explain: routes', () => {
  const server = explained(
    (it) => {
      it.mapGet('/users/:id', { id: t.int }, never)
      it.mapDelete('/users/:id', never)
      it.mapGet('/users/me', never)
      it.mapGet('/users/:id/posts', never)
      it.mapGet('/orders', never)
      it.mapGet('/files/*path', never)
      it.mapGet('/dir/', never)
      it.map(null, '/any', never)
      it.mapGet('/any', never)
      it.mapGet('/users/:id', { host: '*.example.org' }, never)
      it.mapGet('/users/:id', { endpoint: 'admin' }, never)
    },
    { listen: [{ port: 0 }, { port: 0, name: 'admin' }] },
  )

  test('names the route that answers', () => {
    const { route, response, path } = server.explain('/users/me')
    assert.deepEqual(route, { method: 'GET', path: '/users/me', host: null, endpoint: null, source: 'inline', isFallback: false })
    assert.deepEqual(response, { status: null, code: null, detail: 'the handler of GET /users/me answers', allow: null })
    assert.equal(path, '/users/me')
  })

  test('says why each of the others does not, the nearest first', () => {
    assert.deepEqual(reasons(server.explain('/users/me')), [
      'GET /users/:id: order, /users/me is more specific',
      'DELETE /users/:id: method, it is for DELETE, not GET',
      'GET /users/:id: host, it is for host *.example.org, not "localhost"',
      'GET /users/:id: endpoint, it is for endpoint "admin", not one without a name',
      'GET /users/:id/posts: short, the path ends before "posts"',
    ])
    assert.deepEqual(reasons(server.explain('/usres/7')).slice(0, 3), [
      'GET /users/:id: text, segment 1 is "usres", not "users"',
      'GET /users/me: text, segment 1 is "usres", not "users"',
      'GET /users/:id/posts: text, segment 1 is "usres", not "users"',
    ])
    assert.deepEqual(reasons(server.explain('/Orders')), [
      'GET /orders: case, segment 1 is "Orders", not "orders": upper and lower case differ',
    ])
    assert.deepEqual(reasons(server.explain('/orders/')), ['GET /orders: slash, the path ends with a slash'])
    assert.deepEqual(reasons(server.explain('/dir')), ['GET /dir/: slash, the path does not end with a slash'])
    assert.deepEqual(reasons(server.explain('/files/')), ['GET /files/*path: empty, parameter "path" would be empty'])
    assert.deepEqual(reasons(server.explain('/orders/7')), ['GET /orders: long, the path continues with "7"'])
    assert.deepEqual(reasons(server.explain('/any')), ['null /any: order, the route for GET comes first'])
    assert.deepEqual(
      reasons(server.explain({ url: '/users/7', headers: { host: 'a.example.org' } }))[0],
      'GET /users/:id: order, host *.example.org is more specific than any host',
    )
    assert.deepEqual(
      reasons(server.explain({ url: '/users/7', endpoint: 'admin' }))[0],
      'GET /users/:id: order, routes of endpoint "admin" come first',
    )
  })

  test('a path that no route comes near has no others', () => {
    const { others, othersLeftOut, response } = server.explain('/nothing/like/that')
    assert.deepEqual([others, othersLeftOut, response.status, response.code], [[], 0, 404, 'WEIR_ROUTE_NOT_FOUND'])
  })

  test('shows 10 of thousands, and counts the rest', () => {
    const many = explained((it) => {
      for (let i = 0; i < 3_000; i++) it.mapGet(`/shop/item-${i}`, never)
    })
    const { others, othersLeftOut } = many.explain('/shop/item-77x')
    assert.deepEqual([others.length, othersLeftOut], [10, 2_990])
    assert.ok(
      others.some(({ path }) => path === '/shop/item-77'),
      'the nearest is among them',
    )
    assert.ok(JSON.stringify(many.explain('/shop/item-77x')).length < 10_000)
  })

  test('405 and OPTIONS state the methods, HEAD is answered by GET', () => {
    assert.deepEqual(server.explain({ method: 'PUT', url: '/users/7' }).response, {
      status: 405,
      code: 'WEIR_METHOD_NOT_ALLOWED',
      detail: 'this resource does not support this method',
      allow: ['DELETE', 'GET', 'HEAD', 'OPTIONS'],
    })
    assert.deepEqual(server.explain({ method: 'OPTIONS', url: '/orders' }).response, {
      status: 204,
      code: null,
      detail: 'the server answers OPTIONS',
      allow: ['GET', 'HEAD', 'OPTIONS'],
    })
    assert.equal(
      server.explain({ method: 'HEAD', url: '/orders' }).response.detail,
      'HEAD is answered by the handler of GET /orders, without the content',
    )
  })

  test('the fallback of a group answers, and is named', () => {
    const grouped = explained((it) => {
      const admin = it.group('/admin', { use: [policy('auth')] })
      admin.mapGet('/users', never)
      admin.fallback(never)
    })
    const missing = grouped.explain('/admin/none')
    assert.deepEqual(
      [missing.route?.path, missing.route?.isFallback, missing.response.detail],
      ['/admin/*fallbackPath', true, 'no route has this path: a fallback answers'],
    )
    assert.deepEqual(
      missing.policies.map(({ name }) => name),
      ['auth'],
    )
    const known = grouped.explain('/admin/users')
    assert.deepEqual(reasons(known), ['null /admin/*fallbackPath: order, a fallback answers only where no route has the path'])
    const other = grouped.explain({ method: 'POST', url: '/admin/users' })
    assert.equal(other.response.status, 405)
    assert.deepEqual(
      other.policies.map(({ name, level }) => `${name} ${level}`),
      ['auth group'],
      '405 belongs to the group',
    )
  })

  test('the source of a controller is named', () => {
    class Users extends Controller {
      static readonly routes = routes(this, { prefix: '/users', show: ['GET', '/:id'] })
      show(): void {}
    }
    assert.equal(explained((it) => it.mapController(Users)).explain('/users/7').route?.source, 'Users.show')
  })
})

describe('explain: what runs around the handler', () => {
  test('policies in order, with their levels and what they replace', () => {
    const server = explained((it) => {
      it.use(policy('log'))
      it.use(policy('auth'))
      const group = it.group('/a', { use: [{ name: 'auth', gate: never }] })
      group.beforeSend(function stamp() {})
      group.mapGet(
        '/b',
        {
          use: [
            { name: 'auth' },
            function timing(_, next) {
              return next()
            },
          ],
        },
        never,
      )
    })
    assert.deepEqual(server.explain('/a/b').policies, [
      { name: 'log', level: 'server', replaces: [], hooks: ['gate', 'middleware', 'beforeSend'] },
      { name: 'auth', level: 'route', replaces: ['server', 'group'], hooks: [] },
      { name: 'timing', level: 'route', replaces: [], hooks: ['middleware'] },
      { name: 'stamp', level: 'group', replaces: [], hooks: ['beforeSend'] },
    ])
    assert.deepEqual(
      server.explain('/none').policies.map(({ name, level }) => `${name} ${level}`),
      ['log server', 'auth server'],
    )
  })

  test('limits, and where each was set', () => {
    const server = explained(
      (it) => {
        const group = it.group('/g', { maxRequestBodySize: 100, requestTimeout: 1_000 })
        group.mapPost('/r', { requestTimeout: null }, never)
      },
      { limits: { maxRequestHeaders: 50 } },
    )
    const { limits } = server.explain({ method: 'POST', url: '/g/r' })
    assert.deepEqual(limits.maxRequestBodySize, { value: 100, level: 'group' })
    assert.deepEqual(limits.requestTimeout, { value: null, level: 'route' })
    assert.deepEqual(limits.writeTimeout, { value: 120_000, level: 'server' })
    assert.deepEqual(limits.maxRequestHeaders, { value: 50, level: 'server' })
    assert.deepEqual(server.explain('/none').limits.maxRequestBodySize, { value: 10 * 1024 * 1024, level: 'server' })
  })
})

describe('explain: arguments', () => {
  const server = explained((it) => {
    it.mapGet('/users/:id/:name', { id: t.int, active: t.bool.default(false), tag: t.array(t.string).optional() }, never)
    it.mapGet('/reset/:token/*rest', { token: t.string.secret(), pin: t.int.secret(), q: t.string.optional() }, never)
  })

  test('where each comes from, what it expects and what was received', () => {
    assert.deepEqual(server.explain('/users/7/Ada%20L?active=true&tag=a&tag=b').arguments, [
      { name: 'id', in: 'route', expected: 'a whole number', presence: 'required', received: '7', failures: [], isChecked: true },
      { name: 'name', in: 'route', expected: 'a string', presence: 'required', received: 'Ada L', failures: [], isChecked: true },
      { name: 'active', in: 'query', expected: 'true or false', presence: 'default', received: 'true', failures: [], isChecked: true },
      {
        name: 'tag',
        in: 'query',
        expected: 'an array, each a string',
        presence: 'optional',
        received: 'a, b',
        failures: [],
        isChecked: true,
      },
    ])
  })

  test('what does not fit is the 400 that would be answered', () => {
    const { response, arguments: args } = server.explain('/users/x/y')
    assert.deepEqual([response.status, response.code], [400, 'WEIR_PARAMETER_INVALID'])
    assert.deepEqual(args[0]!.failures, [{ name: 'id', in: 'route', expected: 'a whole number', actual: 'x' }])
  })

  test('secret values are in no place of it', () => {
    for (const url of [
      '/reset/hush-7/a/b?pin=hush-7&q=x',
      '/reset/hush-7/a?pin=hush-7&pin=hush-7',
      'http://localhost/reset/hush-7/a?pin=%68ush-7',
    ]) {
      const explanation = server.explain(url)
      assert.equal(explanation.route?.path, '/reset/:token/*rest')
      const all = JSON.stringify(explanation) + String(explanation)
      assert.ok(!/hush-7|ush-7/.test(all), all)
    }
    assert.ok(
      !String(server.explain({ method: 'PUT', url: '/reset/hush-7/a?pin=hush-7' })).includes('hush'),
      'a path without a route for the method',
    )
    assert.equal(server.explain('/reset/hush-7/a/b?pin=1&q=x').target, '/reset/(not shown)/a/b?pin=(not shown)&q=x')
  })

  test('fields and cookies, whose values are kept back where scripts may not read them', () => {
    const other = explained((it) => {
      const declaration = {
        lang: header('x-lang', t.enum('de', 'en').default('en')),
        auth: header('Authorization', t.string),
        sid: cookie('sid', t.int),
      }
      it.mapGet('/', declaration, never)
    })
    const { arguments: args, response } = other.explain({
      url: '/',
      headers: { 'X-Lang': 'de', Authorization: 'Bearer hush', Cookie: 'sid=hush' },
    })
    assert.deepEqual(
      args.map(({ name, in: place, presence, received, failures }) => [name, place, presence, received, failures.length]),
      [
        ['lang', 'header', 'default', 'de', 0],
        ['auth', 'header', 'required', '(not shown)', 0],
        ['sid', 'cookie', 'required', '(not shown)', 1],
      ],
    )
    assert.equal(response.code, 'WEIR_PARAMETER_INVALID')
  })

  test('a typed body is described, and not read', () => {
    const other = explained((it) => {
      it.mapPost('/orders', { body: t.object({ item: t.string }) }, never)
      it.mapPost('/photo', { body: bytes('image/*') }, never)
      it.mapPost('/form', { body: multipart({ fields: { title: t.string } }) }, never)
    })
    const order = other.explain({ method: 'POST', url: '/orders', json: 'nonsense' })
    assert.deepEqual(order.arguments, [
      { name: 'body', in: 'body', expected: 'an object with item', presence: 'required', received: null, failures: [], isChecked: false },
    ])
    assert.deepEqual(
      [order.response.status, order.body.mode, order.body.accepts],
      [null, 'buffer', ['application/json', 'application/x-www-form-urlencoded']],
    )
    const missing = other.explain({ method: 'POST', url: '/orders' })
    assert.deepEqual([missing.response.status, missing.response.code], [400, 'WEIR_BODY_MISSING'])
    const wrong = other.explain({ method: 'POST', url: '/photo', body: 'x', headers: { 'content-type': 'text/plain' } })
    assert.deepEqual([wrong.response.status, wrong.response.code], [415, 'WEIR_CONTENT_TYPE_UNSUPPORTED'])
    assert.match(String(wrong), /body {7}buffer, text\/plain, of 1 bytes; accepts image\/\*/)
    assert.equal(other.explain({ method: 'POST', url: '/form', body: new FormData() }).body.mode, 'stream')
  })

  test('a schema of another library is named, and not run', () => {
    const foreign = { '~standard': { version: 1 as const, vendor: 'elsewhere', validate: never } }
    const { arguments: args, response } = explained((it) => it.mapGet('/x', { q: foreign }, never)).explain('/x?q=1')
    assert.deepEqual(args, [
      {
        name: 'q',
        in: 'query',
        expected: 'a value that passes its schema (elsewhere)',
        presence: 'required',
        received: '1',
        failures: [],
        isChecked: false,
      },
    ])
    assert.equal(response.status, null)
  })
})

describe('explain: heads and bodies', () => {
  const server = explained((it) => {
    it.mapPost('/', never)
    it.mapPost('/stream', { body: 'stream' }, never)
    it.mapPost('/small', { maxRequestBodySize: 3 }, never)
    it.mapQuery('/search', never)
    it.useModule(websocket('/chat', { message: never }))
  })
  const ask = (url: string, more: object = {}): Explanation => server.explain({ method: 'POST', url, ...more })

  test('whether the body is buffered, streamed or discarded', () => {
    assert.deepEqual(ask('/').body, { mode: 'none', length: 0, contentType: null, accepts: null })
    assert.deepEqual(ask('/', { json: { a: 1 } }).body, { mode: 'buffer', length: 7, contentType: 'application/json', accepts: null })
    assert.deepEqual(ask('/', { body: new URLSearchParams({ a: 'ä' }) }).body.length, 8)
    const form = new FormData()
    form.append('a', 'b')
    const { mode, length, contentType } = ask('/', { body: form }).body
    assert.deepEqual([mode, length], ['stream', null])
    assert.match(contentType!, /^multipart\/form-data; boundary=/)
    assert.equal(ask('/stream', { body: 'x' }).body.mode, 'stream')
    assert.equal(ask('/none', { body: 'x' }).body.mode, 'discard')
    assert.deepEqual([ask('/small', { body: '1234' }).body.mode, ask('/small', { body: '1234' }).response.status], ['discard', 413])
  })

  test('a head that is refused is explained by its error', () => {
    const { path, response, method, target } = server.explain('/%zz')
    assert.deepEqual([method, target, path, response.status, response.code], ['GET', '/%zz', null, 400, 'WEIR_TARGET_ENCODING'])
    assert.equal(server.explain({ url: '/', headers: { 'x-long': 'x'.repeat(70_000) } }).response.status, 431)
    assert.equal(server.explain({ url: '/', headers: { expect: 'magic' } }).response.status, 417)
  })

  test('a request that does not belong on its connection is a 421', () => {
    assert.deepEqual(
      [server.explain('https://localhost/').response.status, server.explain('https://localhost/').response.code],
      [421, 'WEIR_MISDIRECTED'],
    )
    assert.equal(server.explain({ url: 'https://localhost/', method: 'POST', peer: { isSecure: true } }).response.status, null)
  })

  test('a route that upgrades answers 426 to anything else', () => {
    const upgrade = { connection: 'upgrade', upgrade: 'websocket' }
    assert.deepEqual([server.explain('/chat').response.status, server.explain('/chat').response.code], [426, 'WEIR_UPGRADE_REQUIRED'])
    assert.equal(server.explain({ url: '/chat', headers: upgrade }).response.status, null)
  })

  test('a query without a type is refused', () => {
    assert.equal(server.explain({ method: 'QUERY', url: '/search', body: 'x' }).response.code, 'WEIR_CONTENT_TYPE_MISSING')
    assert.equal(server.explain({ method: 'QUERY', url: '/search', json: 1 }).response.status, null)
  })

  test('takes a Web Request, whose body it leaves alone', () => {
    const request = new Request('https://a.example:8443/small?x=1', { method: 'POST', body: 'abcd', headers: { 'content-length': '4' } })
    const { method, target, host, client, response } = server.explain(request, { peer: { address: '10.0.0.1' } })
    assert.deepEqual([method, target, host, response.status], ['POST', '/small?x=1', 'a.example', 413])
    assert.deepEqual(client, { address: '10.0.0.1', isSecure: true, origin: 'https://a.example:8443', isForwarded: false })
    assert.equal(request.bodyUsed, false)
  })

  test('the client is the one that a trusted proxy states', () => {
    const behind = explained((it) => it.mapGet('/', never), { proxies: { trust: ['10.0.0.0/8'], hosts: ['shop.example'] } })
    const headers = { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'shop.example' }
    const client = behind.explain({ url: '/', headers, peer: { address: '10.0.0.1' } }).client
    assert.deepEqual(client, { address: '192.0.2.7', isSecure: true, origin: 'https://shop.example', isForwarded: true })
    assert.equal(behind.explain({ url: '/', headers, peer: { address: '11.0.0.1' } }).client.address, '11.0.0.1')
  })

  test('what no client could send is refused', () => {
    assert.throws(() => server.explain({ url: '/ x' }), { code: 'WEIR_OPTION_INVALID' })
    assert.throws(() => server.explain(undefined as never), { code: 'WEIR_OPTION_INVALID' })
    assert.throws(() => server.explain({ url: '/', verb: 'GET' } as never), { code: 'WEIR_OPTION_INVALID' })
  })
})

test('an explanation is data that JSON holds, and a text', () => {
  const server = explained((it) => {
    it.use(policy('log'))
    it.mapGet('/users/:id', { id: t.int }, never)
    it.mapDelete('/users/:id', never)
  })
  const explanation = server.explain('/users/7')
  assert.deepEqual(JSON.parse(JSON.stringify(explanation)), { ...explanation })
  assert.equal(
    String(explanation),
    [
      'GET /users/7',
      '  response   the handler of GET /users/:id answers',
      '  path       /users/7',
      '  host       localhost',
      '  client     no address, http://localhost',
      '  route      GET /users/:id',
      '  policies   log (server): gate, middleware, beforeSend',
      '  arguments  id from the route: a whole number; received "7"',
      '  body       none',
      '  limits     maxRequestBodySize 10485760 (server)',
      '  rejected   DELETE /users/:id: it is for DELETE, not GET',
    ].join('\n'),
  )
})
