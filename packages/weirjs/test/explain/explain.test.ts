// server.explain: which route answers and why the others do not, what runs around it, what it is given, and what it may cost.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ShownTexts } from '../../src/app/routes/shown-texts.ts'
import { bytes, Controller, cookie, HttpServer, header, json, multipart, type Policy, Problem, routes, t, text } from '../../src/index.ts'
import type { Explanation } from '../../src/modules/explain/index.ts'
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

  test('names the route that answers', async () => {
    const { route, response, path } = await server.explain('/users/me')
    assert.deepEqual(route, { method: 'GET', path: '/users/me', host: null, endpoint: null, source: 'inline', isFallback: false })
    assert.deepEqual(response, { status: null, code: null, detail: 'the handler of GET /users/me answers', allow: null })
    assert.equal(path, '/users/me')
  })

  test('says why each of the others does not, the nearest first', async () => {
    assert.deepEqual(reasons(await server.explain('/users/me')), [
      'GET /users/:id: order, /users/me is more specific',
      'DELETE /users/:id: method, it is for DELETE, not GET',
      'GET /users/:id: host, it is for host *.example.org, not "localhost"',
      'GET /users/:id: endpoint, it is for endpoint "admin", not one without a name',
      'GET /users/:id/posts: short, the path ends before "posts"',
    ])
    assert.deepEqual(reasons(await server.explain('/usres/7')).slice(0, 3), [
      'GET /users/:id: spelling, segment 1 is "usres", not "users"',
      'GET /users/me: text, segment 1 is "usres", not "users"',
      'GET /users/:id/posts: text, segment 1 is "usres", not "users"',
    ])
    assert.deepEqual(reasons(await server.explain('/Orders')), [
      'GET /orders: case, segment 1 is "Orders", not "orders": upper and lower case differ',
    ])
    assert.deepEqual(reasons(await server.explain('/orders/')), ['GET /orders: slash, the path ends with a slash'])
    assert.deepEqual(reasons(await server.explain('/dir')), ['GET /dir/: slash, the path does not end with a slash'])
    assert.deepEqual(reasons(await server.explain('/files/')), ['GET /files/*path: empty, parameter "path" would be empty'])
    assert.deepEqual(reasons(await server.explain('/orders/7')), ['GET /orders: long, the path continues with "7"'])
    assert.deepEqual(reasons(await server.explain('/any')), ['null /any: order, the route for GET comes first'])
    assert.deepEqual(
      reasons(await server.explain({ url: '/users/7', headers: { host: 'a.example.org' } }))[0],
      'GET /users/:id: order, host *.example.org is more specific than any host',
    )
    assert.deepEqual(
      reasons(await server.explain({ url: '/users/7', endpoint: 'admin' }))[0],
      'GET /users/:id: order, routes of endpoint "admin" come first',
    )
  })

  test('a path that no route comes near has no others', async () => {
    const { others, othersLeftOut, response } = await server.explain('/nothing/like/that')
    assert.deepEqual([others, othersLeftOut, response.status, response.code], [[], 0, 404, 'WEIR_ROUTE_NOT_FOUND'])
  })

  test('shows 10 of thousands, and counts the rest', async () => {
    const many = explained((it) => {
      for (let i = 0; i < 3_000; i++) it.mapGet(`/shop/item-${i}`, never)
    })
    const { others, othersLeftOut } = await many.explain('/shop/item-77x')
    assert.deepEqual([others.length, othersLeftOut], [10, 2_990])
    assert.ok(
      others.some(({ path }) => path === '/shop/item-77'),
      'the nearest is among them',
    )
    assert.ok(JSON.stringify(await many.explain('/shop/item-77x')).length < 10_000)
  })

  test('405 and OPTIONS state the methods, HEAD is answered by GET', async () => {
    assert.deepEqual((await server.explain({ method: 'PUT', url: '/users/7' })).response, {
      status: 405,
      code: 'WEIR_METHOD_NOT_ALLOWED',
      detail: 'this resource does not support this method',
      allow: ['DELETE', 'GET', 'HEAD', 'OPTIONS'],
    })
    assert.deepEqual((await server.explain({ method: 'OPTIONS', url: '/orders' })).response, {
      status: 204,
      code: null,
      detail: 'the server answers OPTIONS',
      allow: ['GET', 'HEAD', 'OPTIONS'],
    })
    assert.equal(
      (await server.explain({ method: 'HEAD', url: '/orders' })).response.detail,
      'HEAD is answered by the handler of GET /orders, without the content',
    )
  })

  test('the fallback of a group answers, and is named', async () => {
    const grouped = explained((it) => {
      const admin = it.group('/admin', { use: [policy('auth')] })
      admin.mapGet('/users', never)
      admin.fallback(never)
    })
    const missing = await grouped.explain('/admin/none')
    assert.deepEqual(
      [missing.route?.path, missing.route?.isFallback, missing.response.detail],
      ['/admin/*fallbackPath', true, 'no route has this path: a fallback answers, unless a gate responds first: auth'],
    )
    assert.deepEqual(
      missing.policies.map(({ name }) => name),
      ['auth'],
    )
    const known = await grouped.explain('/admin/users')
    assert.deepEqual(reasons(known), ['null /admin/*fallbackPath: order, a fallback answers only where no route has the path'])
    const other = await grouped.explain({ method: 'POST', url: '/admin/users' })
    assert.equal(other.response.status, 405)
    assert.deepEqual(
      other.policies.map(({ name, level }) => `${name} ${level}`),
      ['auth group'],
      '405 belongs to the group',
    )
  })

  test('the source of a controller is named', async () => {
    class Users extends Controller {
      static readonly routes = routes(this, { prefix: '/users', show: ['GET', '/:id'] })
      show(): void {}
    }
    assert.equal((await explained((it) => it.mapController(Users)).explain('/users/7')).route?.source, 'Users.show')
  })
})

describe('explain: what runs around the handler', () => {
  test('policies in order, with their levels and what they replace', async () => {
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
    assert.deepEqual((await server.explain('/a/b')).policies, [
      { name: 'log', level: 'server', replaces: [], hooks: ['gate', 'middleware', 'beforeSend'] },
      { name: 'auth', level: 'route', replaces: ['server', 'group'], hooks: [] },
      { name: 'timing', level: 'route', replaces: [], hooks: ['middleware'] },
      { name: 'stamp', level: 'group', replaces: [], hooks: ['beforeSend'] },
    ])
    assert.deepEqual(
      (await server.explain('/none')).policies.map(({ name, level }) => `${name} ${level}`),
      ['log server', 'auth server'],
    )
  })

  test('limits, and where each was set', async () => {
    const server = explained(
      (it) => {
        const group = it.group('/g', { maxRequestBodySize: 100, requestTimeout: 1_000 })
        group.mapPost('/r', { requestTimeout: null }, never)
      },
      { limits: { maxRequestHeaders: 50 } },
    )
    const { limits } = await server.explain({ method: 'POST', url: '/g/r' })
    assert.deepEqual(limits.maxRequestBodySize, { value: 100, level: 'group' })
    assert.deepEqual(limits.requestTimeout, { value: null, level: 'route' })
    assert.deepEqual(limits.writeTimeout, { value: 120_000, level: 'server' })
    assert.deepEqual(limits.maxRequestHeaders, { value: 50, level: 'server' })
    assert.deepEqual((await server.explain('/none')).limits.maxRequestBodySize, { value: 10 * 1024 * 1024, level: 'server' })
  })
})

describe('explain: arguments', () => {
  const server = explained((it) => {
    it.mapGet('/users/:id/:name', { id: t.int, active: t.bool.default(false), tag: t.array(t.string).optional() }, never)
    it.mapGet('/reset/:token/*rest', { token: t.string.secret(), pin: t.int.secret(), q: t.string.optional() }, never)
  })

  test('where each comes from, what it expects and what was received', async () => {
    assert.deepEqual((await server.explain('/users/7/Ada%20L?active=true&tag=a&tag=b')).arguments, [
      {
        name: 'id',
        in: 'path',
        expected: 'a whole number',
        presence: 'required',
        received: '7',
        misspelt: null,
        failures: [],
        isChecked: true,
      },
      {
        name: 'name',
        in: 'path',
        expected: 'a string',
        presence: 'required',
        received: 'Ada L',
        misspelt: null,
        failures: [],
        isChecked: true,
      },
      {
        name: 'active',
        in: 'query',
        expected: 'true or false',
        presence: 'default',
        received: 'true',
        misspelt: null,
        failures: [],
        isChecked: true,
      },
      {
        name: 'tag',
        in: 'query',
        expected: 'an array, each a string',
        presence: 'optional',
        received: 'a, b',
        misspelt: null,
        failures: [],
        isChecked: true,
      },
    ])
  })

  test('what does not fit is the 400 that would be answered', async () => {
    const { response, arguments: args } = await server.explain('/users/x/y')
    assert.deepEqual([response.status, response.code], [400, 'WEIR_PARAMETER_INVALID'])
    assert.deepEqual(args[0]!.failures, [{ name: 'id', in: 'path', expected: 'a whole number', actual: 'x' }])
  })

  test('secret values are in no place of it', async () => {
    for (const url of [
      '/reset/hush-7/a/b?pin=hush-7&q=x',
      '/reset/hush-7/a?pin=hush-7&pin=hush-7',
      'http://localhost/reset/hush-7/a?pin=%68ush-7',
    ]) {
      const explanation = await server.explain(url)
      assert.equal(explanation.route?.path, '/reset/:token/*rest')
      const all = JSON.stringify(explanation) + String(explanation)
      assert.ok(!/hush-7|ush-7/.test(all), all)
    }
    assert.ok(
      !String(await server.explain({ method: 'PUT', url: '/reset/hush-7/a?pin=hush-7' })).includes('hush'),
      'a path without a route for the method',
    )
    assert.equal((await server.explain('/reset/hush-7/a/b?pin=1&q=x')).target, '/reset/(not shown)/a/b?pin=(not shown)&q=x')
  })

  test('fields and cookies, whose values are kept back where scripts may not read them', async () => {
    const other = explained((it) => {
      const declaration = {
        lang: header('x-lang', t.enum('de', 'en').default('en')),
        auth: header('Authorization', t.string),
        sid: cookie('sid', t.int),
      }
      it.mapGet('/', declaration, never)
    })
    const { arguments: args, response } = await other.explain({
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

  test('a typed body is described, and read if it is known', async () => {
    const other = explained((it) => {
      it.mapPost('/orders', { body: t.object({ item: t.string }) }, never)
      it.mapPost('/photo', { body: bytes('image/*') }, never)
      it.mapPost('/form', { body: multipart({ fields: { title: t.string } }) }, never)
    })
    const order = await other.explain({ method: 'POST', url: '/orders', json: { item: 'tea' } })
    assert.deepEqual(order.arguments, [
      {
        name: 'body',
        in: 'body',
        expected: 'an object with item',
        presence: 'required',
        received: null,
        misspelt: null,
        failures: [],
        isChecked: true,
      },
    ])
    assert.deepEqual(
      [order.response.status, order.body.mode, order.body.accepts],
      [null, 'buffer', ['application/json', 'application/x-www-form-urlencoded']],
    )
    const nonsense = await other.explain({ method: 'POST', url: '/orders', json: 'nonsense' })
    assert.deepEqual([nonsense.response.status, nonsense.response.code], [400, 'WEIR_BODY_INVALID'])
    const missing = await other.explain({ method: 'POST', url: '/orders' })
    assert.deepEqual([missing.response.status, missing.response.code], [400, 'WEIR_BODY_MISSING'])
    const wrong = await other.explain({ method: 'POST', url: '/photo', body: 'x', headers: { 'content-type': 'text/plain' } })
    assert.deepEqual([wrong.response.status, wrong.response.code], [415, 'WEIR_CONTENT_TYPE_UNSUPPORTED'])
    assert.match(String(wrong), /body {7}buffer, text\/plain, of 1 bytes; accepts image\/\*/)
    assert.equal((await other.explain({ method: 'POST', url: '/form', body: new FormData() })).body.mode, 'stream')
  })

  test('a schema of another library is named, and not run', async () => {
    const foreign = { '~standard': { version: 1 as const, vendor: 'elsewhere', validate: never } }
    const { arguments: args, response } = await explained((it) => it.mapGet('/x', { q: foreign }, never)).explain('/x?q=1')
    assert.deepEqual(args, [
      {
        name: 'q',
        in: 'query',
        expected: 'a value that passes its schema (elsewhere)',
        presence: 'required',
        received: '1',
        misspelt: null,
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
    it.use(websocket('/chat', { message: never }))
  })
  const ask = (url: string, more: object = {}): Promise<Explanation> => server.explain({ method: 'POST', url, ...more })

  test('whether the body is buffered, streamed or discarded', async () => {
    assert.deepEqual((await ask('/')).body, { mode: 'none', length: 0, contentType: null, accepts: null })
    assert.deepEqual((await ask('/', { json: { a: 1 } })).body, {
      mode: 'buffer',
      length: 7,
      contentType: 'application/json',
      accepts: null,
    })
    assert.deepEqual((await ask('/', { body: new URLSearchParams({ a: 'ä' }) })).body.length, 8)
    const form = new FormData()
    form.append('a', 'b')
    const { mode, length, contentType } = (await ask('/', { body: form })).body
    assert.deepEqual([mode, length], ['stream', null])
    assert.match(contentType!, /^multipart\/form-data; boundary=/)
    assert.equal((await ask('/stream', { body: 'x' })).body.mode, 'stream')
    assert.equal((await ask('/none', { body: 'x' })).body.mode, 'discard')
    assert.deepEqual(
      [(await ask('/small', { body: '1234' })).body.mode, (await ask('/small', { body: '1234' })).response.status],
      ['discard', 413],
    )
  })

  test('a head that is refused is explained by its error', async () => {
    const { path, response, method, target } = await server.explain('/%zz')
    assert.deepEqual([method, target, path, response.status, response.code], ['GET', '/%zz', null, 400, 'WEIR_TARGET_ENCODING'])
    assert.equal((await server.explain({ url: '/', headers: { 'x-long': 'x'.repeat(70_000) } })).response.status, 431)
    assert.equal((await server.explain({ url: '/', headers: { expect: 'magic' } })).response.status, 417)
  })

  test('a request that does not belong on its connection is a 421', async () => {
    assert.deepEqual(
      [(await server.explain('https://localhost/')).response.status, (await server.explain('https://localhost/')).response.code],
      [421, 'WEIR_MISDIRECTED'],
    )
    assert.equal((await server.explain({ url: 'https://localhost/', method: 'POST', peer: { isSecure: true } })).response.status, null)
  })

  test('a route that upgrades answers 426 to anything else', async () => {
    const upgrade = { connection: 'upgrade', upgrade: 'websocket' }
    assert.deepEqual(
      [(await server.explain('/chat')).response.status, (await server.explain('/chat')).response.code],
      [426, 'WEIR_UPGRADE_REQUIRED'],
    )
    assert.equal((await server.explain({ url: '/chat', headers: upgrade })).response.status, null)
  })

  test('a query without a type is refused', async () => {
    assert.equal((await server.explain({ method: 'QUERY', url: '/search', body: 'x' })).response.code, 'WEIR_CONTENT_TYPE_MISSING')
    assert.equal((await server.explain({ method: 'QUERY', url: '/search', json: 1 })).response.status, null)
  })

  test('takes a Web Request, whose body it leaves alone', async () => {
    const request = new Request('https://a.example:8443/small?x=1', { method: 'POST', body: 'abcd', headers: { 'content-length': '4' } })
    const { method, target, host, client, response } = await server.explain(request, { peer: { address: '10.0.0.1' } })
    assert.deepEqual([method, target, host, response.status], ['POST', '/small?x=1', 'a.example', 413])
    assert.deepEqual(client, { address: '10.0.0.1', isSecure: true, origin: 'https://a.example:8443', isForwarded: false })
    assert.equal(request.bodyUsed, false)
  })

  test('the client is the one that a trusted proxy states', async () => {
    const behind = explained((it) => it.mapGet('/', never), { proxies: { trust: ['10.0.0.0/8'], hosts: ['shop.example'] } })
    const headers = { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'shop.example' }
    const client = (await behind.explain({ url: '/', headers, peer: { address: '10.0.0.1' } })).client
    assert.deepEqual(client, { address: '192.0.2.7', isSecure: true, origin: 'https://shop.example', isForwarded: true })
    assert.equal((await behind.explain({ url: '/', headers, peer: { address: '11.0.0.1' } })).client.address, '11.0.0.1')
  })

  test('what no client could send is refused', async () => {
    await assert.rejects(server.explain({ url: '/ x' }), { code: 'WEIR_OPTION_INVALID' })
    await assert.rejects(server.explain(undefined as never), { code: 'WEIR_OPTION_INVALID' })
    await assert.rejects(server.explain({ url: '/', verb: 'GET' } as never), { code: 'WEIR_OPTION_INVALID' })
  })
})

describe('explain: declared answers', () => {
  const server = explained((it) => {
    const group = it.group('/g', { answers: { 401: Problem, 404: Problem } })
    group.mapGet('/all', { answers: { 204: null, 200: t.object({ id: t.int }), 404: text('text/plain') } }, never)
    group.mapGet('/raw', { answers: { 200: bytes('image/png'), 201: json(t.int) } }, never)
    group.mapPost('/inherited', { body: t.object({ a: t.int }) }, never)
    it.mapGet('/none', never)
  })

  test('by status, with those of the group, and what each has as its body', async () => {
    assert.deepEqual((await server.explain('/g/all')).answers, [
      { status: 200, body: 'json' },
      { status: 204, body: null },
      { status: 401, body: 'json' },
      { status: 404, body: 'text' },
    ])
    assert.deepEqual((await server.explain('/g/raw')).answers.slice(0, 2), [
      { status: 200, body: 'bytes' },
      { status: 201, body: 'json' },
    ])
    assert.match(
      String(await server.explain('/g/all')),
      /\n {2}answers {4}200 with JSON, 204 without a body, 401 with JSON, 404 with text\n/,
    )
  })

  test('also where the server itself refuses the request, as long as there is a route', async () => {
    const { response, answers } = await server.explain({ method: 'POST', url: '/g/inherited' })
    assert.deepEqual([response.code, answers.map(({ status }) => status)], ['WEIR_BODY_MISSING', [401, 404]])
  })

  test('none are declared, or there is no route', async () => {
    for (const url of ['/none', '/g/nowhere', '/%zz']) {
      const explanation = await server.explain(url)
      assert.deepEqual(explanation.answers, [], url)
      assert.doesNotMatch(String(explanation), /\n {2}answers/)
    }
  })
})

test('in the middle of traffic, requests and explanations do not disturb each other', async () => {
  const server = new HttpServer({ logger: null })
  server.mapGet('/pair/:a/:b', async ({ a, b }) => {
    const { route } = await server.explain('/other/1')
    return `${a} ${b} ${route?.path}`
  })
  server.mapGet('/other/:n', never)
  const ask = async (i: number): Promise<void> => {
    const [response, explanation] = await Promise.all([server.inject(`/pair/${i}/x${i}`), server.explain(`/other/${i}`)])
    assert.equal(response.text(), `${i} x${i} /other/:n`)
    assert.deepEqual([explanation.route?.path, explanation.arguments[0]?.received], ['/other/:n', String(i)])
  }
  await Promise.all(Array.from({ length: 200 }, (_, i) => ask(i)))
})

test('an explanation is data that JSON holds, and a text', async () => {
  const server = explained((it) => {
    it.use(policy('log'))
    it.mapGet('/users/:id', { id: t.int }, never)
    it.mapDelete('/users/:id', never)
  })
  const explanation = await server.explain('/users/7')
  assert.deepEqual(JSON.parse(JSON.stringify(explanation)), { ...explanation })
  assert.equal(
    String(explanation),
    [
      'GET /users/7',
      '  response   the handler of GET /users/:id answers, unless a gate responds first: log',
      '  path       /users/7',
      '  host       localhost',
      '  hosts      the names of this machine (localhost, 127.0.0.1, [::1])',
      '  client     no address, http://localhost',
      '  route      GET /users/:id',
      '  policies   log (server): gate, middleware, beforeSend',
      '  arguments  id from the path: a whole number; received "7"',
      '  body       none',
      '  limits     maxRequestBodySize 10 MiB (default)',
      '  rejected   DELETE /users/:id: it is for DELETE, not GET',
    ].join('\n'),
  )
})

test('of a long list, only what is shown is searched for secrets', async (context) => {
  const searched = context.mock.method(ShownTexts.prototype, 'value')
  const server = new HttpServer()
  server.mapGet('/', { list: t.array(t.string) }, () => '')
  const { arguments: shown } = await server.explain(`/?${'list=&'.repeat(5_000)}`)
  assert.equal(shown![0]!.received, ', '.repeat(50))
  assert.ok(searched.mock.callCount() < 200, `${searched.mock.callCount()} texts`)
})
