// The policies of a group apply to every path below its prefix that code mounted there, and again at the root, would answer.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpError, HttpServer } from '../../src/index.ts'
import { mountFetch, mountNode } from '../../src/node/index.ts'

const closed = {
  gate: (): never => {
    throw new HttpError(403, 'not for you')
  },
}

for (const kind of ['mountNode', 'mountFetch'] as const) {
  test(`${kind}: no form of a path gets around the gate of a group`, async () => {
    const server = new HttpServer({ logger: null })
    const mount = (host: Pick<HttpServer, 'prefix' | 'logger' | 'isListening'>, path: string): void => {
      if (kind === 'mountNode') mountNode(host, path, (req, res) => res.end(req.url), { stripPrefix: false })
      else mountFetch(host, path, (request) => new Response(request.url))
    }
    mount(server, '/')
    mount(server.group('/admin', { use: [closed] }), '/')
    mount(server.group('/teams/:team', { use: [closed] }), '')
    mount(server.group('/inner', { use: [closed] }), '/old')

    for (const base of ['/admin', '/teams/1', '/inner/old', '/%61dmin'])
      for (const more of ['', '/', '//', '/x', '//x', '/x/', '/x//y', '/?a', '?a', '/%2f'])
        assert.equal((await server.inject(base + more)).status, 403, base + more)
    // The code may read them as paths below a prefix: with single slashes, or by a URL parser, for which `//x` is a host.
    for (const other of [
      '//admin',
      '//admin/x',
      '//x/admin/y',
      '///x/admin',
      '/admin%2fx',
      '/%2Fadmin',
      '/x/..%2fadmin/y',
      '/ad%09min/x',
      '/%0aadmin',
      '/teams//1/x',
      '/inner//old',
      '/admin%2F%23x',
      '/admin%5C%20',
      '/y%2F..%2Fadmin%2f%23x%23',
      '/%252e/admin/x',
      '/x/%252E%252e/admin/y',
      '/x/.%252e%2fadmin/y',
      '/x%5c%252e%252e/admin/y',
      '/x/%252e%09%252e/admin/y',
    ])
      assert.equal((await server.inject(other)).status, 404, other)
    assert.equal((await server.inject({ method: 'POST', url: '//x/admin' })).status, 404)
    for (const open of ['/', '/x//y', '/x%2Fy', '//x/y', '/x', '//x', '/adminx', '/inner', '/inner/older'])
      assert.equal((await server.inject(open)).status, 200, open)
  })

  test(`${kind}: nor around that of a single route`, async () => {
    const server = new HttpServer({ logger: null }).mapGet('/own/*rest', { use: [closed] }, () => 'own')
    if (kind === 'mountNode') mountNode(server, '/', (req, res) => res.end(req.url))
    else mountFetch(server, '/', (request) => new Response(request.url))
    for (const [path, status] of [
      ['/own/x', 403],
      ['/own//x', 404],
      ['//own/x', 404],
      ['//host/own/x', 404],
      ['/own%2Fx', 404],
      ['/own%2F%23x', 404],
      ['/own%2f%20', 404],
      ['/own//%3Fx', 404],
      ['/own/a%2F%252F%2F..%2F..%2Fx', 403],
      ['/x%2F%252F%2F..%2F..%2Fown%2F%3Fx', 404],
      ['/x%2F%252F..%2Fown', 200],
      ['/owned//x', 200],
    ] as const)
      assert.equal((await server.inject(path)).status, status, path)
    assert.equal((await server.inject({ method: 'POST', url: '/own//x' })).status, 200, 'like POST /own/x, which no other route answers')
  })

  test(`${kind}: nor a method that code could take for one with a route`, async () => {
    const server = new HttpServer({ logger: null })
    for (const method of ['GET', 'POST']) server.map(method, '/own', { use: [closed] }, () => 'own')
    let calls = 0
    if (kind === 'mountNode') mountNode(server, '/', (_, res) => void res.end(`${++calls}`))
    else mountFetch(server, '/', () => new Response(`${++calls}`))
    for (const method of ['get', 'Get', 'post', 'poST', 'patch', 'purge'])
      for (const url of ['/own', '/x']) {
        const refused = await server.inject({ method, url })
        assert.deepEqual(
          [refused.status, (refused.json() as { code: string }).code],
          [501, 'WEIR_METHOD_NOT_IMPLEMENTED'],
          `${method} ${url}`,
        )
        const { status, code } = (await server.explain({ method, url })).response
        assert.deepEqual([status, code], [501, 'WEIR_METHOD_NOT_IMPLEMENTED'])
      }
    assert.equal(calls, 0)
    for (const method of ['PATCH', 'PURGE', 'M-SEARCH']) assert.equal((await server.inject({ method, url: '/own' })).status, 200, method)
  })

  test(`${kind}: nor below the prefix of a mount`, async () => {
    const server = new HttpServer({ logger: null })
    server.group('/old/admin', { use: [closed] }).mapGet('/x', () => 'own')
    server.group('/teams/:team/admin', { use: [closed] }).mapGet('/x', () => 'own')
    for (const path of ['/old', '/teams/:team'])
      if (kind === 'mountNode') mountNode(server, path, (req, res) => res.end(new URL(req.url!, 'http://localhost').pathname))
      else mountFetch(server, path, (request) => new Response(request.url), { stripPrefix: true })
    const paths = ['/old//host/admin/x', '/old/%2Fhost/admin/x', '/old//admin/x', '/teams/a%2Fb//admin/x', '/teams/a%2Fb//host/admin/x']
    for (const path of paths) assert.equal((await server.inject(path)).status, 404, path)
    for (const path of ['/old//host/x', '/teams/a%2Fb//x']) assert.equal((await server.inject(path)).status, 200, path)
  })

  test(`${kind}: nor around that of a host`, async () => {
    const server = new HttpServer({ logger: null })
    for (const host of ['admin.example', '127.0.0.1']) server.group('', { host, use: [closed] }).mapGet('/x', () => 'own')
    if (kind === 'mountNode') mountNode(server, '/', (req, res) => res.end(req.url))
    else mountFetch(server, '/', (request) => new Response(request.url))
    const statusAt = async (host: string, url = '/x'): Promise<number> => (await server.inject({ url, headers: { Host: host } })).status
    assert.equal(await statusAt('admin.example'), 403)
    for (const host of ['%61dmin.example', 'admin%2eexample.', 'admin.example%2e', '127.1', '0x7f.1']) {
      assert.equal(await statusAt(host), 404, host)
      assert.equal(await statusAt(host, '//y/x'), 404, host)
    }
    assert.equal(await statusAt('other.example'), 200)
  })

  test(`${kind}: nor around that of the host that a proxy states`, async () => {
    const server = new HttpServer({ logger: null, proxies: { trust: ['10.0.0.1'], hosts: ['*.example'] } })
    server.group('', { host: 'admin.example', use: [closed] }).mapGet('/x', () => 'own')
    if (kind === 'mountNode') mountNode(server, '/', (req, res) => res.end(req.headers['x-forwarded-host']))
    else mountFetch(server, '/', (request) => new Response(request.url))
    const statusOf = async (stated: string, address: string): Promise<number> =>
      (await server.inject({ url: '/x', headers: { Host: 'backend.example', 'X-Forwarded-Host': stated }, peer: { address } })).status
    assert.equal(await statusOf('admin.example', '10.0.0.1'), 404)
    assert.equal(await statusOf('www.example', '10.0.0.1'), 200)
    assert.equal(await statusOf('www.example', '10.0.0.2'), 200)
    // Code may believe anyone, and take any entry.
    assert.equal(await statusOf('admin.example', '10.0.0.2'), 404)
    for (const stated of ['admin.example, www.example', 'www.example, admin.example', 'admin.example:', 'x@admin.example'])
      assert.equal(await statusOf(stated, '10.0.0.1'), 404, stated)
    for (const host of ['admin.example', '"admin.example"', '"admin\\.example"']) {
      const headers = { Host: 'backend.example', Forwarded: `for=1.2.3.4;host=${host}` }
      assert.equal((await server.inject({ url: '/x', headers, peer: { address: '10.0.0.1' } })).status, 404, host)
    }
  })

  test(`${kind}: explain foresees this`, async () => {
    const server = new HttpServer({ logger: null })
    if (kind === 'mountNode') mountNode(server, '/', (_, res) => res.end())
    else mountFetch(server, '/', () => new Response())
    server.group('/admin', { use: [closed] }).mapGet('/x', () => '')
    for (const url of ['//admin/x', '/admin%2fx', '/ad%09min/x']) {
      const { status, code } = (await server.explain(url)).response
      assert.deepEqual([status, code], [404, 'WEIR_ROUTE_NOT_FOUND'], url)
      assert.equal((await server.inject(url)).status, 404)
    }
    const { status, detail } = (await server.explain('//x/y')).response
    assert.equal(status, null)
    assert.doesNotMatch(detail, /unless/)
  })

  test(`${kind}: nothing is mapped if one of its paths is taken`, async () => {
    const server = new HttpServer({ logger: null })
    server.map(null, '/old/**rest', () => 'own')
    const mount = (): void =>
      kind === 'mountNode' ? mountNode(server, '/old', (_, res) => res.end()) : mountFetch(server, '/old', () => null)
    assert.throws(mount, { code: 'WEIR_ROUTE_CLASH' })
    assert.equal((await server.inject('/old')).status, 404)
  })
}
