import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedHead, CONNECTION, routeOf, tableOf } from '../../../test/support/asked.ts'
import { WeirError } from '../../base/errors.ts'
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS } from '../../base/limits.ts'
import { text } from '../../http/body/plain-body.ts'
import { t } from '../../schema/t.ts'
import { checkPolicy } from '../policies/policy.ts'
import { explain, explainRefusedHead } from './explain.ts'
import { factsOf } from './explanation-text.ts'

const gate = (): void => {}
const table = tableOf({})
table.root.use(checkPolicy('', { name: 'auth', gate }))
table.add(
  routeOf(table, 'POST /a', {
    q: t.int.default(1),
    body: t.int,
    use: [{ name: 'auth' }, { name: 'own', gate, beforeSend: () => {} }],
    answers: { 201: t.int, 202: text(), 204: null },
    requestTimeout: 5,
  }),
)
table.root.beforeSend(function stamp() {})
table.addFallbacks([routeOf(table, '* /pages/*rest')])
const server = { routes: table, limits: DEFAULT_LIMITS, timeouts: DEFAULT_TIMEOUTS, hostsAt: () => null }

function facts(line: string, ...fields: string[]): Record<string, readonly string[]> {
  const asked = {
    head: askedHead(line, ...fields),
    connection: CONNECTION,
    refusal: null,
    otherMethods: [],
    content: null,
    application: null,
  }
  return Object.fromEntries(factsOf(explain(server, asked, null)))
}

test('policies with what they replace, the body, answers and limits', () => {
  const {
    policies,
    body,
    answers,
    limits,
    arguments: args,
  } = facts('POST /a', 'Content-Type: application/json', 'Transfer-Encoding: chunked')
  assert.deepEqual(policies, [
    "auth (route, in place of the server's): nothing",
    'own (route): gate, beforeSend',
    'stamp (server): beforeSend',
  ])
  assert.deepEqual(body, ['buffer, application/json, of unknown length; accepts application/json'])
  assert.deepEqual(answers, ['201 with JSON, 202 with text, 204 without a body'])
  assert.deepEqual(limits, ['maxRequestBodySize 10 MiB (default)', 'requestTimeout 5 ms (route)'])
  assert.deepEqual(args, ['q from the query: a whole number; received nothing, default', 'body: a whole number, required'])
})

test('what is allowed where no route has the method, and what a fallback is', () => {
  assert.deepEqual([facts('GET /a')['allow'], facts('GET /a')['route']], [['OPTIONS, POST'], ['none']])
  assert.deepEqual(facts('GET /pages/x')['route'], ['fallback /pages/*rest'])
})

test('of a refused head, only the response', () => {
  const refused = explainRefusedHead(server, 'GET', '/', new WeirError('WEIR_HOST_SYNTAX'), CONNECTION)
  assert.deepEqual(
    factsOf(refused).map(([title]) => title),
    ['response'],
  )
})
