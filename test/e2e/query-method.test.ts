// QUERY (RFC 10008) from clients that are not ours.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Client, fetch as undiciFetch } from 'undici'

import { curl, noCurl } from '../../packages/weirjs/test/support/curl.ts'
import { startDemo } from '../../packages/weirjs/test/support/demo.ts'

const searchable = (t: Parameters<typeof startDemo>[0]): ReturnType<typeof startDemo> =>
  startDemo(t, {}, (server) => {
    server.mapQuery('/people', (_, { request }) => {
      const query = { name: '', limit: 10 }
      return request.bodyMapAnonymous(query) ? [query] : null
    })
  })

const ASKED = JSON.stringify({ name: 'Ada' })
const FOUND = [{ name: 'Ada', limit: 10 }]
const INIT = { method: 'QUERY', headers: { 'Content-Type': 'application/json' }, body: ASKED }

test('fetch of Node and of undici', async (t) => {
  const { origin } = await searchable(t)
  assert.deepEqual(await (await fetch(`${origin}/people`, INIT)).json(), FOUND)
  assert.deepEqual(await (await undiciFetch(`${origin}/people`, INIT)).json(), FOUND)
  const untyped = await fetch(`${origin}/people`, { method: 'QUERY', body: new Uint8Array([1]) })
  assert.deepEqual([untyped.status, untyped.headers.get('accept-query')], [400, '*/*'])
})

test('requests of undici, several on one connection', async (t) => {
  const { origin } = await searchable(t)
  const client = new Client(origin, { pipelining: 3 })
  t.after(() => client.destroy())
  const { headers, body } = INIT
  const responses = await Promise.all(
    Array.from({ length: 6 }, async () => (await client.request({ method: 'QUERY', path: '/people', headers, body })).body.json()),
  )
  assert.deepEqual(responses, Array(6).fill(FOUND))
})

test('curl, with JSON, a form and a stream', { skip: noCurl }, async (t) => {
  const { origin } = await searchable(t)
  const query = ['-X', 'QUERY', `${origin}/people`]
  const json = ['-H', 'Content-Type: application/json']
  assert.deepEqual(JSON.parse((await curl([...query, ...json, '-d', ASKED])).response.text), FOUND)
  assert.deepEqual(JSON.parse((await curl([...query, '-d', 'name=Ada'])).response.text), FOUND)
  const streamed = await curl([...query, ...json, '-T', '-'], Buffer.from(ASKED))
  assert.deepEqual(JSON.parse(streamed.response.text), FOUND)
  const options = await curl(['-X', 'OPTIONS', `${origin}/people`])
  assert.deepEqual([options.response.header('allow'), options.response.header('accept-query')], ['OPTIONS, QUERY', '*/*'])
})
