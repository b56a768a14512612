// 404, 405, HEAD and OPTIONS.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { inBothReadModes } from '../support/serving.ts'

inBothReadModes('methods', (serve) => {
  test('404 has a problem document', async (t) => {
    const { connect } = await serve(t, (server) => server.mapGet('/a', () => 'a'))
    const response = await (await connect()).get('/b').message()
    assert.deepEqual([response.status, response.header('content-type'), response.header('allow')], [404, 'application/problem+json', null])
    assert.equal((response.json() as { code: string }).code, 'WEIR_ROUTE_NOT_FOUND')
  })

  const table: [promise: string, method: string, url: string, status: number, allow: string | null][] = [
    ['405 lists the methods that the path has', 'DELETE', '/a', 405, 'GET, HEAD, OPTIONS, POST'],
    ['405 for a template', 'GET', '/t/1', 405, 'OPTIONS, PUT'],
    ['405 for a path that templates share', 'GET', '/t/x', 405, 'DELETE, OPTIONS, PUT'],
    ['HEAD of a path without GET is 405', 'HEAD', '/t/1', 405, 'OPTIONS, PUT'],
    ['an unknown method is 405 as well', 'BREW', '/a', 405, 'GET, HEAD, OPTIONS, POST'],
    ['the case of a method matters', 'get', '/a', 405, 'GET, HEAD, OPTIONS, POST'],
    ['OPTIONS lists the methods', 'OPTIONS', '/a', 204, 'GET, HEAD, OPTIONS, POST'],
    ['OPTIONS of an unknown path is 404', 'OPTIONS', '/nowhere', 404, null],
    ['OPTIONS * lists the methods of the server', 'OPTIONS', '*', 204, 'DELETE, GET, HEAD, OPTIONS, POST, PUT'],
    ['OPTIONS that is mapped is the handler’s', 'OPTIONS', '/own', 200, null],
    ['any method includes all', 'BREW', '/any', 200, null],
    ['HEAD is handled by GET', 'HEAD', '/a', 200, null],
    ['a mapped HEAD takes precedence over GET', 'HEAD', '/head', 299, null],
  ]
  for (const [promise, method, url, status, allow] of table) {
    test(promise, async (t) => {
      const { connect } = await serve(t, (server) => {
        server
          .mapGet('/a', () => 'a')
          .mapPost('/a', () => 'a')
          .mapPut('/t/:x', () => 't')
          .mapDelete('/t/x', () => 'x')
          .map(null, '/any', () => 'any')
        server
          .map('OPTIONS', '/own', () => 'own')
          .mapGet('/head', () => 'get')
          .map('HEAD', '/head', (_, { response }) => response.status(299))
      })
      const client = await connect()
      const reply = await client.send(`${method} ${url} HTTP/1.1\r\nHost: h\r\n\r\n`).message(method === 'HEAD')
      assert.deepEqual([reply.status, reply.header('allow')], [status, allow])
      assert.equal((await client.get('/a').message()).text, 'a')
    })
  }
})
