// Controllers: which routes a class has, under which paths, in both notations, and which instance handles a request.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Controller, HttpServer, type HttpSession, Route, routes, t } from '../../src/index.ts'
import { texts } from '../support/texts.ts'

const quiet = { logger: null }

@Route('/deco')
class Decorated extends Controller {
  @Route('GET', '/:id', { id: t.int, active: t.bool.default(false) })
  show({ id, active }: { id: number; active: boolean }) {
    return { id, active }
  }

  @Route('GET', '/one')
  @Route('POST', '/two')
  @Route('GET', '/three/:x')
  several() {
    return `${this.request.method} ${this.session.route}`
  }

  @Route('/any')
  any() {
    return this.request.method
  }

  @Route('GET', '/outside', { absolute: true })
  outside() {
    return 'outside'
  }

  @Route('GET', '/host', { host: 'api.example.com' })
  host() {
    return 'api'
  }

  @Route('GET', '')
  root() {
    return 'root'
  }

  @Route('GET', '/session', { metadata: { role: 'admin' } })
  meta(_: object, session: HttpSession) {
    return { same: session === this.session && session.response === this.response, metadata: session.metadata }
  }
}

class Tabled extends Controller {
  static routes = routes(this, {
    prefix: '/table',
    show: ['GET', '/:id', { id: t.int, active: t.bool.default(false) }],
    several: [
      ['GET', '/one'],
      ['POST', '/two'],
      ['GET', '/three/:x'],
    ],
    any: ['/any'],
    outside: ['GET', '/outside', { absolute: true }],
    host: ['GET', '/host', { host: 'api.example.com' }],
    root: ['GET', ''],
    meta: ['GET', '/session', { metadata: { role: 'admin' } }],
  })

  show({ id, active }: { id: number; active: boolean }) {
    return { id, active }
  }
  several() {
    return `${this.request.method} ${this.session.route}`
  }
  any() {
    return this.request.method
  }
  outside() {
    return 'outside'
  }
  host() {
    return 'api'
  }
  root() {
    return 'root'
  }
  meta(_: object, session: HttpSession) {
    return { same: session === this.session && session.response === this.response, metadata: session.metadata }
  }
}

@Route('/base')
class Base extends Controller {
  @Route('GET', '/kept')
  kept() {
    return `kept of ${this.constructor.name}`
  }

  @Route('GET', '/replaced')
  replaced() {
    return 'base'
  }

  @Route('GET', '/moved')
  moved() {
    return 'base'
  }
}

@Route('/derived')
class Derived extends Base {
  override replaced() {
    return `derived over ${super.replaced()}`
  }

  @Route('GET', '/elsewhere')
  override moved() {
    return 'moved'
  }

  @Route('GET', '/own')
  own() {
    return 'own'
  }
}

class Undecorated extends Base {}

class TabledBase extends Controller {
  static routes = routes(this, { prefix: '/tb', kept: ['GET', '/kept'], moved: ['GET', '/moved'] })
  kept() {
    return this.constructor.name
  }
  moved() {
    return 'base'
  }
}
class TabledDerived extends TabledBase {
  static override routes = routes(this, { prefix: '/td', moved: ['GET', '/elsewhere'] })
  override moved() {
    return 'moved'
  }
}

for (const [spelling, Class, prefix] of [
  ['decorators', Decorated, '/deco'],
  ['static table', Tabled, '/table'],
] as const) {
  test(`${spelling}: full path is mapping prefix, controller prefix, handler path`, async () => {
    const server = new HttpServer(quiet).mapController(Class, '/api')
    const got = await texts(server, `/api${prefix}/5`, `/api${prefix}/5?active=true`, `${prefix}/5`, '/5', '/api/5')
    assert.deepEqual(got, ['{"id":5,"active":false}', '{"id":5,"active":true}', '404', '404', '404'])
  })

  test(`${spelling}: an empty handler path is the prefix itself`, async () => {
    assert.deepEqual(await texts(new HttpServer(quiet).mapController(Class), prefix, `${prefix}/`), ['root', '404'])
  })

  test(`${spelling}: one method can have several routes`, async () => {
    const server = new HttpServer(quiet).mapController(Class)
    const got = await texts(server, `${prefix}/one`, { method: 'POST', url: `${prefix}/two` }, `${prefix}/three/x`, {
      method: 'POST',
      url: `${prefix}/one`,
    })
    assert.deepEqual(got, [`GET GET ${prefix}/one`, `POST POST ${prefix}/two`, `GET GET ${prefix}/three/:x`, '405'])
  })

  test(`${spelling}: a route without a method handles any method`, async () => {
    const server = new HttpServer(quiet).mapController(Class)
    const methods = ['GET', 'POST', 'DELETE', 'PURGE', 'OPTIONS']
    assert.deepEqual(await texts(server, ...methods.map((method) => ({ method, url: `${prefix}/any` }))), methods)
  })

  test(`${spelling}: absolute omits the controller's prefix, but not the mapping's`, async () => {
    assert.deepEqual(await texts(new HttpServer(quiet).mapController(Class, '/api'), '/api/outside', `/api${prefix}/outside`), [
      'outside',
      '400',
    ])
  })

  test(`${spelling}: a host route handles only its host`, async () => {
    const server = new HttpServer(quiet).mapController(Class)
    const ask = async (Host: string): Promise<number> => (await server.inject({ url: `${prefix}/host`, headers: { Host } })).status
    assert.deepEqual(
      [await ask('api.example.com'), await ask('API.example.com:8080'), await ask('example.com'), await ask('x.api.example.com')],
      [200, 200, 400, 400],
    )
  })

  test(`${spelling}: session, response and metadata are those of the request`, async () => {
    assert.deepEqual(await texts(new HttpServer(quiet).mapController(Class), `${prefix}/session`), [
      '{"same":true,"metadata":{"role":"admin"}}',
    ])
  })

  test(`${spelling}: both notations list the same routes`, () => {
    const listed = new HttpServer(quiet)
      .mapController(Class)
      .routes.map(({ method, path, host }) => `${method} ${host ?? ''}${path.replace(prefix, '')}`)
    assert.deepEqual(
      listed.sort(),
      [
        'GET /:id',
        'GET /one',
        'GET /outside',
        'GET /session',
        'GET /three/:x',
        'GET ',
        'GET api.example.com/host',
        'POST /two',
        'null /any',
      ].sort(),
    )
  })
}

test('inheritance: inherited routes have the prefix of the mapped class; overridden methods keep theirs unless they declare others', async () => {
  const server = new HttpServer(quiet).mapControllers([Base, Derived])
  assert.deepEqual(await texts(server, '/base/kept', '/base/replaced', '/base/moved', '/base/own'), ['kept of Base', 'base', 'base', '404'])
  const got = await texts(server, '/derived/kept', '/derived/replaced', '/derived/moved', '/derived/elsewhere', '/derived/own')
  assert.deepEqual(got, ['kept of Derived', 'derived over base', '404', 'moved', 'own'])
})

test('inheritance: a class without its own decorators has the routes and the prefix of its base', async () => {
  assert.deepEqual(await texts(new HttpServer(quiet).mapController(Undecorated), '/base/kept'), ['kept of Undecorated'])
})

test('inheritance: a table adds to the table of the base', async () => {
  const server = new HttpServer(quiet).mapController(TabledDerived)
  assert.deepEqual(await texts(server, '/td/kept', '/td/elsewhere', '/td/moved'), ['TabledDerived', 'moved', '404'])
})

test('mapControllers(Controller) maps every routed subclass; exclude omits some', async () => {
  const server = new HttpServer(quiet).mapControllers(Controller, '/all', { exclude: [Decorated, TabledBase] })
  const got = await texts(server, '/all/table/5', '/all/base/kept', '/all/derived/kept', '/all/td/kept', '/all/tb/kept', '/all/deco/5')
  assert.deepEqual(got, ['{"id":5,"active":false}', 'kept of Base', 'kept of Derived', 'TabledDerived', '404', '404'])
})

test('mapControllers(Base) maps Base and its subclasses', async () => {
  assert.deepEqual(await texts(new HttpServer(quiet).mapControllers(Base), '/base/kept', '/derived/kept', '/table/5'), [
    'kept of Base',
    'kept of Derived',
    '404',
  ])
})

test('create makes the instance, so that a constructor receives what it needs', async () => {
  class Greeter extends Controller {
    static routes = routes(this, { prefix: '/greet', greet: ['GET', '/:name'] })
    readonly #greeting: string
    readonly seen = this.request.path
    constructor(greeting: string) {
      super()
      this.#greeting = greeting
    }
    greet({ name }: { name: string }) {
      return `${this.#greeting} ${name} at ${this.seen}`
    }
  }
  const server = new HttpServer(quiet).mapController(Greeter, '', {
    create: (Class, session) => new Class(session.request.header('x') ?? 'Hello'),
  })
  assert.equal((await server.inject('/greet/Ann')).text(), 'Hello Ann at /greet/Ann')
  assert.equal((await server.inject({ url: '/greet/Ann', headers: { X: 'Moin' } })).text(), 'Moin Ann at /greet/Ann')
})

test('each request has its own instance; one instance for two requests is an error', async () => {
  class Counting extends Controller {
    static routes = routes(this, { count: ['GET', '/count'] })
    #calls = 0
    count() {
      return ++this.#calls
    }
  }
  const server = new HttpServer(quiet).mapController(Counting)
  assert.deepEqual(await texts(server, '/count', '/count'), ['1', '1'])
  let shared: Counting | undefined
  const wrong = new HttpServer(quiet).mapController(Counting, '', { create: (Class) => (shared ??= new Class()) })
  assert.deepEqual(await texts(wrong, '/count', '/count'), ['1', '500'])
})

test('a controller created outside a request has no session', () => {
  assert.throws(() => new Decorated().request, { code: 'WEIR_SERVER_STATE' })
})
