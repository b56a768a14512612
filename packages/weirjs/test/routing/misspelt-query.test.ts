// A parameter of the query that a route does not declare is ignored. Tests and `debug` tell of one that was probably misspelt.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpError, HttpServer, type Logger, type Policy, t } from '../../src/index.ts'
import { exchange } from '../../src/modules/kit/index.ts'

function noting(): { logger: Logger; warnings: string[] } {
  const warnings: string[] = []
  return { logger: { error: () => {}, warn: (message) => void warnings.push(message) }, warnings }
}

const map = (server: HttpServer): HttpServer =>
  server.mapGet(
    '/list/:id',
    { page: t.int.optional(), pageSize: t.int.default(9), ids: t.array(t.int).default([]), q: t.string.optional() },
    (args) => args,
  )

for (const [query, name, meant] of [
  ['pgae=2', 'pgae', 'page'],
  ['pages=2', 'pages', 'page'],
  ['Page=2', 'Page', 'page'],
  ['page_size=2', 'page_size', 'pageSize'],
  ['pagesize=2', 'pagesize', 'pageSize'],
  ['ids[]=2', 'ids[]', 'ids'],
  ['ids%5B%5D=2', 'ids[]', 'ids'],
  ['Q=2', 'Q', 'q'],
  ['utm_source=x&pgae=2', 'pgae', 'page'],
])
  test(`?${query} is ignored, and a test is told of ${meant}, once`, async () => {
    const { logger, warnings } = noting()
    const server = map(new HttpServer({ logger }))
    for (let i = 0; i < 2; i++) {
      const response = await server.inject(`/list/7?${query}`)
      assert.deepEqual([response.status, response.json()], [200, { id: '7', pageSize: 9, ids: [] }])
    }
    assert.equal(warnings.length, 1)
    const [warning] = warnings
    assert.equal(warning, `weir: GET /list/:id ignores ${JSON.stringify(name)} in the query: did the client mean "${meant}"?`)
  })

for (const query of ['', 'page=2', 'page=2&pgae=3', 'utm_source=x', 'id=7', 'x=1', 'pgae2=1', 'order[]=1', 'pagesizes_=2'])
  test(`of ?${query} there is nothing to tell`, async () => {
    const { logger, warnings } = noting()
    const server = map(new HttpServer({ logger }))
    assert.equal((await server.inject(`/list/7?${query}`)).status, 200)
    assert.deepEqual(warnings, [])
  })

test('a query with more than a thousand parameters is read all the same', async () => {
  const { logger, warnings } = noting()
  const server = map(new HttpServer({ logger }))
  assert.equal((await server.inject(`/list/7?${'x=1&'.repeat(1_500)}pgae=2`)).status, 200)
  assert.equal(warnings.length, 1)
  assert.notEqual((await server.explain(`/list/7?${'x=1&'.repeat(1_500)}`)).route, null)
})

test('with debug, and not in production, the log tells of a misspelt parameter', async () => {
  for (const debug of [true, false]) {
    const { logger, warnings } = noting()
    await using server = map(new HttpServer({ port: 0, logger, debug }))
    await server.start()
    assert.equal((await fetch(`http://127.0.0.1:${server.port}/list/7?pgae=2`)).status, 200)
    assert.equal(warnings.length, debug ? 1 : 0)
  }
})

test('a parameter that is required, and misspelt, is named by the log and by explain', async () => {
  const { logger, warnings } = noting()
  const server = new HttpServer({ logger, debug: true }).mapGet('/trips', { from: t.string }, ({ from }) => from)
  const refused = await server.inject('/trips?form=Rome')
  const { explanation } = refused.json() as { explanation: { arguments: { name: string; misspelt: string | null }[] } }
  assert.deepEqual([refused.status, explanation.arguments.map(({ misspelt }) => misspelt)], [400, ['form']])
  assert.match(warnings.join(), /ignores "form" in the query: did the client mean "from"\?/)
  const text = (await server.explain({ url: '/trips?form=Rome' })).toString()
  assert.match(text, /from from the query: .*received nothing, does not fit: was it meant by "form"\?/)
  assert.doesNotMatch((await server.explain({ url: '/trips?from=Rome&form=x' })).toString(), /meant/)
})

test('a policy can refuse what the route does not declare', async () => {
  const strictQuery: Policy = {
    name: 'strictQuery',
    gate(session) {
      const declared = exchange(session).bindings.filter(({ source }) => source === 'query')
      for (const [name] of session.request.query)
        if (!declared.some((binding) => binding.name === name)) throw new HttpError(400, `There is no parameter "${name}".`)
    },
  }
  const server = map(new HttpServer({ logger: null }).use(strictQuery))
  const statuses = async (query: string): Promise<number> => (await server.inject(`/list/7?${query}`)).status
  assert.deepEqual(
    [await statuses('page=2&ids=1&ids=2'), await statuses('pgae=2'), await statuses('id=7'), await statuses('')],
    [200, 400, 400, 200],
  )
})
