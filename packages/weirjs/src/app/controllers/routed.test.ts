import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Controller } from './controller.ts'
import { declaredClasses, declareOnClass, declareOnMethod, declareTable, prefixOf, routedSubclasses, routesOf } from './routed.ts'

const entry = (path: string) => ({ method: 'GET', path, declaration: {} })

class Base extends Controller {
  show(): void {}
  list(): void {}
}
class Derived extends Base {
  override show(): void {}
  own(): void {}
}
class Replaced extends Base {
  override list(): void {}
}
declareOnMethod(Base.prototype.show, entry('/second'))
declareOnMethod(Base.prototype.show, entry('/first'))
declareOnMethod(Base.prototype.list, entry('/list'))
declareOnMethod(Derived.prototype.own, entry('/own'))
declareOnMethod(Replaced.prototype.list, entry('/replaced'))
declareOnClass(Base, { prefix: '/base', declaration: {} })
declareOnClass(Derived, { prefix: '/derived', declaration: {} })

const pathsOf = (Class: typeof Controller): object =>
  Object.fromEntries([...routesOf(Class)].map(([name, routes]) => [name, routes.map(({ path }) => path)]))

test('a method keeps the routes of the one that it overrides, unless it declares its own', () => {
  assert.deepEqual(pathsOf(Derived), { own: ['/own'], show: ['/first', '/second'], list: ['/list'] })
  assert.deepEqual(pathsOf(Replaced), { list: ['/replaced'], show: ['/first', '/second'] })
})

test('a table comes before decorators', () => {
  class Tabled extends Base {}
  declareTable(Tabled, { prefix: '', declaration: {} }, new Map([['show', [entry('/table')]]]))
  assert.deepEqual(pathsOf(Tabled), { show: ['/table'], list: ['/list'] })
})

test('the prefix is that of the class, or the nearest inherited one', () => {
  assert.deepEqual([prefixOf(Derived), prefixOf(Replaced), prefixOf(Controller)], ['/derived', '/base', ''])
  assert.deepEqual(
    declaredClasses(Derived).map(({ name }) => name),
    ['Base', 'Derived'],
  )
})

test('routed subclasses are those that were declared', () => {
  assert.deepEqual(routedSubclasses(Base).slice(0, 2), [Base, Derived])
  assert.ok(!routedSubclasses(Base).includes(Replaced))
  assert.ok(!routedSubclasses(Derived).includes(Base))
})
