import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedExchange, askedRequest, tableOf } from '../../../test/support/asked.ts'
import { Controller } from './controller.ts'
import { classesOf, routesOfController } from './mapping.ts'
import { declareOnClass, declareTable } from './routed.ts'

class Shop extends Controller {
  readonly #name: string
  constructor(name = 'shop') {
    super()
    this.#name = name
  }
  show(): string {
    return `${this.#name} ${this.request.url}`
  }
}
const entry = (path: string, declaration: object = {}) => ({ method: 'GET', path, declaration })
declareTable(
  Shop,
  { prefix: '/shop', declaration: { tags: ['shop'] } },
  new Map([['show', [entry('/:id'), entry('/top', { absolute: true })]]]),
)

const { root } = tableOf({})

test('the path is that of the mount, the class and the method; an absolute one leaves out the class', () => {
  const routes = routesOfController(root, Shop, '/api', {})
  assert.deepEqual(
    routes.map(({ label, source, scope }) => [label, source, scope.tags]),
    [
      ['GET /api/shop/:id', 'Shop.show', ['shop']],
      ['GET /api/top', 'Shop.show', ['shop']],
    ],
  )
})

test('each request has its own instance, made as the options say', () => {
  const run = (options: object): unknown => {
    const [route] = routesOfController(root, Shop, '', options)
    const exchange = askedExchange()
    return route!.run(exchange.session, askedRequest(exchange.head, { route: route!, values: ['7'] }), ['7'])
  }
  assert.equal(run({}), 'shop /')
  assert.equal(run({ create: () => new Shop('own') }), 'own /')
})

test('a base class adds its options around those of a class that derives from it', () => {
  class Inner extends Shop {}
  declareOnClass(Inner, { prefix: '/inner', declaration: { tags: ['inner'] } })
  const [route] = routesOfController(root, Inner, '', {})
  assert.deepEqual([route?.label, route?.scope.tags], ['GET /inner/:id', ['shop', 'inner']])
})

test('refuses what is not a controller with routes', () => {
  class Empty extends Controller {}
  class Odd extends Controller {
    static routes = {}
  }
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [Empty, /Empty has no routes$/],
    [Odd, /Odd has no routes: its "static routes" was not made by routes/],
    [class Other {}, /not Other, which does not extend Controller/],
    [new Shop(), /only a class that extends Controller can be mapped, not/],
  ]
  for (const [Class, message] of cases)
    assert.throws(() => routesOfController(root, Class as never, '', {}), { code: 'WEIR_ROUTE_DECLARATION', message })
})

test('the classes are those of the list, or the routed ones below a base class, without those to exclude', () => {
  class Mine extends Shop {}
  declareOnClass(Mine, { prefix: '', declaration: {} })
  assert.deepEqual(classesOf([Shop, Mine], [Mine]), [Shop])
  assert.ok(classesOf(Shop, []).includes(Mine))
  assert.ok(!classesOf(Shop, [Mine]).includes(Mine))
  assert.throws(() => classesOf(null as never, []), { code: 'WEIR_ROUTE_DECLARATION' })
})
