// weir's own objects in a JSON response: collections are records of names and values; a request, session, response or server is refused.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { HttpResponse, HttpServer, type HttpSession } from '../../src/index.ts'
import { encodeForm, FORM_FIELD } from '../support/forms.ts'

const FORM_TYPE = FORM_FIELD.slice('Content-Type: '.length).trim()

async function resultOf(make: (session: HttpSession) => unknown): Promise<{ status: number; text: string; logged: string }> {
  const logged: unknown[] = []
  const server = new HttpServer({ logger: { error: (_, detail) => logged.push(detail) } })
  server.mapPost('/:id', (_, session) => make(session))
  const headers: [string, string][] = [
    ['Host', 'a.example'],
    ['Content-Type', FORM_TYPE],
    ['Accept', 'a/b'],
    ['X-Twice', '1'],
    ['x-twice', '2'],
    ['Cookie', 'a=1'],
    ['cookie', 'b=2'],
    ['__proto__', 'p'],
  ]
  const body = encodeForm([
    { name: 'title', content: 'one' },
    { name: 'title', content: 'two' },
    { name: 'file', fileName: 'a.txt', contentType: 'text/plain', content: 'secret content' },
  ])
  const response = await server.inject({ method: 'POST', url: '/7?q=1&q=2&__proto__=x', headers, body })
  return { status: response.status, text: response.text(), logged: String(logged[0] ?? '') }
}

describe('a collection is a record', () => {
  const headers =
    `{"host":"a.example","content-type":"${FORM_TYPE}","accept":"a/b","x-twice":"1, 2","cookie":"a=1; b=2","__proto__":"p",` +
    '"content-length":'
  test('headers, by name in lower case, as header() returns them', async () => {
    const { status, text } = await resultOf(({ request }) => ({ headers: request.headers }))
    assert.deepEqual([status, text.startsWith(`{"headers":${headers}`)], [200, true], text)
  })

  test('headers alone', async () => {
    const { status, text } = await resultOf(({ request }) => request.headers)
    assert.deepEqual([status, text.startsWith(headers)], [200, true], text)
  })

  test('the query, and values of the route', async () => {
    const { text } = await resultOf(({ request }) => ({ query: request.query, route: request.routeValues }))
    assert.equal(text, '{"query":{"q":["1","2"],"__proto__":"x"},"route":{"id":"7"}}')
  })

  test('a form: its fields, and the description of its files, not their content', async () => {
    const { text } = await resultOf(async ({ request }) => ({ form: await request.bodyMultipart() }))
    const file = '{"fieldName":"file","fileName":"a.txt","contentType":"text/plain","length":14}'
    assert.equal(text, `{"form":{"fields":{"title":["one","two"]},"files":[${file}]}}`)
  })
})

describe('an object without a JSON form is a 500 that states it, and nothing of it is sent', () => {
  const rows: [what: string, make: (session: HttpSession) => unknown, said: RegExp][] = [
    ['the request', ({ request }) => request, /a request has no JSON form: send parts of it, such as request\.url/],
    ['a request in an object', ({ request }) => ({ request }), /a request has no JSON form/],
    ['a request deep in a list', ({ request }) => [{ a: [request] }], /a request has no JSON form/],
    ['the session', (session) => session, /a session has no JSON form: send parts of it, such as session\.requestId/],
    ['a session in an object', (session) => ({ ...{ session } }), /a session has no JSON form/],
    ['a session given to json()', (session) => session.response.json({ session }), /a session has no JSON form/],
    [
      'a response in an object',
      ({ response }) => ({ response }),
      /a response has no JSON form: send parts of it, such as response\.statusCode/,
    ],
    ['a response in a list', () => [new HttpResponse().text('a')], /a response has no JSON form/],
    ['a bag', ({ bag }) => bag, /a bag has no JSON form: send parts of it, such as session\.bag\.get\(key\)/],
    ['the server', ({ server }) => server, /a server has no JSON form: send parts of it, such as server\.endpoints/],
    ['a server in an object', ({ server }) => ({ server }), /a server has no JSON form/],
  ]
  for (const [what, make, said] of rows) {
    test(what, async () => {
      const { status, text, logged } = await resultOf(make)
      assert.deepEqual([status, JSON.parse(text)], [500, { title: 'Internal Server Error', status: 500, code: 'WEIR_RESULT_UNSENDABLE' }])
      assert.match(logged, said)
    })
  }
})
