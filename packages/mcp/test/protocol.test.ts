// Messages of the protocol: versions, errors, what else than tools may be asked.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from 'weirjs'

import { mcp } from '../src/index.ts'
import { ask, send } from './support.ts'

function made(options: object = {}) {
  const server = new HttpServer({ logger: null, frontEnds: ['https://app.example'] })
  server.mapGet('/x', { operationId: 'x', tool: true }, () => 'x')
  mcp(server, options)
  return server
}

test('the version is that of the client if it is known, and otherwise the newest', async () => {
  const server = made({ info: { name: 'shop', version: '2' }, instructions: 'Be kind.' })
  for (const version of ['2025-11-25', '2025-06-18', '2025-03-26'])
    assert.equal((await ask(server, 'initialize', { protocolVersion: version }))['protocolVersion'], version)
  assert.deepEqual(await ask(server, 'initialize', { protocolVersion: '1999-01-01' }), {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'shop', version: '2' },
    instructions: 'Be kind.',
  })
  const wrong = await send(server, { jsonrpc: '2.0', id: 1, method: 'ping' }, { 'MCP-Protocol-Version': '1999-01-01' })
  assert.equal(wrong.status, 400)
})

test('what is no request of the protocol is refused, and other methods are unknown', async () => {
  const server = made()
  const codeOf = async (json: unknown) => {
    const response = await send(server, json)
    return [response.status, (response.json() as { error: { code: number } }).error.code]
  }
  assert.deepEqual(await codeOf([]), [400, -32_600])
  assert.deepEqual(await codeOf(null), [400, -32_600])
  assert.deepEqual(await codeOf({ id: 1, method: 'ping' }), [400, -32_600])
  assert.deepEqual(await codeOf({ jsonrpc: '2.0', id: null, method: 'ping' }), [400, -32_600])
  assert.deepEqual(await codeOf({ jsonrpc: '2.0', id: 1, method: 2 }), [400, -32_600])
  assert.deepEqual(await codeOf({ jsonrpc: '2.0', id: 1, method: 'prompts/list' }), [200, -32_601])
  assert.deepEqual(await codeOf({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { cursor: 'x' } }), [200, -32_602])
  assert.deepEqual(await codeOf({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: '__proto__' } }), [200, -32_602])
  const headers = { 'Content-Type': 'application/json' }
  const malformed = await server.inject({ method: 'POST', url: '/mcp', body: '{', headers })
  assert.deepEqual([malformed.status, (malformed.json() as { error: { code: number } }).error.code], [400, -32_700])
  assert.equal((await server.inject({ method: 'POST', url: '/mcp', body: '{}', headers: { 'Content-Type': 'text/plain' } })).status, 415)
  assert.equal((await server.inject('/mcp')).status, 405)
  assert.equal((await server.inject({ method: 'DELETE', url: '/mcp' })).status, 405)
})

test('notifications and responses are accepted, and a ping is answered', async () => {
  const server = made()
  for (const message of [{ method: 'notifications/initialized' }, { id: 3, result: {} }, { id: 3, error: {} }]) {
    const response = await send(server, { jsonrpc: '2.0', ...message })
    assert.deepEqual([response.status, response.text()], [202, ''])
  }
  assert.deepEqual(await ask(server, 'ping'), {})
})

test('pages of others are refused', async () => {
  const statusOf = async (server: HttpServer, Origin: string) =>
    (await send(server, { jsonrpc: '2.0', id: 1, method: 'ping' }, { Origin, Host: 'own.example' })).status
  assert.equal(await statusOf(made(), 'https://evil.example'), 403)
  assert.equal(await statusOf(made(), 'null'), 403)
  assert.equal(await statusOf(made(), 'http://own.example'), 200)
  assert.equal(await statusOf(made(), 'https://app.example'), 200)
  assert.equal(await statusOf(made({ origins: ['https://evil.example'] }), 'https://evil.example'), 200)
})

test('a handler answers all other methods', async () => {
  const handler = async (request: Request) => {
    const { id, method } = (await request.json()) as { id: number; method: string }
    return Response.json({ jsonrpc: '2.0', id, result: { method, user: request.headers.get('x-user') } })
  }
  const server = made({ handler, capabilities: { resources: {} } })
  assert.deepEqual(await ask(server, 'resources/list', {}, { 'X-User': 'ann' }), { method: 'resources/list', user: 'ann' })
  assert.deepEqual((await ask(server, 'initialize'))['capabilities'], { resources: {}, tools: {} })
})

test('capabilities need a handler, which has them', () => {
  const message = /mcp\(\): capabilities needs handler$/
  assert.throws(() => mcp(new HttpServer(), { capabilities: { prompts: {} } }), { code: 'WEIR_OPTION_INVALID', message })
})

test('a server that starts with no tools and no handler is told so', async (t) => {
  const warningsOf = async (change: (server: HttpServer) => unknown): Promise<string[]> => {
    const warnings: string[] = []
    const logger = { error: () => {}, warn: (message: string) => void warnings.push(message) }
    const server = new HttpServer({ logger })
    change(server)
    t.after(() => server.stop())
    await server.start()
    return warnings
  }
  const said = ['weir: clients find no tools at /mcp: write tool: true in the declarations of routes']
  assert.deepEqual(await warningsOf((server) => mcp(server)), said)
  assert.deepEqual(await warningsOf((server) => mcp(server, { tools: [] })), said)
  assert.deepEqual(await warningsOf((server) => mcp(server, { handler: () => new Response() })), [])
  const withTool = (server: HttpServer) => mcp(server.mapGet('/a', { operationId: 'a', tool: true }, () => 'a'))
  assert.deepEqual(await warningsOf(withTool), [])
})

test('a message is no larger than maxRequestBodySize', async () => {
  const large = { jsonrpc: '2.0', id: 1, method: 'ping', params: { text: 'x'.repeat(2_000) } }
  assert.equal((await send(made({ maxRequestBodySize: 1_000 }), large)).status, 413)
  assert.throws(() => made({ path: 'mcp' }), /mcp\(\): path/)
  assert.throws(() => made({ info: { name: '' } }), /mcp\(\): info.name/)
})
