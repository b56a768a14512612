// What the log says beside an error of a handler.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { routeOf, tableOf } from '../../test/support/asked.ts'
import { WeirError } from '../base/errors.ts'
import { HttpRequest } from '../http/request/request.ts'
import { hintFor } from './error-hints.ts'
import type { Route } from './routes/route.ts'

const ROUTE = mapped()

/** A route that knows the line that maps it, as all do but in production. */
function mapped(): Route {
  const route = routeOf(tableOf({}), 'GET /a')
  route.mappedBy = { stack: 'Error\n    at run (/program/app.js:3:7)' }
  return route
}

/** What code that a handler runs throws. @param code of a function of `it` */
function thrownBy(code: string, it: unknown = {}): unknown {
  try {
    new Function('it', `'use strict'; ${code}`)(it)
  } catch (error) {
    return error
  }
  return assert.fail(`${code} throws nothing`)
}

const HINTED: readonly (readonly [code: string, hint: RegExp, it?: unknown])[] = [
  ['it.send("x")', /return the value, or response\.json/],
  ['it.sendFile("x")', /return the value, or response\.json/],
  ['it.status(200)', /it expects \(req, res\), and a handler gets \(args, session\)/],
  ['it.setHeader("a", "b")', /response\.header\(name, value\) was meant/],
  ['it.headers.set("a", "b")', /response\.header\(name, value\) was meant/],
  ['it.get("a")', /request\.header\(name\) was meant/],
  ['it.a = 1', /update\(\) changes session data/, Object.freeze({ a: 0 })],
  ['it.header("a")', /call it as in request\.header\(name\)/, { header: HttpRequest.prototype.header }],
  ['it.req.params', /it expects a request, and a handler gets/],
]
for (const [code, hint, it] of HINTED)
  test(`${code} has a hint`, () => {
    const found = hintFor(thrownBy(code, it), ROUTE)
    assert.match(found, /^; perhaps /)
    assert.match(found, hint)
  })

test('other errors of the program have none', () => {
  for (const error of [thrownBy('null.x'), thrownBy('it.own()'), new Error('x.send is not a function'), new RangeError('far')])
    assert.equal(hintFor(error, ROUTE), '')
})

test('in production, and without a route, there is none', () => {
  assert.equal(hintFor(thrownBy('it.send()'), null), '')
  assert.equal(hintFor(thrownBy('it.send()'), routeOf(tableOf({}), 'GET /a')), '')
})

test('what is no error has no stack: the route is named', () => {
  for (const thrown of ['text', undefined, { message: 'x' }])
    assert.equal(hintFor(thrown, ROUTE), ', in GET /a (inline) at /program/app.js:3:7: throw an Error, which has a stack')
})

test('an error about a route names it, unless its message or its stack leads to the program', () => {
  const unsendable = (message: string, stack: string) =>
    Object.assign(new WeirError('WEIR_RESULT_UNSENDABLE', message), { stack: `WeirError: x\n${stack}` })
  const [nowhere, program] = ['    at node:internal/x:1:1', '    at handler (/program/app.js:9:1)']
  assert.equal(hintFor(unsendable('x', nowhere), ROUTE), ', in GET /a (inline) at /program/app.js:3:7')
  assert.equal(hintFor(unsendable('x', ''), ROUTE), ', in GET /a (inline) at /program/app.js:3:7')
  assert.equal(hintFor(unsendable('x', program), ROUTE), '')
  assert.equal(hintFor(unsendable(`${ROUTE.place}: x`, nowhere), ROUTE), '')
  assert.equal(hintFor(Object.assign(new WeirError('WEIR_SERVER_STATE', 'x'), { stack: nowhere }), ROUTE), '')
})

test('an error that throws when it is read has none', () => {
  const hostile = Object.defineProperty(new TypeError('x'), 'message', { get: () => assert.fail('read') })
  assert.equal(hintFor(hostile, ROUTE), '')
})
