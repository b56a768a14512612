// request.toWeb(): the request in the form of the Fetch API.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'

const quiet = { logger: null }

test('toWeb has the path that was routed, and refuses what fetch cannot express', async () => {
  const server = new HttpServer(quiet)
  server.map(null, '/*p', (_, { request }) => new URL(request.toWeb().url).pathname)
  assert.equal((await server.inject('/public/a%5Cb')).text(), '/public/a%5Cb')
  assert.equal((await server.inject('/public/..\\..\\admin')).status, 400)
  assert.equal((await server.inject('/public\\admin')).status, 400)
  assert.equal((await server.inject('/public/%5C..%5Cadmin')).status, 400)
  assert.equal((await server.inject({ url: '/x', headers: { Host: 'h:99999' } })).status, 400)
  assert.equal((await server.inject({ url: '/x', method: 'TRACE' })).status, 501)
})
