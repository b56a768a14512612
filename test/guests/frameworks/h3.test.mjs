// H3: its `fetch`, and its handler for node:http.
import assert from 'node:assert/strict'

import { createEventStream, getCookie, getRequestIP, getValidatedQuery, H3, HTTPError, readBody, setCookie } from 'h3'
import { toNodeHandler } from 'h3/node'
import { z } from 'zod'

import { inPieces, multipart } from '../support/client.mjs'
import { guest } from '../support/guest.mjs'

function makeApp() {
  let left = 0
  return new H3({ silent: true })
    .use((event) => {
      event.res.headers.set('x-used', 'yes')
    })
    .get('/users/:id', (event) => {
      const seen = getCookie(event, 'seen') ?? null
      setCookie(event, 'seen', event.context.params.id)
      return { id: event.context.params.id, seen }
    })
    .get('/query', async (event) => getValidatedQuery(event, z.object({ n: z.coerce.number() })))
    .get('/ip', (event) => ({ ip: getRequestIP(event) ?? null }))
    .post('/echo', async (event) => {
      event.res.status = 201
      return readBody(event)
    })
    .post('/form', async (event) => {
      const form = await event.req.formData()
      return { title: form.get('title'), size: form.get('photo').size }
    })
    .post('/pipe', (event) => event.req.body)
    .get('/events', (event) => {
      const stream = createEventStream(event)
      stream.push({ event: 'tick', data: '1', id: '1' })
      if (event.url.searchParams.has('end')) setTimeout(() => stream.close(), 10)
      stream.onClosed(() => left++)
      return stream.send()
    })
    .get('/left', () => ({ left }))
    .get('/web', () => new Response('a Response', { status: 203 }))
    .get('/fails', () => {
      throw new HTTPError({ status: 409, message: 'taken', data: { a: 1 } })
    })
    .get('/throws', () => {
      throw new Error('secret')
    })
}

async function drive({ get, post, open }) {
  assert.deepEqual((await get('/users/7', { cookies: true })).json(), { id: '7', seen: null })
  assert.deepEqual((await get('/users/8', { cookies: true })).json(), { id: '8', seen: '7' })
  assert.deepEqual((await get('/query?n=4')).json(), { n: 4 })
  assert.equal((await get('/query?n=x')).status, 400)
  const echoed = await post('/echo', { a: 'ü' })
  assert.deepEqual([echoed.status, echoed.json(), echoed.header('x-used')], [201, { a: 'ü' }, 'yes'])
  const { body, headers } = multipart([
    ['title', 'ü'],
    ['photo', Buffer.alloc(100_000, 'x'), 'a.png', 'image/png'],
  ])
  assert.deepEqual((await post('/form', body, { headers })).json(), { title: 'ü', size: 100_000 })
  assert.equal((await post('/pipe', inPieces(Buffer.alloc(1_000_000), 50_000))).bytes.length, 1_000_000)
  assert.equal((await get('/events?end=1')).text, 'id: 1\nevent: tick\ndata: 1\n\n')
  const before = (await get('/left', { hidden: true })).json().left
  const stream = open('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await stream.read('data: 1')
  stream.leave()
  let left = before
  for (let i = 0; i < 500 && left === before; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    left = (await get('/left', { hidden: true })).json().left
  }
  assert.ok(left > before, 'the stream was not closed')
  assert.equal((await get('/web')).status, 203)
  assert.deepEqual((await get('/fails')).json().data, { a: 1 })
  assert.equal((await get('/throws')).status, 500)
  assert.equal((await get('/none')).status, 404)
}

const driven = 'routes, cookies, validation, JSON, forms, a piped body, server-sent events that the client leaves, a Response, errors'

guest('H3 by Fetch', {
  kind: 'framework',
  packages: ['h3'],
  driven,
  app: () => {
    const app = makeApp()
    return { fetch: (request) => app.fetch(request) }
  },
  drive,
})

guest('H3 by toNodeHandler', {
  measured: '/users/7',
  kind: 'framework',
  packages: ['h3'],
  driven: `${driven}, the address of the client`,
  app: () => toNodeHandler(makeApp()),
  async drive(client) {
    await drive(client)
    assert.deepEqual((await client.get('/ip')).json(), { ip: '127.0.0.1' })
  },
})
