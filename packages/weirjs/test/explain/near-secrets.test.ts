// Values of secret parameters when the client has missed the route that declares them: not in the explanation, the page, or log lines.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'

import { HttpServer, header, type ServerOptions, t } from '../../src/index.ts'

// The page shows lines of this file.
const SECRET = ['hun', 'ter2'].join('')

const never = (): never => {
  throw new Error('it must not run')
}

function serverWith(map: (server: HttpServer) => void, options: ServerOptions = {}): HttpServer {
  const server = new HttpServer({ logger: null, debug: true, ...options })
  map(server)
  return server
}

function mapAll(server: HttpServer): void {
  server.mapPost('/reset/:token/confirm', { token: t.string.secret(), pin: t.string.secret().optional() }, never)
  server.mapGet('/reset/:token', { token: t.string.secret(), door: header('x-door', t.string.secret().optional()) }, never)
  server.mapGet('/files/:key/*rest', { rest: t.string.secret() }, never)
}

/** All that a client sees of an error, and what `explain` returns. */
async function shown(server: HttpServer, method: string, url: string, headers: Record<string, string> = {}): Promise<string> {
  const problem = (await server.inject({ method, url, headers })).text()
  const page = (await server.inject({ method, url, headers: { ...headers, Accept: 'text/html' } })).text()
  assert.match(page, /<!doctype html>/)
  const explanation = await server.explain({ method, url, headers })
  return [problem, page, JSON.stringify(explanation), String(explanation)].join('\n')
}

/** Where a text has the secret, with what is around it. */
function placesOf(text: string): string {
  return [...text.matchAll(new RegExp(`.{0,40}${SECRET}.{0,20}`, 'g'))].join('\n')
}

describe('secrets of routes that a request has missed', () => {
  const missed: [why: string, method: string, url: string][] = [
    ['a later segment', 'POST', `/reset/${SECRET}/confrim`],
    ['method', 'DELETE', `/reset/${SECRET}`],
    ['method and a later segment', 'PUT', `/reset/${SECRET}/x`],
    ['a slash at the end', 'GET', `/reset/${SECRET}/`],
    ['more segments', 'GET', `/reset/${SECRET}/confirm/now`],
    ['an earlier segment', 'POST', `/rset/${SECRET}/confirm`],
    ['an empty segment before it', 'POST', `/reset//${SECRET}/confirm`],
    ['upper case', 'GET', `/RESET/${SECRET}`],
    ['method, and a rest', 'POST', `/files/a/b/${SECRET}/c`],
    ['an empty segment before a rest', 'GET', `/files//${SECRET}`],
    ['a query parameter', 'POST', `/reset/a/confrim?pin=${SECRET}`],
  ]
  for (const [why, method, url] of missed) {
    test(why, async () => {
      const server = serverWith(mapAll)
      const all = await shown(server, method, url, url.includes('reset') ? { 'X-Door': SECRET } : {})
      assert.equal(placesOf(all), '')
    })
  }

  test('of routes for another host or endpoint', async () => {
    const server = serverWith(
      (it) => {
        it.mapGet('/a/:token', { host: 'a.example', token: t.string.secret() }, never)
        it.mapGet('/b/:token', { endpoint: 'admin', token: t.string.secret() }, never)
      },
      { listen: [{ port: 0, name: 'admin' }] },
    )
    for (const path of ['a', 'b']) {
      const all = await shown(server, 'GET', `/${path}/${SECRET}`)
      assert.equal(placesOf(all), '')
    }
  })

  test('a route that answers does not show what a nearer one declares secret', async () => {
    const server = serverWith((it) => {
      it.mapPost('/reset/:token', { token: t.string.secret() }, never)
      it.mapGet('/*rest', (_, { response }) => response.notFound())
    })
    const all = await shown(server, 'GET', `/reset/${SECRET}`)
    assert.equal(placesOf(all), '')
  })

  test('neither does the reason why another route lost', async () => {
    const server = serverWith((it) => {
      it.mapGet('/pages/:id/:token', { id: t.int, token: t.string.secret() }, never)
      it.mapGet('/pages/:id', { id: t.int }, never)
      it.mapGet('/pages/:id/edit', { id: t.int }, never)
    })
    const { others } = await server.explain(`/pages/7/${SECRET}`)
    assert.deepEqual(
      others.map(({ reasons }) => reasons[0]!.detail),
      ['the path continues with (not shown)', 'segment 3 is (not shown), not "edit"'],
    )
  })

  test('what no route declares secret is shown', async () => {
    const server = serverWith(mapAll)
    const { target, path } = await server.explain({ method: 'POST', url: `/reset/${SECRET}/confrim?q=1&pin=2` })
    assert.deepEqual([target, path], ['/reset/(not shown)/confrim?q=1&pin=(not shown)', '/reset/(not shown)/confrim'])
    assert.equal((await server.explain('/reset/')).path, '/reset/')
    assert.equal((await server.explain('/other/x')).path, '/other/x')
    assert.equal((await server.explain({ method: 'OPTIONS', url: '*' })).path, '*')
  })

  test('a segment that the template of the route fixes is shown', async () => {
    const server = serverWith((it) => {
      it.mapGet('/reset/help', () => 'help')
      mapAll(it)
    })
    assert.equal((await server.explain('/reset/help')).path, '/reset/help')
  })

  test('log lines hide them where no route answers, or one with a rest', async () => {
    const lines: string[] = []
    const server = serverWith(
      (it) => {
        mapAll(it)
        it.mapGet('/*rest', never)
        it.use((_session, next) => {
          next()
          throw new Error('the middleware failed')
        })
      },
      { debug: false, logger: { error: (message, detail) => lines.push(message, inspect(detail)) } },
    )
    await server.inject({ method: 'PATCH', url: `/reset/${SECRET}/confrim` })
    await server.inject({ url: `/reset/${SECRET}/confrim` })
    await server.inject({ method: 'GET', url: '/other/x' })
    assert.deepEqual(
      lines.filter((line) => line.startsWith('weir:')).map((line) => line.replace(/ \(request .*/, '')),
      ['weir: PATCH /reset/(not shown)/confrim failed', 'weir: GET /reset/(not shown)/confrim failed', 'weir: GET /other/x failed'],
    )
    assert.ok(!lines.join().includes(SECRET))
  })
})

test('a mapping that fails leaves the secrets of the others known', async () => {
  const lines: string[] = []
  const server = serverWith(
    (it) => {
      it.group('/keys/:key', { key: t.string.secret() }).fallback(never)
      it.mapGet('/reset/:token', { token: t.string.secret() }, never)
      it.use((_session, next) => {
        next()
        throw new Error('the middleware failed')
      })
    },
    { debug: false, logger: { error: (message) => lines.push(message) } },
  )
  assert.throws(() => server.mapGet('/reset/:other', never), { code: 'WEIR_ROUTE_CLASH' })
  for (const url of [`/reset/${SECRET}/x`, `/keys/${SECRET}/x`, '/other/x']) await server.inject(url)
  assert.deepEqual(
    lines.map((line) => line.replace(/ \(request .*/, '')),
    ['weir: GET /reset/(not shown)/x failed', 'weir: GET /keys/(not shown)/x failed', 'weir: GET /other/x failed'],
  )
})

test('a request whose own route has no secret is shown, whatever other routes declare', async () => {
  const server = new HttpServer({ logger: null })
  server.mapPatch('/files/:id', { id: t.string.secret() }, never)
  server.mapGet('/receipts/:id', { id: t.int }, never)
  server.mapGet('/receipts/:id/pdf', { id: t.int.secret() }, never)
  const { target, path, arguments: args } = await server.explain('/receipts/7')
  assert.deepEqual([target, path, args[0]?.received], ['/receipts/7', '/receipts/7', '7'])
  assert.equal((await server.explain('/receipts/7/pdf')).path, '/receipts/(not shown)/pdf')
})
