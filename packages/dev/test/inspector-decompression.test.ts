// The inspector and weirjs/decompression on one server.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'

import { HttpServer, t as schema } from '../../weirjs/src/index.ts'
import { decompression } from '../../weirjs/src/modules/decompression/index.ts'
import { inspector } from '../src/index.ts'

interface Kept {
  readonly text: string
  readonly length: number | null
  readonly cut: string | null
}

const token = 'token-of-these-tests-1'

async function keptBody(isInspectorOutside: boolean): Promise<Kept> {
  const server = new HttpServer()
  if (isInspectorOutside) server.use(inspector({ token }))
  server.use(decompression())
  if (!isInspectorOutside) server.use(inspector({ token }))
  const Login = schema.object({ name: schema.string, pin: schema.string.secret() })
  server.mapPost('/login', { body: Login }, ({ body }) => body.name)
  const headers = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }
  const body = gzipSync('{"name":"ann","pin":"1234-5678"}')
  const response = await server.inject({ method: 'POST', url: '/login', headers, body })
  assert.deepEqual([response.status, response.text()], [200, 'ann'])
  const looks = { peer: { address: '127.0.0.1' }, headers: { authorization: `Bearer ${token}` } }
  const detail = await server.inject({ url: '/_weir/exchanges/1', ...looks })
  return (detail.json() as { requestBody: Kept }).requestBody
}

test('a body that is decoded further inside is answered, and not kept', async () => {
  const { text, cut } = await keptBody(true)
  assert.deepEqual([text, cut], ['', 'coded'])
})

test('a body that was decoded further outside is kept without its secrets', async () => {
  const { text, length, cut } = await keptBody(false)
  assert.match(text, /"name":"ann"/)
  assert.doesNotMatch(text, /1234/)
  assert.deepEqual([length === null || length > 0, cut], [true, null])
})
