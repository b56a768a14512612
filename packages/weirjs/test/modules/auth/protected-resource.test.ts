// The metadata of a protected resource (RFC 9728).

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../../src/index.ts'
import { auth, type ProtectedResourceOptions, protectedResource } from '../../../src/modules/auth/index.ts'
import { testScheme } from './support.ts'

const SERVERS = ['https://login.example/']

test('serves the document to everybody, at the well-known path and the path of the resource', async () => {
  for (const [resource, path] of [
    ['https://api.example', ''],
    ['https://api.example/', ''],
    ['https://api.example:8443/v1/x', '/v1/x'],
  ] as const) {
    const module = protectedResource({ resource, authorizationServers: SERVERS, scopes: ['read'], more: { resource_name: 'The API' } })
    assert.equal(module.url, `${new URL(resource).origin}/.well-known/oauth-protected-resource${path}`)
    const server = new HttpServer({ logger: null }).use(auth({ schemes: [testScheme()] })).use(module)
    const { status, headers, json } = await server.inject(new URL(module.url).pathname)
    assert.equal(status, 200)
    assert.match(headers.get('content-type')!, /^application\/json/)
    assert.deepEqual(json(), {
      resource_name: 'The API',
      resource,
      authorization_servers: SERVERS,
      bearer_methods_supported: ['header'],
      scopes_supported: ['read'],
    })
  }
})

test('needs no auth on the server itself', async () => {
  const server = new HttpServer({ logger: null, port: 0 })
  server.use(protectedResource({ resource: 'https://api.example', authorizationServers: SERVERS }))
  await server.start()
  await server.stop()
  assert.deepEqual((await server.inject('/.well-known/oauth-protected-resource')).json(), {
    resource: 'https://api.example',
    authorization_servers: SERVERS,
    bearer_methods_supported: ['header'],
  })
})

test('options are checked', () => {
  const wrong: readonly Partial<Record<keyof ProtectedResourceOptions, unknown>>[] = [
    { resource: undefined },
    { resource: 'api.example' },
    { resource: 'http://api.example' },
    { resource: 'https://api.example/#x' },
    { resource: 'https://api.example/?x' },
    { authorizationServers: 'https://login.example/' },
    { authorizationServers: ['login'] },
    { scopes: 'read' },
  ]
  for (const change of wrong) {
    const options = { resource: 'https://api.example', authorizationServers: SERVERS, ...change } as ProtectedResourceOptions
    assert.throws(() => protectedResource(options), { code: 'WEIR_OPTION_INVALID' }, JSON.stringify(change))
  }
  const group = new HttpServer({ logger: null }).group('/api')
  const module = protectedResource({ resource: 'https://api.example', authorizationServers: SERVERS })
  assert.throws(() => group.use(module), { code: 'WEIR_OPTION_INVALID' })
})
