// Options of a client and of its calls: header fields, the base, signals, and any `fetch`.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../../src/index.ts'
import { ClientError, client, contract, cookie, events, get, header, post, stream, t, text } from '../../../src/modules/client/index.ts'
import { sse } from '../../../src/modules/sse/index.ts'
import { eventually } from '../../support/serving.ts'

const api = contract({
  echo: get('/echo', { tenant: header('x-tenant', t.string.optional()), theme: cookie('theme', t.string.optional()) }),
  csv: post('/csv', { body: text('text/csv') }),
  ticks: get('/ticks', { answers: { 200: events() } }),
  bytes: get('/bytes', { answers: { 200: stream() } }),
  slow: get('/slow'),
  json: get('/json', { answers: { 200: t.object({ id: t.int }) } }),
})

/** A `fetch` that answers each request in the same way, and keeps the requests. */
function answering(make: () => Response) {
  const requests: Request[] = []
  const fetch = async (request: Request): Promise<Response> => {
    requests.push(request)
    return make()
  }
  return { fetch, requests }
}

test('fields of the client, of parameters and of the call: the last ones win', async () => {
  const { fetch, requests } = answering(() => new Response())
  let token = 0
  const calls = client(api, 'http://a.example/', {
    fetch,
    credentials: 'include',
    headers: async () => ({ Authorization: `Bearer ${++token}`, 'X-Tenant': 'client' }),
  })
  await calls.echo()
  await calls.echo({ tenant: 'parameter', theme: 'dark; blue' })
  await calls.echo({ tenant: 'parameter' }, { headers: { 'X-Tenant': 'call' }, credentials: 'omit' })
  await calls.csv({ body: 'a' }, { headers: { 'Content-Type': 'text/csv; header=present' } })
  assert.deepEqual(
    requests.map(({ headers, credentials }) => [headers.get('authorization'), headers.get('x-tenant'), headers.get('cookie'), credentials]),
    [
      ['Bearer 1', 'client', null, 'include'],
      ['Bearer 2', 'parameter', 'theme=dark%3B%20blue', 'include'],
      ['Bearer 3', 'call', null, 'omit'],
      ['Bearer 4', 'client', null, 'include'],
    ],
  )
  assert.equal(requests[3]?.headers.get('content-type'), 'text/csv; header=present')
})

test('a base may have a path, and neither a query nor a fragment', async () => {
  const { fetch, requests } = answering(() => new Response())
  for (const base of ['http://a.example', 'http://a.example/', 'http://a.example/v1', 'http://a.example/v1/'])
    await client(api, base, { fetch }).echo()
  assert.deepEqual(
    requests.map(({ url }) => url.slice('http://a.example'.length)),
    ['/echo', '/echo', '/v1/echo', '/v1/echo'],
  )
  for (const base of ['http://a.example?x', 'http://a.example/#x']) assert.throws(() => client(api, base), TypeError)
})

test('the global fetch is looked up for each call', async (t) => {
  const before = globalThis.fetch
  t.after(() => {
    globalThis.fetch = before
  })
  const calls = client(api, 'http://a.example')
  globalThis.fetch = async () => new Response('mocked', { headers: { 'Content-Type': 'text/plain' } })
  assert.equal((await calls.echo()).body, 'mocked')
})

test('errors of fetch pass through', async () => {
  const calls = client(api, 'http://a.example', { fetch: () => Promise.reject(new TypeError('fetch failed')) })
  await assert.rejects(calls.echo(), /^TypeError: fetch failed$/)
  await assert.rejects(client(api, 'http://127.0.0.1:1').echo(), TypeError)
})

test('what arrives in place of the declared JSON is an error with it', async () => {
  const asked = async (body: string | null, type: string, status = 200): Promise<unknown> => {
    const { fetch } = answering(() => new Response(body, { status, headers: type === '' ? {} : { 'Content-Type': type } }))
    return client(api, 'http://a.example', { fetch })
      .json()
      .then(
        ({ body }) => body,
        (error) => {
          assert.ok(error instanceof ClientError, String(error))
          return [error.status, error.body]
        },
      )
  }
  assert.deepEqual(await asked('{"id":1}', 'Application/JSON; charset=utf-8'), { id: 1 })
  assert.deepEqual(await asked('{"id":1}', 'application/hal+json'), { id: 1 })
  assert.deepEqual(await asked('<html>', 'text/html'), [200, '<html>'])
  assert.deepEqual(await asked('{"id":', 'application/json'), [200, '{"id":'])
  assert.deepEqual(await asked('', 'application/json'), [200, ''])
  assert.deepEqual(await asked('{"title":"x"}', 'application/problem+json', 500), [500, { title: 'x' }])
  assert.deepEqual(await asked('<html>', 'text/html', 502), [502, '<html>'])
  assert.deepEqual(await asked(null, '', 204), [204, undefined])
  assert.deepEqual(await asked('ab', 'image/png', 418), [418, new Uint8Array([97, 98])])
})

test('an event stream that is not one is an error', async () => {
  const { fetch } = answering(() => new Response('data: 1\n\n', { headers: { 'Content-Type': 'text/html' } }))
  await assert.rejects(client(api, 'http://a.example', { fetch }).ticks(), ClientError)
})

test('a signal aborts a call, and a stream that has begun', async () => {
  const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: null })
  const left: string[] = []
  let isWaiting = false
  server.mapContract(api, {
    echo: () => 1,
    csv: () => 1,
    json: () => ({ id: 1 }),
    slow: (_, { signal }) =>
      new Promise((_, reject) => {
        isWaiting = true
        signal.addEventListener('abort', () => {
          left.push('slow')
          reject(signal.reason)
        })
      }),
    ticks: (_, session) =>
      sse(session, async function* (signal) {
        try {
          for (;;) {
            yield 'tick'
            await new Promise((resolve) => setImmediate(resolve))
            if (signal.aborted) return
          }
        } finally {
          left.push('ticks')
        }
      }),
    bytes: async function* () {
      try {
        for (;;) {
          yield new Uint8Array(1000)
          await new Promise((resolve) => setImmediate(resolve))
        }
      } finally {
        left.push('bytes')
      }
    },
  })
  await server.start()
  const calls = client(api, `http://127.0.0.1:${server.port}`)

  const slow = new AbortController()
  const waiting = calls.slow({}, { signal: slow.signal })
  await eventually(() => isWaiting, 'the request')
  slow.abort(new Error('changed my mind'))
  await assert.rejects(waiting, /changed my mind/)

  const ticks = new AbortController()
  const events = (await calls.ticks({}, { signal: ticks.signal })).body
  assert.equal((await events.next()).done, false)
  ticks.abort()
  await assert.rejects(async () => {
    for await (const _ of events);
  }, /AbortError/)

  for await (const { data } of (await calls.ticks()).body) {
    assert.equal(data, 'tick')
    break
  }

  const bytes = (await calls.bytes()).body
  for await (const _ of bytes) break

  await eventually(() => left.length === 4, 'the handlers learn that the client has left')
  assert.deepEqual(left.sort(), ['bytes', 'slow', 'ticks', 'ticks'])
  await server.stop({ graceMs: 0 })
})
