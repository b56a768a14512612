// A response with trailers is not kept without them, whoever has announced them or not, and whoever got it first.

import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { cache } from '../../src/modules/cache/index.ts'
import { idempotency } from '../../src/modules/idempotency/index.ts'
import { mountNode } from '../../src/node/index.ts'

const TRAILERS = { 'X-Sum': '3' }
const KEY = '8e03978e-40d5-43dd-bc93-6894a57f9324'

const WAYS: Readonly<Record<string, (res: ServerResponse) => void>> = {
  'in two pieces': (res) => {
    res.write('a')
    res.addTrailers(TRAILERS)
    res.end('b')
  },
  'after a pause': (res) => {
    res.write('a')
    setTimeout(() => {
      res.addTrailers(TRAILERS)
      res.end('b')
    }, 50)
  },
  announced: (res) => {
    res.setHeader('Trailer', 'X-Sum')
    res.write('a')
    res.addTrailers(TRAILERS)
    res.end('b')
  },
}

type Ask = (server: HttpServer, method: string) => Promise<unknown>

const withTrailers = async (server: HttpServer, method: string) => {
  const response = await server.inject({ method, url: '/app', headers: { TE: 'trailers', 'Idempotency-Key': KEY } })
  return { status: response.status, sum: response.trailers.get('x-sum') }
}
/** A Response of the Web has no trailers. */
const withoutTrailers: Ask = async (server, method) => {
  const response = await server.fetch(new Request('http://localhost/app', { method, headers: { 'Idempotency-Key': KEY } }))
  await response.text()
}

for (const [way, answer] of Object.entries(WAYS))
  for (const [who, first] of Object.entries({ 'a client with trailers': withTrailers as Ask, 'one without': withoutTrailers })) {
    test(`cache: ${way}, first for ${who}`, async () => {
      const server = new HttpServer({ logger: null })
      server.use(cache({ maxAge: '1h' }))
      mountNode(server, '/app', (_, res) => {
        res.setHeader('Cache-Control', 'public, max-age=60')
        answer(res)
      })
      await first(server, 'GET')
      for (let i = 0; i < 2; i++) assert.deepEqual(await withTrailers(server, 'GET'), { status: 200, sum: '3' })
    })

    test(`idempotency: ${way}, first for ${who}`, async () => {
      const server = new HttpServer({ logger: null })
      server.use(idempotency())
      let runs = 0
      mountNode(server, '/app', (_, res) => {
        runs++
        answer(res)
      })
      await first(server, 'POST')
      const again = await withTrailers(server, 'POST')
      assert.equal(runs, 1)
      assert.ok(again.status === 409 || again.sum === '3', JSON.stringify(again))
    })
  }
