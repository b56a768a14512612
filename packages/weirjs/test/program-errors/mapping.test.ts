// Routes that cannot be mapped: each throws when it is mapped, and nothing of it is mapped. And pairs that look alike, but are valid.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Controller, Field, HttpServer, Route, routes, t } from '../../src/index.ts'
import { texts } from '../support/texts.ts'

const quiet = { logger: null }

@Route('/decorated')
class Decorated extends Controller {
  @Route('GET', '/:id')
  show() {
    return 'shown'
  }
}

class Tabled extends Controller {
  static routes = routes(this, {
    prefix: '/table',
    show: ['GET', '/:id'],
    add: [
      ['GET', '/one'],
      ['POST', '/one'],
    ],
    any: ['/any'],
    outside: ['GET', '/outside', { absolute: true }],
  })
  show() {
    return 'shown'
  }
  add() {
    return 'added'
  }
  any() {
    return 'any'
  }
  outside() {
    return 'outside'
  }
}

const mistakes: [what: string, code: string, map: (server: HttpServer) => unknown][] = [
  ['the same path and method twice', 'WEIR_ROUTE_CLASH', (s) => s.mapGet('/a', () => 1).mapGet('/a', () => 2)],
  ['parameters that differ in name only', 'WEIR_ROUTE_CLASH', (s) => s.mapGet('/:a', () => 1).mapGet('/:b', () => 2)],
  ['the same text in another encoding', 'WEIR_ROUTE_CLASH', (s) => s.mapGet('/gr%C3%BCn', () => 1).mapGet('/grün', () => 2)],
  ['any method twice', 'WEIR_ROUTE_CLASH', (s) => s.map(null, '/a', () => 1).map(null, '/a', () => 2)],
  [
    'hosts that differ in case only',
    'WEIR_ROUTE_CLASH',
    (s) => s.mapGet('/', { host: 'A.b' }, () => 1).mapGet('/', { host: 'a.B' }, () => 2),
  ],
  ['a controller mapped twice', 'WEIR_ROUTE_CLASH', (s) => s.mapController(Decorated).mapController(Decorated)],
  ['a path without a slash', 'WEIR_ROUTE_TEMPLATE', (s) => s.mapGet('a', () => 1)],
  ['an empty segment', 'WEIR_ROUTE_TEMPLATE', (s) => s.mapGet('/a//b', () => 1)],
  ['two parameters of one name', 'WEIR_ROUTE_TEMPLATE', (s) => s.mapGet('/:a/:a', () => 1)],
  ['a rest that is not last', 'WEIR_ROUTE_TEMPLATE', (s) => s.mapGet('/*a/b', () => 1)],
  ['a parameter without a name', 'WEIR_ROUTE_TEMPLATE', (s) => s.mapGet('/:', () => 1)],
  ['a parameter __proto__', 'WEIR_ROUTE_TEMPLATE', (s) => s.mapGet('/:__proto__', () => 1)],
  ['a method that is not a token', 'WEIR_ROUTE_DECLARATION', (s) => s.map('GE T', '/', () => 1)],
  ['no handler', 'WEIR_ROUTE_DECLARATION', (s) => s.mapGet('/', undefined as unknown as () => 1)],
  [
    'a declaration that is neither schema nor option',
    'WEIR_ROUTE_DECLARATION',
    (s) => s.mapGet('/', { boby: 'stream' } as object, () => 1),
  ],
  ['an invalid host', 'WEIR_ROUTE_DECLARATION', (s) => s.mapGet('/', { host: 'a b' }, () => 1)],
  ['an invalid body mode', 'WEIR_ROUTE_DECLARATION', (s) => s.mapGet('/', { body: 'x' as 'stream' }, () => 1)],
  ['an invalid body size', 'WEIR_ROUTE_DECLARATION', (s) => s.mapGet('/', { maxRequestBodySize: -1 }, () => 1)],
  ['a controller without routes', 'WEIR_ROUTE_DECLARATION', (s) => s.mapController(class extends Controller {})],
]
for (const [what, code, map] of mistakes) {
  test(`mapping ${what} throws ${code}`, () => {
    assert.throws(() => map(new HttpServer(quiet)), { code })
  })
}

test('a clash names the handlers of the routes', () => {
  const server = new HttpServer(quiet).mapGet('/table/one', () => 'mine').mapPut('/table/one', () => 'mine')
  assert.throws(() => server.mapController(Tabled), { message: /\(inline\) at .*mapping.* and .* \(Tabled\.\w+\) at .*mapping/ })
})

test('legacy decorators are distinguished from standard ones', () => {
  const [onMethod, onClass, onField] = [Route('GET', '/'), Route('/'), Field(t.int)] as unknown as ((...args: unknown[]) => void)[]
  const said = /experimentalDecorators/
  assert.throws(() => onMethod!(Decorated.prototype, 'show', {}), { code: 'WEIR_ROUTE_DECLARATION', message: said })
  assert.throws(() => onClass!(Decorated), { code: 'WEIR_ROUTE_DECLARATION', message: said })
  assert.throws(() => onField!({}, 'age'), { name: 'TypeError', message: said })
})

// Otherwise, a host program that catches the error would serve half a controller.
test('a mapping that throws maps nothing of a controller', async () => {
  const server = new HttpServer(quiet).mapGet('/table/any', () => 'mine').map('PUT', '/table/one', () => 'mine')
  server.map(null, '/outside', () => 'mine').mapGet('/outside', () => 'clash')
  const before = server.routes.length
  assert.throws(() => server.mapController(Tabled), { code: 'WEIR_ROUTE_CLASH' })
  assert.equal(server.routes.length, before)
  assert.deepEqual(await texts(server, '/table/5'), ['404'])
})

test('a method in the wrong case is refused, with the right one', async () => {
  class Decorated extends Controller {
    @Route('get', '/')
    show(): string {
      return ''
    }
  }
  class Tabled extends Controller {
    static routes = routes(this, { show: ['Post', '/'] })
    show(): string {
      return ''
    }
  }
  const server = new HttpServer(quiet)
  const refused = (spelling: string): object => ({
    code: 'WEIR_ROUTE_DECLARATION',
    message: new RegExp(`case-sensitive, write "${spelling}"`),
  })
  assert.throws(() => server.map('get', '/', () => ''), refused('GET'))
  assert.throws(() => server.map('oPTIONS', '/', () => ''), refused('OPTIONS'))
  assert.throws(() => server.mapController(Decorated), refused('GET'))
  assert.throws(() => server.mapController(Tabled), refused('POST'))
  assert.throws(() => server.map(undefined as never, '/', () => ''), {
    code: 'WEIR_ROUTE_DECLARATION',
    message: /undefined is not a method/,
  })
  assert.deepEqual(server.routes, [])
  // A custom method may have any case, and is matched by it.
  server.map('purge', '/', () => 'purged')
  assert.equal((await server.inject({ method: 'purge', url: '/' })).text(), 'purged')
  assert.equal((await server.inject({ method: 'PURGE', url: '/' })).status, 405)
})

const fine: [what: string, map: (server: HttpServer) => unknown][] = [
  ['one path with several methods', (s) => s.mapGet('/a', () => 1).mapPost('/a', () => 2)],
  ['any method in addition to a method', (s) => s.mapGet('/a', () => 1).map(null, '/a', () => 2)],
  [
    'one path for several hosts',
    (s) =>
      s
        .mapGet('/', { host: 'a.b' }, () => 1)
        .mapGet('/', { host: '*.b' }, () => 1)
        .mapGet('/', () => 1),
  ],
  [
    'a parameter next to text and a rest',
    (s) =>
      s
        .mapGet('/a', () => 1)
        .mapGet('/:a', () => 2)
        .mapGet('/*a', () => 3),
  ],
]
for (const [what, map] of fine) {
  test(`mapping ${what} is fine`, () => {
    map(new HttpServer(quiet))
  })
}
