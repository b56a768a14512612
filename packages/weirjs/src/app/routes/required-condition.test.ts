// Requests that name no version, and handlers that look at none.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedExchange, askedHead, matchOf, routeOf, SERVER, tableOf } from '../../../test/support/asked.ts'
import type { Exchange } from '../../http/exchange.ts'
import { t } from '../../schema/t.ts'
import { header } from './parameter-source.ts'
import { isSafe, REQUIRED_CONDITION } from './required-condition.ts'

const { gate, beforeSend, describe } = REQUIRED_CONDITION

/** @param line `PUT /a` */
function asked(line: string, fields: readonly string[] = [], declaration: object = {}): Exchange {
  const exchange = askedExchange(askedHead(line, ...fields), matchOf(routeOf(tableOf({}), '* /a', declaration)), {
    server: { ...SERVER },
    isTest: true,
  })
  exchange.handler = 'settled'
  return exchange
}

/** Whether the handler's response shows that it compares nothing. */
function isMistake(exchange: Exchange, status = 200): boolean {
  try {
    beforeSend!(exchange.session, exchange.session.response.status(status))
    return false
  } catch (error) {
    assert.match(String(error), /its handler never called precondition\(\)/)
    return true
  }
}

test('methods that change nothing are safe, and any method is not', () => {
  assert.deepEqual(['GET', 'HEAD', 'OPTIONS', 'QUERY', 'TRACE'].map(isSafe), Array(5).fill(true))
  assert.deepEqual(['PUT', 'POST', 'PATCH', 'DELETE', 'get', null].map(isSafe), Array(6).fill(false))
})

test('a change without a condition is refused', () => {
  for (const fields of [[], ['If-None-Match: "v1"'], ['If-Unmodified-Since: Tue, 01 Dec 2026 00:00:00 GMT']])
    assert.throws(() => gate!(asked('PUT /a', fields).session), { code: 'WEIR_CONDITION_REQUIRED' })
  for (const fields of [['If-Match: "v1"'], ['If-Match: *'], ['If-None-Match: *']]) gate!(asked('PUT /a', fields).session)
  gate!(asked('GET /a').session)
})

test('a handler that looked at no version is a mistake', () => {
  assert.equal(isMistake(asked('PUT /a', ['If-Match: "v1"'])), true)
})

test('it is none if nothing was changed, or the handler may have compared itself', () => {
  const fields = ['If-Match: "v1"']
  const changed = (change: (exchange: Exchange) => unknown): Exchange => {
    const exchange = asked('PUT /a', fields)
    change(exchange)
    return exchange
  }
  const cases: Readonly<Record<string, boolean>> = {
    'a refusal': isMistake(asked('PUT /a', fields), 412),
    'a failure': isMistake(changed((exchange) => (exchange.failure = new Error('x')))),
    'an answer before the route': isMistake(changed((exchange) => (exchange.handler = 'due'))),
    precondition: isMistake(changed(({ session }) => session.response.precondition({ etag: '"v1"' }))),
    'the field as read': isMistake(changed(({ request }) => request.header('if-match'))),
    'the request as a standard one': isMistake(changed(({ request }) => request.toWeb())),
    'a parameter': isMistake(asked('PUT /a', fields, { version: header('If-Match', t.string) })),
    'any version': isMistake(asked('PUT /a', ['If-Match: *'])),
    'a method that changes nothing': isMistake(asked('GET /a', fields)),
  }
  for (const [name, found] of Object.entries(cases)) assert.equal(found, false, name)
})

test('documents know both refusals', () => assert.deepEqual(describe!(), { refuses: [412, 428] }))
