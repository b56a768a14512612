// toWeb() for requests with a body that Fetch does not allow.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, test } from 'node:test'

import { inBothReadModes } from '../support/serving.ts'

describe('toWeb of GET and HEAD has no body', () => {
  inBothReadModes('a received body is left out, together with the fields about its length', (serve) => {
    const rows: [what: string, fields: string, body: string, kept: string[]][] = [
      ['of a known length', 'Content-Length: 3\r\n', 'abc', ['content-type', 'host']],
      ['in chunks', 'Transfer-Encoding: chunked\r\n', '3\r\nabc\r\n0\r\n\r\n', ['content-type', 'host']],
      ['an empty one with its length', 'Content-Length: 0\r\n', '', ['content-length', 'content-type', 'host']],
      ['none', '', '', ['content-type', 'host']],
    ]
    for (const [what, fields, body, kept] of rows) {
      test(what, async (t) => {
        const seen: { method: string; names: string[]; text: string; body: string }[] = []
        const { connect } = await serve(t, (server) => {
          server.mapGet('/', async (_, { request }) => {
            const web = request.toWeb()
            assert.equal(web.body, null)
            seen.push({ method: web.method, names: [...web.headers.keys()].sort(), text: await web.text(), body: request.body })
            return 'ok'
          })
        })
        const client = await connect()
        const plain = body === '' ? '' : 'abc'
        for (const method of ['GET', 'HEAD']) {
          client.send(`${method} / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n${fields}\r\n${body}`)
          assert.equal((await client.message(method === 'HEAD')).status, 200)
          assert.deepEqual(seen.pop(), { method, names: kept, text: '', body: plain })
        }
      })
    }
  })

  inBothReadModes('the copy can be sent further', (serve) => {
    test('by fetch', async (t) => {
      const upstream = createServer((request, response) => response.end(`${request.method} ${request.url}`))
      await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
      t.after(() => upstream.close())
      const { port } = upstream.address() as { port: number }
      const { connect } = await serve(t, (server) =>
        server.mapGet('/x', (_, { request }) => fetch(new Request(`http://127.0.0.1:${port}/y`, request.toWeb()))),
      )
      const client = await connect()
      client.send('GET /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n')
      const reply = await client.message()
      assert.deepEqual([reply.status, reply.text], [200, 'GET /y'])
    })
  })
})
