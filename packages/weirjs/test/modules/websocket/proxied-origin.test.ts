// Which pages may open a socket behind a proxy: those of the host that the proxy states, if the server trusts it.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../../src/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'

const HANDSHAKE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
}
const FORWARDED = { 'X-Forwarded-For': '203.0.113.7', 'X-Forwarded-Host': 'chat.example.com', 'X-Forwarded-Proto': 'https' }

test('the page must be of the host that a trusted proxy states', async () => {
  const server = new HttpServer({ logger: null, proxies: { trust: ['10.0.0.0/8'], hosts: ['chat.example.com'] } })
  server.use(websocket('/', {}))
  const status = async (origin: string, address: string, headers: Record<string, string> = FORWARDED): Promise<number> => {
    const fields = { ...HANDSHAKE, ...headers, Host: 'backend', Origin: origin }
    return (await server.inject({ url: '/', headers: fields, peer: { address } })).status
  }
  assert.equal(await status('https://chat.example.com', '10.0.0.1'), 101)
  assert.equal(await status('http://chat.example.com', '10.0.0.1'), 403)
  assert.equal(await status('https://backend', '10.0.0.1'), 403)
  assert.equal(await status('https://evil.example', '10.0.0.1', { ...FORWARDED, 'X-Forwarded-Host': 'evil.example' }), 403)
  assert.equal(await status('https://chat.example.com', '203.0.113.99'), 403, 'nobody else may state it')
  assert.equal(await status('https://backend', '203.0.113.99'), 101)
})
