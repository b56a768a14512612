// Both notations of a controller check the arguments of its methods. Only tsc runs this file.

import { Controller, HttpServer, type HttpSession, Route, routes, t } from '../../src/index.ts'

/** A type without an index signature. */
interface Access {
  readonly role: string
}
const access: Access = { role: 'admin' }

@Route('/user')
export class Decorated extends Controller {
  @Route('GET', '/:id', { id: t.int, active: t.bool.default(false), tag: t.string.optional() })
  show({ id, active, tag = 'none' }: { id: number; active: boolean; tag?: string }, session: HttpSession) {
    return { id: id.toFixed(), active: active === true, tag: tag.length, path: session.request.path }
  }

  @Route('/any/:name')
  any({ name }: { name: string }) {
    return name
  }

  @Route('POST', '/save')
  save() {
    return this.request.body
  }

  @Route('GET', '/a')
  @Route('GET', '/b', { metadata: { anonymous: true }, host: 'a.example' })
  @Route('GET', '/c', { metadata: access })
  // @ts-expect-error not an object
  @Route('GET', '/d', { metadata: 'admin' })
  twice() {}

  // @ts-expect-error the route passes a number
  @Route('GET', '/wrong/:id', { id: t.int })
  wrong({ id }: { id: string }) {
    return id
  }

  // @ts-expect-error the template has no such parameter
  @Route('GET', '/missing/:id')
  missing({ name }: { name: string }) {
    return name
  }

  // @ts-expect-error a method receives the session after its arguments, and nothing else
  @Route('GET', '/counted')
  counted(_: object, count: number) {
    return count
  }

  // @ts-expect-error neither an option nor a schema
  @Route('GET', '/option', { boby: 'stream' })
  option() {}
}

export class Tabled extends Controller {
  static routes = routes(this, {
    prefix: '/user',
    show: ['GET', '/:id', { id: t.int, active: t.bool.default(false) }],
    any: ['/any/:name'],
    save: ['POST', '/save', { body: 'stream' }],
    twice: [
      ['GET', '/a'],
      ['GET', '/b', { metadata: { anonymous: true } }],
      ['GET', '/c', { metadata: access }],
    ],
  })

  show({ id, active }: { id: number; active: boolean }) {
    return { id: id.toFixed(), active }
  }

  any({ name }: { name: string }) {
    return name
  }

  save() {
    return this.request.body
  }

  twice() {}
}

export class WrongTable extends Controller {
  static routes = routes(this, {
    // @ts-expect-error the route passes a number
    show: ['GET', '/:id', { id: t.int }],
    // @ts-expect-error a method receives the session after its arguments, and nothing else
    counted: ['GET', '/counted'],
    // @ts-expect-error a method receives nothing after the session
    more: ['GET', '/more'],
    // @ts-expect-error no such method
    nothing: ['GET', '/nothing'],
    // @ts-expect-error neither an option nor a schema
    save: ['POST', '/save', { boby: 'stream' }],
  })

  show({ id }: { id: string }) {
    return id
  }

  counted(_: object, count: number) {
    return count
  }

  more(_: object, session: HttpSession, more: string) {
    return more + session.requestId
  }

  save() {}
}

const server = new HttpServer()
server.mapGet('/hello/:name', ({ name }, session) => name.toUpperCase() + session.request.method)
server.mapGet('/x/:id/*rest', { id: t.int, page: t.int.optional(), body: 'buffer' }, ({ id, rest, page = 1 }) => [
  id.toFixed(),
  rest.length,
  page.toFixed(),
])
// @ts-expect-error the template has no such parameter
server.mapGet('/hello/:name', ({ nmae }) => nmae)
server.map('PURGE', '/cache/*key', ({ key }) => key.length)
server.map(null, '/any', () => undefined)
server.mapController(Decorated, '/api').mapControllers([Tabled], '/api', { create: (Class) => new Class() })

abstract class Listing extends Controller {
  static routes = routes(this, { list: ['GET', '/'] })
  abstract list(): readonly string[]
}
server.mapControllers(Listing, '/lists', { exclude: [Listing] })
// @ts-expect-error it cannot be instantiated
server.mapController(Listing)

class Greeter extends Controller {
  static routes = routes(this, { greet: ['GET', '/greet'] })
  readonly #greeting: string

  constructor(greeting: string) {
    super()
    this.#greeting = greeting
  }

  greet() {
    return this.#greeting
  }
}
const create = () => new Greeter('hello')
server.mapController(Greeter, '/a', { create }).mapControllers([Greeter, Tabled], '/b', { create }).mapControllers(Controller, '/c')
// @ts-expect-error its constructor needs an argument
server.mapController(Greeter)
// @ts-expect-error its constructor needs an argument
server.mapController(Greeter, '', { exclude: [] })
// @ts-expect-error the constructor of one of them needs an argument
server.mapControllers([Greeter, Tabled], '/a')
