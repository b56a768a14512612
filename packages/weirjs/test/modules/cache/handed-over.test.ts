// What a cache keeps of code that reads cookies where the server does not see it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'

import { type HttpRequest, HttpServer, type HttpSession } from '../../../src/index.ts'
import { type CacheOptions, cache } from '../../../src/modules/cache/index.ts'
import { nonceOf } from '../../../src/modules/headers/index.ts'
import { memorySessions, sessions } from '../../../src/modules/sessions/index.ts'
import { mountFetch, mountNode } from '../../../src/node/index.ts'
import { TestClock } from '../../../src/testing/index.ts'

/** What two clients with different cookies get, in turn. */
async function twice(server: HttpServer, url: string): Promise<string[]> {
  const bodies: string[] = []
  for (const name of ['ann', 'bob']) bodies.push((await server.inject({ url, headers: { Cookie: `user=${name}` } })).text())
  return bodies
}

function serverWith(options: CacheOptions, field: string | null = null): HttpServer {
  const server = new HttpServer({ logger: null })
  const group = server.group('/', { use: [cache({ maxAge: '1m', ...options })] })
  const headers: Record<string, string> = field === null ? {} : { 'Cache-Control': field }
  mountNode(group, '/node', (req, res) => res.writeHead(200, headers).end(req.headers.cookie))
  mountFetch(group, '/fetch', (request) => new Response(request.headers.get('cookie'), { headers }))
  group.mapGet('/field', (_, { request }) => request.header('Cookie'))
  group.mapGet('/web', (_, { request }) => {
    const cookie = request.toWeb().headers.get('cookie')
    return new Response(cookie, { headers })
  })
  return server
}

for (const url of ['/node', '/fetch', '/field', '/web']) {
  test(`${url}: a response that may be made of cookies is not sent to others`, async () => {
    assert.deepEqual(await twice(serverWith({}), url), ['user=ann', 'user=bob'])
    assert.deepEqual(await twice(serverWith({ key: 'all' }), url), ['user=ann', 'user=bob'])
    assert.deepEqual(await twice(serverWith({ vary: ['Cookie'] }), url), ['user=ann', 'user=bob'])
    assert.deepEqual(await twice(serverWith({ key: () => 'everybody' }), url), ['user=ann', 'user=ann'])
  })
}

for (const url of ['/node', '/fetch', '/web']) {
  test(`${url}: code that states Cache-Control decides itself`, async () => {
    assert.deepEqual(await twice(serverWith({}, 'public'), url), ['user=ann', 'user=ann'])
    assert.deepEqual(await twice(serverWith({}, 'private'), url), ['user=ann', 'user=bob'])
  })
}

test('a nonce is not kept, also if a session was read before it', async () => {
  const server = new HttpServer({ logger: null })
  const users = sessions({ store: memorySessions() })
  server.use(users)
  server.mapGet('/', { use: [cache({ maxAge: '1m', key: () => 'everybody' })] }, (_, session) => {
    users.of(session)
    return nonceOf(session)
  })
  const first = await server.inject('/')
  assert.equal(first.status, 200)
  assert.notEqual((await server.inject('/')).text(), first.text())
})

const USERS = new WeakMap<HttpSession, ReturnType<typeof sessions>>()

function withUsers(): HttpServer {
  const server = new HttpServer({ logger: null })
  const users = sessions({ store: memorySessions(), csrf: false })
  server.use({ name: 'users', gate: (session) => void USERS.set(session, users) })
  server.use(users)
  return server
}

/** Every public way to what tells one client from another. */
const WAYS: Readonly<Record<string, (session: HttpSession) => unknown>> = {
  'request.header': ({ request }) => request.header('CoOkie'),
  'request.cookie(name)': ({ request }) => request.cookie('user'),
  'request.cookie(index)': ({ request }) => request.cookie(0),
  'request.cookies': ({ request }) => request.cookies + Math.random(),
  'headers.get': ({ request }) => request.headers.get('Cookie'),
  'headers.has': ({ request }) => `${request.headers.has('cookie')} ${Math.random()}`,
  'headers.getAll': ({ request }) => request.headers.getAll('COOKIE'),
  'headers.entries': ({ request }) => Object.fromEntries(request.headers.entries()),
  'iteration of headers': ({ request }) => [...request.headers],
  'headers.toJSON': ({ request }) => request.headers.toJSON(),
  'JSON.stringify(headers)': ({ request }) => JSON.stringify(request.headers),
  'new Headers(headers)': ({ request }) => new Headers([...request.headers]).get('cookie'),
  'a Map of headers': ({ request }) => [...new Map(request.headers)],
  'inspect(headers)': ({ request }) => inspect(request.headers),
  'toWeb().headers': ({ request }) => request.toWeb().headers.get('cookie'),
  session: (session) => [USERS.get(session)!.of(session).principal, session.request.header('x-user')],
  nonce: (session) => nonceOf(session),
  principal(session) {
    session.principal = { id: session.request.header('x-user') }
    return session.principal
  },
}

/** When the handler looks. Each returns a response that shows what it has seen. */
const TIMES: Readonly<Record<string, (session: HttpSession, look: () => string) => unknown>> = {
  'before it returns': (_, look) => look(),
  'after a wait': async (_, look) => {
    await new Promise(setImmediate)
    return look()
  },
  'in the first piece of a stream': ({ response }, look) =>
    response.stream(
      (async function* () {
        yield look()
      })(),
      'text/plain',
    ),
  'in a late piece of a stream': ({ response }, look) =>
    response.stream(
      (async function* () {
        yield 'begun'
        await new Promise(setImmediate)
        await new Promise(setImmediate)
        yield look()
      })(),
      'text/plain',
    ),
  'after the last piece of a stream': ({ response, request }, look) =>
    response.stream(
      (async function* () {
        yield `for ${request.header('x-user')}`
        await new Promise(setImmediate)
        look()
      })(),
      'text/plain',
    ),
}

for (const [time, answer] of Object.entries(TIMES))
  for (const key of [undefined, 'all', 'principal'] as const)
    test(`what tells clients apart is never sent to another one if it is looked at ${time}, with the key ${key}`, async () => {
      for (const [way, look] of Object.entries(WAYS)) {
        // The program has said that responses are for all, whoever is signed in.
        if (key === 'all' && way === 'principal') continue
        const server = withUsers()
        server.mapGet('/', { use: [cache({ maxAge: '1m', ...(key !== undefined && { key }) })] }, (_, session) =>
          answer(session, () => `seen: ${String(inspect(look(session)))}`),
        )
        const bodies: string[] = []
        for (const name of ['ann', 'bob'])
          bodies.push((await server.inject({ url: '/', headers: { Cookie: `user=${name}`, 'X-User': name } })).text())
        assert.notEqual(bodies[1], bodies[0], way)
        assert.doesNotMatch(bodies[1]!, /ann/, way)
      }
    })

for (const [field, value] of Object.entries({ 'Cache-Control': 'max-age=5', Expires: 'Thu, 01 Jan 2032 00:00:00 GMT', Vary: 'Cookie' }))
  test(`what code around the cache sets in ${field} once a stream has begun says nothing about the stream`, async () => {
    for (const [way, look] of Object.entries(WAYS)) {
      if (way === 'session' || way === 'nonce') continue // too late
      const server = withUsers()
      let isSent = false
      server.use({
        name: 'fields',
        beforeSend({ response }) {
          response.header(field, value)
          isSent = true
        },
      })
      server.mapGet('/', { use: [cache({ maxAge: '1m' })] }, (_, session) =>
        session.response.stream(
          (async function* () {
            yield 'begun'
            while (!isSent) await new Promise(setImmediate)
            yield `seen: ${String(inspect(look(session)))}`
          })(),
          'text/plain',
        ),
      )
      const ask = async (name: string): Promise<string> =>
        (await server.inject({ url: '/', headers: { Cookie: `user=${name}`, 'X-User': name } })).text()
      await ask('ann')
      assert.doesNotMatch(await ask('bob'), /ann/, way)
    }
  })

test('a response that is renewed for one client is not kept for others', async () => {
  for (const [way, look] of Object.entries(WAYS)) {
    const clock = new TestClock()
    const server = withUsers()
    let renewals = 0
    server.mapGet('/', { use: [cache({ maxAge: '10s', clock })] }, (_, session) => {
      const { request, response } = session
      response.header('ETag', '"v1"')
      if (request.header('if-none-match') !== '"v1"') return response.text('for all')
      renewals++
      return response.header('X-Seen', encodeURIComponent(inspect(look(session)))).status(304)
    })
    const ask = async (name: string) => {
      const { status, headers } = await server.inject({ url: '/', headers: { Cookie: `user=${name}`, 'X-User': name } })
      assert.equal(status, 200, way)
      return headers.get('x-seen')
    }
    assert.equal(await ask('eve'), null)
    await clock.advance(10_000)
    await ask('ann')
    assert.equal(renewals, 1, way)
    assert.doesNotMatch((await ask('bob')) ?? '', /ann/, way)
  }
})

for (const [what, lines] of [
  [
    'private',
    [
      ['Cache-Control', 'max-age=60'],
      ['Cache-Control', 'private'],
    ],
  ],
  [
    'no-store',
    [
      ['Cache-Control', 'max-age=60'],
      ['Cache-Control', 'no-store'],
    ],
  ],
  [
    'another field in Vary',
    [
      ['Cache-Control', 'max-age=60'],
      ['Vary', 'Accept'],
      ['Vary', 'X-User'],
    ],
  ],
] as const)
  for (const isOuter of [false, true])
    test(`a 304 with ${what} in a second line, ${isOuter ? 'of outer middleware' : 'of the handler'}, is for its client alone`, async () => {
      const clock = new TestClock()
      const server = new HttpServer({ logger: null })
      const isRenewed = (request: HttpRequest): boolean => request.header('x-user') === 'ann' && clock.now() > 0
      const last = lines.at(-1)!
      server.use(({ request, response }, next) => {
        if (isOuter && isRenewed(request)) response.appendHeader(last[0], last[1])
        return next()
      })
      server.use(cache({ clock, staleIfError: '1m' }))
      server.mapGet('/', (_, { request, response }) => {
        response.header('ETag', '"v1"')
        if (request.header('if-none-match') === null)
          return response.header('Vary', 'Accept').header('Cache-Control', 'max-age=1').text('made')
        for (const [name, value] of isOuter ? lines.slice(0, -1) : lines) response.appendHeader(name, value)
        return response.header('X-Mine', request.header('x-user') ?? '').status(304)
      })
      const get = async (user: string): Promise<(string | null)[]> => {
        const { headers } = await server.inject({ url: '/', headers: { 'X-User': user, Accept: 'text/plain' } })
        return [headers.get('x-mine'), headers.get('cache-status')]
      }
      await get('ann')
      await clock.advance(5_000)
      assert.deepEqual(await get('ann'), ['ann', 'weir; fwd=stale; fwd-status=304'])
      assert.notEqual((await get('bob'))[0], 'ann')
    })

test('a 304 that depends on more fields than the response did is for its client alone', async () => {
  const clock = new TestClock()
  const server = new HttpServer({ logger: null })
  server.mapGet('/', { use: [cache({ maxAge: '10s', clock })] }, (_, { request, response }) => {
    response.header('ETag', '"v1"')
    if (request.header('if-none-match') !== '"v1"') return response.text('for all')
    return response
      .header('Vary', 'X-User')
      .header('X-Seen', String(request.header('x-user')))
      .status(304)
  })
  const ask = async (name: string) => (await server.inject({ url: '/', headers: { 'X-User': name } })).headers.get('x-seen')
  assert.equal(await ask('eve'), null)
  await clock.advance(10_000)
  assert.equal(await ask('ann'), 'ann')
  assert.notEqual(await ask('bob'), 'ann')
})

test('a handler that reads other fields one by one does not keep its response from others', async () => {
  const server = new HttpServer({ logger: null })
  server.mapGet('/', { use: [cache({ maxAge: '1m' })] }, (_, { request }) => `${request.headers.get('accept')} ${request.header('x-user')}`)
  const bodies = await Promise.all(
    ['ann', 'bob'].map(async (name) => (await server.inject({ url: '/', headers: { Cookie: `user=${name}`, 'X-User': name } })).text()),
  )
  assert.equal(bodies[1], bodies[0])
})
