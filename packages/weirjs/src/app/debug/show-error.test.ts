import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedExchange, askedHead, tableOf } from '../../../test/support/asked.ts'
import { WeirError } from '../../base/errors.ts'
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS } from '../../base/limits.ts'
import { t } from '../../schema/t.ts'
import { showError } from './show-error.ts'

const routes = tableOf({ 'GET /reset/:token': { token: t.string.secret() }, 'GET /users/:id': {}, 'POST /users': {}, 'PUT /customers': {} })
const server = { routes, limits: DEFAULT_LIMITS, timeouts: DEFAULT_TIMEOUTS, hostsAt: () => null }

async function shown(status: number, line: string, ...fields: string[]) {
  return showAs('CODE', status, line, ...fields)
}

async function showAs(code: string, status: number, line: string, ...fields: string[]) {
  const head = askedHead(line, ...fields)
  const exchange = askedExchange(head, routes.find(head, null))
  exchange.failure = code === 'WEIR_ROUTE_NOT_FOUND' ? new WeirError(code) : new Error('<b>bug</b>')
  const problem = { title: 'Title', status, code, detail: '<i>detail</i>' }
  exchange.own.sendProblem(problem)
  const response = await showError(server, exchange, exchange.own, problem)
  assert.ok(response.content.kind === 'text')
  return { response, text: response.content.text }
}

test('a browser gets a page in which nothing of the error is markup', async () => {
  const { response, text } = await shown(500, 'GET /reset/Zq7canary?a=1', 'Accept: text/html', 'Cookie: c=Zq7canary')
  assert.match(text, /^<!doctype html>/)
  assert.match(text, /&lt;i&gt;detail&lt;\/i&gt;/)
  assert.doesNotMatch(text, /<b>bug|<i>detail|Zq7canary/)
  assert.deepEqual(
    [response.getHeader('Content-Type'), response.getHeader('Vary'), response.getHeader('Cache-Control')],
    ['text/html; charset=utf-8', 'Accept', 'no-store'],
  )
  assert.match(response.getHeader('Content-Security-Policy') ?? '', /^default-src 'none'; style-src 'sha256-/)
})

test('others get the document, with an explanation where the routes may be the reason', async () => {
  const explained = await shown(404, 'GET /other')
  assert.equal((JSON.parse(explained.text) as { explanation: { path: string } }).explanation.path, '/other')
  const own = await shown(500, 'GET /other', 'Accept: application/json')
  assert.doesNotMatch(own.text, /explanation/)
  assert.equal(own.response.getHeader('Vary'), 'Accept')
})

test('a path that is nearly one of a route gets the question whether that was meant', async () => {
  for (const [line, meant] of [
    ['GET /user/5', ': did you mean GET /users/:id?'],
    ['POST /Users', ': did you mean POST /users?'],
    ['POST /users/', ': did you mean POST /users?'],
    ['PUT /custommers', ': did you mean PUT /customers?'],
    ['POST /user/5', ''], // that route is for another method
    ['GET /orders', ''],
    ['GET /reset', ''],
  ] as const) {
    const { text } = await showAs('WEIR_ROUTE_NOT_FOUND', 404, line)
    assert.equal((JSON.parse(text) as { detail: string }).detail, `no route matches this path${meant}`, line)
    assert.equal((await showAs('WEIR_ROUTE_NOT_FOUND', 404, line, 'Accept: text/html')).text.includes('did you mean'), meant !== '', line)
  }
})
