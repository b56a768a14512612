// Responses that cannot be sent: the client gets a 500 instead.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { HttpResponse, HttpServer } from '../../src/index.ts'

const quiet = { logger: null }

test('one response object answers one request', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'page.html'), 'page')
  const shared = new HttpResponse().file(join(folder, 'page.html'))
  const server = new HttpServer(quiet).mapGet('/', () => shared)
  assert.equal((await server.inject({ url: '/', headers: { Range: 'bytes=0-0' } })).text(), 'p')
  assert.deepEqual((await server.inject('/')).json(), { title: 'Internal Server Error', status: 500, code: 'WEIR_RESPONSE_SENT' })
})

test('responses that cannot be sent become a 500, not a broken connection', async () => {
  const bodies: ((response: HttpResponse) => unknown)[] = [
    (r) => r.text(42 as never),
    (r) => r.text(undefined as never),
    (r) => r.body('hello' as never),
    (r) => r.body(null as never),
    (r) => r.stream({} as never),
    (r) => r.header('x', undefined as never).text(''),
    () => new Error('returned'),
    () => new Map([[1, 2]]),
    () => new Blob(['x']),
  ]
  for (const body of bodies) {
    const server = new HttpServer(quiet).mapGet('/', (_, { response }) => body(response))
    assert.equal((await server.inject('/')).status, 500, String(body))
  }
})
