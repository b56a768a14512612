// Log lines name the URL of the request, but not the values of its secret parameters.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, t } from '../../src/index.ts'

const TOKEN = t.string.secret()

async function linesOf(map: (server: HttpServer) => void, url: string): Promise<string[]> {
  const lines: string[] = []
  const server = new HttpServer({ logger: { error: (line) => lines.push(line.replace(/ \(request .*/, '')) } })
  map(server)
  await server.inject(url).catch(() => {})
  return lines
}

const fail = (): never => {
  throw new Error('broken')
}

test('the line for an error that nobody caught', async () => {
  const map = (server: HttpServer) => server.mapGet('/reset/:token/:page', { token: TOKEN, page: t.int, pin: TOKEN }, fail)
  assert.deepEqual(await linesOf(map, '/reset/hush/7?a=%20b&p%69n=hush&c'), [
    'weir: GET /reset/(not shown)/7?a=%20b&p%69n=(not shown)&c failed',
  ])
})

test('a secret rest, and a route of a group', async () => {
  const map = (server: HttpServer) => server.group('/:key', { key: TOKEN }).mapGet('/files/*path', { path: TOKEN }, fail)
  assert.deepEqual(await linesOf(map, '/hush/files/hush/hush'), ['weir: GET /(not shown)/files/(not shown) failed'])
})

test('the line for a response that was aborted', async () => {
  const broken = async function* () {
    yield 'x'
    fail()
  }
  const lines = await linesOf((server) => server.mapGet('/stream/:token', { token: TOKEN }, broken), '/stream/hush?x=1')
  assert.deepEqual(lines, ['weir: the response to GET /stream/(not shown)?x=1 was aborted, route GET /stream/:token'])
})

test('without secrets, the URL is logged as it was sent', async () => {
  const map = (server: HttpServer) => server.mapGet('/a/:b', { b: t.string, c: t.string }, fail)
  assert.deepEqual(await linesOf(map, '/a/%C3%BC?c=%20&&d='), ['weir: GET /a/%C3%BC?c=%20&&d= failed'])
})
