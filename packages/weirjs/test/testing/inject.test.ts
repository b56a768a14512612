// What inject() can send, and how long it waits.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'

const quiet = { logger: null }

test('inject accepts forms and other kinds of headers, returns large responses, and can stop waiting', async () => {
  const server = new HttpServer(quiet)
  server.mapPost('/', async (_, { request }) => {
    const form = await request.bodyMultipart()
    return form === null ? request.bodyForm() : { title: form.fields.get('title'), type: request.header('x') }
  })
  server.mapGet('/large', async function* () {
    for (let i = 0; i < 20_000; i++) yield Buffer.alloc(1_000, 'x')
  })
  server.mapGet('/endless', async function* (_, { signal }) {
    for (;;) {
      yield 'x'
      await new Promise((resolve) => setTimeout(resolve, 1))
      if (signal.aborted) return
    }
  })
  const form = new FormData()
  form.set('title', 'T')
  assert.deepEqual((await server.inject({ method: 'POST', url: '/', body: form, headers: { x: 3 } })).json(), { title: 'T', type: '3' })
  assert.deepEqual(
    (await server.inject({ method: 'POST', url: '/', body: new URLSearchParams({ a: 'b' }), headers: new Headers() })).json(),
    {
      a: 'b',
    },
  )
  const pairs = [
    ['x', 'a'],
    ['x', 3],
  ] as const
  for (const headers of [pairs, new Map([['x', 'a, 3']])]) {
    assert.deepEqual((await server.inject({ method: 'POST', url: '/', body: form, headers })).json(), { title: 'T', type: 'a, 3' })
  }
  assert.equal((await server.inject('/large')).body.length, 20_000_000)
  const reason = new Error('enough')
  await assert.rejects(server.inject({ url: '/endless', signal: AbortSignal.abort(reason) }), reason)
  const controller = new AbortController()
  setTimeout(() => controller.abort(reason), 20)
  await assert.rejects(server.inject({ url: '/endless', signal: controller.signal }), reason)
})
