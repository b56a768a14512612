// The URL that a mounted fetch function gets without its prefix is the one that weir has routed on, whatever is in the query.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { mountFetch } from '../../src/node/index.ts'

test('a slash in the query is not one of the path', async () => {
  const server = new HttpServer({ logger: null })
  mountFetch(server, '/api/v1', (request) => new Response(request.url.slice(request.url.indexOf('/', 8))), { stripPrefix: true })
  const seen = async (url: string) => (await server.inject(url)).text()

  assert.equal(await seen('/api/v1?next=/admin/users'), '/?next=/admin/users')
  assert.equal(await seen('/api/v1?/admin'), '/?/admin')
  assert.equal(await seen('/api/v1?'), '/?')
  assert.equal(await seen('/api/v1/?a=/b'), '/?a=/b')
  assert.equal(await seen('/api/v1/users?a=/b'), '/users?a=/b')
  assert.equal(await seen('/api/v1'), '/')
})
