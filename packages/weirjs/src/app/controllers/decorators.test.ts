import assert from 'node:assert/strict'
import { test } from 'node:test'

import { t } from '../../schema/t.ts'
import { Controller } from './controller.ts'
import { Route, routes } from './decorators.ts'
import { declaredClasses, prefixOf, routesOf } from './routed.ts'

const decorate = Route as unknown as (...args: unknown[]) => (target: unknown, context: unknown) => void
const context = (kind: string, more: object = {}) => ({
  kind,
  name: 'show',
  static: false,
  private: false,
  addInitializer: () => {},
  metadata: {},
  ...more,
})
const refused = (run: () => unknown, message: RegExp): void => assert.throws(run, { code: 'WEIR_ROUTE_DECLARATION', message })

class Shop extends Controller {
  show(): void {}
  tags(): void {}
}

test('a table declares routes, the prefix and options; a method comes before an option of its name', () => {
  class Own extends Shop {}
  ;(routes as (controller: unknown, table: object) => unknown)(Own, {
    prefix: '/shop',
    metadata: { a: 1 },
    show: ['GET', '/:id', { id: t.int }],
    tags: [['GET', '/tags'], ['/any']],
  })
  assert.equal(prefixOf(Own), '/shop')
  assert.deepEqual(declaredClasses(Own)[0]?.declared.declaration, { metadata: { a: 1 } })
  assert.deepEqual(routesOf(Own).get('tags'), [
    { method: 'GET', path: '/tags', declaration: {} },
    { method: null, path: '/any', declaration: {} },
  ])
})

test('a table is refused where it names nothing', () => {
  const table = (entries: object) => () => (routes as (controller: unknown, table: object) => unknown)(class Own extends Shop {}, entries)
  refused(table({ shwo: ['GET', '/'] }), /Own has no method "shwo"/)
  refused(table({ shwo: '/x' }), /"shwo" of Own is text, not a route/)
  refused(table({ show: { path: '/' } }), /"show" of Own is an object, not a route/)
  refused(table({ show: ['GET'] }), /\["GET"\] has a method and no path/)
  refused(table({ show: ['get'] }), /has a method and no path/)
  refused(table({ maxRequestBodySize: -1 }), /option "maxRequestBodySize" of class Own/)
})

test('a decorator is for a class or a public method', () => {
  refused(() => decorate('GET'), /has a method and no path/)
  refused(() => decorate('GET', '/')(class {}, context('class')), /with a method is on class show/)
  refused(() => decorate('/')(() => {}, context('method', { static: true })), /is on static method show/)
  refused(() => decorate('/')(() => {}, context('method', { private: true })), /is on private method show/)
  refused(() => decorate('/')(undefined, context('field')), /is on field show/)
  refused(() => decorate('/')({}, 'show'), /cannot be used/)
  refused(() => decorate('/', { id: t.int })(class {}, context('class')), /"id" of class show is not an option of a class/)
})

test('without a method, it is a path for any method', () => {
  class Own extends Controller {
    show(): void {}
  }
  decorate('/any')(Own.prototype.show, context('method'))
  decorate('PURGE', '/one', { summary: 'x' })(Own.prototype.show, context('method'))
  assert.deepEqual(routesOf(Own).get('show'), [
    { method: 'PURGE', path: '/one', declaration: { summary: 'x' } },
    { method: null, path: '/any', declaration: {} },
  ])
})
