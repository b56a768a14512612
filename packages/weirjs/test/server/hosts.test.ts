// Which hosts a server answers (the option `hosts`): before routing, in both protocols, and for WebSockets.

import assert from 'node:assert/strict'
import { connect as connectHttp2 } from 'node:http2'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { mountFetch } from '../../src/node/index.ts'
import { cert, key } from '../support/certificate.ts'
import { responseOf } from '../support/http2-client.ts'
import { RawClient } from '../support/raw-client.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const KEY = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'

interface Serving {
  readonly server: HttpServer
  /** What code of the program has seen. */
  readonly ran: string[]
  readonly warned: string[]
}

async function serve(t: TestContext, options: ServerOptions): Promise<Serving> {
  const ran: string[] = []
  const warned: string[] = []
  const server = new HttpServer({ logger: { error: () => {}, warn: (message) => void warned.push(message) }, ...options })
  server.use((_, next) => {
    ran.push('middleware')
    return next()
  })
  server.mapGet('/', () => 'secret')
  server.mapPost('/', (_, { request }) => void ran.push(request.bodyString))
  server.use(websocket('/ws', { accept: () => void ran.push('websocket') }))
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  return { server, ran, warned }
}

/** The status for each Host; null sends none, with HTTP/1.0. */
async function statuses(server: HttpServer, hosts: readonly (string | null)[], fields = '', where = 0): Promise<Record<string, number>> {
  const endpoint = server.endpoints[where]!
  const client = await RawClient.connect(
    endpoint.isUnixSocket ? { path: endpoint.address } : { port: endpoint.port, host: endpoint.address },
  )
  const responses: Record<string, number> = {}
  for (const host of hosts) {
    const head = host === null ? 'GET / HTTP/1.0\r\nConnection: keep-alive\r\n' : `GET / HTTP/1.1\r\nHost: ${host}\r\n`
    responses[host ?? 'none'] = (await client.send(`${head}${fields}\r\n`).message()).status
  }
  client.destroy()
  return responses
}

test('a loopback endpoint answers the names of this machine alone', async (t) => {
  const { server, ran, warned } = await serve(t, {})
  const own = ['localhost', `LOCALHOST:${server.port}`, 'app.localhost', '127.0.0.1', '127.8.9.10:1', '[::1]', null]
  assert.deepEqual(new Set(Object.values(await statuses(server, own))), new Set([200]))
  assert.equal(ran.length, own.length)
  const others = ['evil.example', 'EVIL.example:8080', 'localhost.evil.example', '127.0.0.1.nip.io', '192.168.0.1', '0.0.0.0', '127.1']
  assert.deepEqual(new Set(Object.values(await statuses(server, others))), new Set([421]))
  assert.equal(ran.length, own.length, 'no middleware and no handler has run')
  assert.equal(warned.length, others.length - 1, 'one line for each name')
  assert.match(warned[0]!, /^weir: Host "evil\.example" was refused \(421 WEIR_HOST_NOT_SERVED\): the endpoint 127\.0\.0\.1:\d+ answers /)
  assert.match(warned[0]!, /write hosts: \["evil\.example"\].*write proxies: \{ trust: \["loopback"\], hosts: \["evil\.example"\] \}/)
  assert.deepEqual(await statuses(server, others), await statuses(server, others))
  assert.equal(warned.length, others.length - 1, 'and no more')
})

test('the connection stays, and serves what follows', async (t) => {
  const { server, ran } = await serve(t, {})
  const client = await RawClient.connect(server.port)
  client.send('POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 4\r\n\r\nevil')
  const refused = await client.message()
  assert.deepEqual(refused.json(), {
    title: 'Misdirected Request',
    status: 421,
    detail: 'this server does not answer for this host',
    code: 'WEIR_HOST_NOT_SERVED',
  })
  assert.equal((await client.send('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n').message()).text, 'secret')
  assert.deepEqual(ran, ['middleware'])
  client.destroy()
})

test('a client that waits for 100 Continue is refused instead, and an absolute target counts as Host does', async (t) => {
  const { server, ran } = await serve(t, {})
  const client = await RawClient.connect(server.port)
  client.send('POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n')
  assert.equal((await client.message()).status, 421)
  client.destroy()
  const other = await RawClient.connect(server.port)
  other.send('GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\nGET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n')
  assert.deepEqual([(await other.message()).status, (await other.message()).status], [421, 200])
  other.send('GET http://localhost/ HTTP/1.1\r\nHost: evil.example\r\n\r\n')
  assert.equal((await other.message()).status, 400)
  other.destroy()
  assert.deepEqual(ran, ['middleware'])
})

test('no WebSocket opens under a foreign name', async (t) => {
  const { server, ran } = await serve(t, {})
  const upgrade = async (host: string): Promise<number> => {
    const client = await RawClient.connect(server.port)
    t.after(() => client.destroy())
    const fields = `Origin: http://${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${KEY}`
    const text = await client.send(`GET /ws HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`).until('\r\n\r\n')
    return Number(text.slice('HTTP/1.1 '.length, 'HTTP/1.1 101'.length))
  }
  assert.deepEqual([await upgrade(`evil.example:${server.port}`), ran], [421, []])
  assert.deepEqual([await upgrade(`localhost:${server.port}`), ran], [101, ['middleware', 'websocket']])
})

for (const http2 of [true, 'cleartext'] as const)
  test(`the same over HTTP/2, with http2: ${http2}`, async (t) => {
    const { server, ran } = await serve(t, { http2, ...(http2 === true ? { tls: { key, cert } } : {}) })
    const scheme = http2 === true ? 'https' : 'http'
    const session = connectHttp2(`${scheme}://localhost:${server.port}`, { rejectUnauthorized: false })
    t.after(() => session.destroy())
    const ask = async (fields: Record<string, string>): Promise<number> =>
      (await responseOf(session.request({ ':path': '/', ':scheme': scheme, ...fields }))).status
    assert.equal(await ask({ ':authority': 'evil.example' }), 421)
    assert.equal(await ask({ ':authority': 'evil.example', ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/ws' }), 421)
    assert.notEqual(await ask({ ':authority': 'localhost', host: 'evil.example' }), 200)
    assert.notEqual(await ask({ ':authority': 'evil.example', host: 'localhost' }), 200)
    assert.deepEqual(ran, [])
    assert.equal(await ask({ ':authority': 'LocalHost:1' }), 200, 'the connection continues')
  })

test('listed names are answered, and no other: not even those of this machine', async (t) => {
  const { server } = await serve(t, { hosts: ['App.example.org', '*.example.net', 'localhost:8443'] })
  assert.deepEqual(
    await statuses(server, [
      'app.example.org',
      'app.example.org:81',
      'a.b.example.net',
      'example.net',
      'localhost:8443',
      'localhost',
      '127.0.0.1',
      null,
    ]),
    {
      'app.example.org': 200,
      'app.example.org:81': 200,
      'a.b.example.net': 200,
      'example.net': 421,
      'localhost:8443': 200,
      localhost: 421,
      '127.0.0.1': 421,
      none: 421,
    },
  )
})

test('"any" answers every host, and each endpoint has its own rule', async (t) => {
  const { server, warned } = await serve(t, {
    hosts: ['app.example.org'],
    listen: [
      {},
      { hosts: 'any', name: 'other' },
      { hosts: ['b.example'], address: '0.0.0.0' },
      { unixSocket: join(temporaryDirectory(t), 's') },
    ],
  })
  const asked = ['app.example.org', 'b.example', 'c.example']
  const answers = await Promise.all([0, 1, 2, 3].map(async (where) => Object.values(await statuses(server, asked, '', where))))
  assert.deepEqual(answers, [
    [200, 421, 421],
    [200, 200, 200],
    [421, 200, 421],
    [200, 200, 200],
  ])
  assert.equal(warned.length, 3)
})

test('an endpoint that others can reach answers every host, and so does one behind proxies that name none', async (t) => {
  const open = await serve(t, { address: '0.0.0.0' })
  assert.deepEqual(await statuses(open.server, ['app.example.org']), { 'app.example.org': 200 })
  const behind = await serve(t, { proxies: { trust: ['10.0.0.1'] } })
  assert.deepEqual(await statuses(behind.server, ['app.example.org']), { 'app.example.org': 200 })
})

test('proxies.hosts are answered, as Host and as what a trusted proxy states', async (t) => {
  const trusted = await serve(t, { proxies: { trust: ['loopback'], hosts: ['app.example.org'] } })
  assert.deepEqual(await statuses(trusted.server, ['app.example.org', 'backend', '127.0.0.1:8080']), {
    'app.example.org': 200,
    backend: 421,
    '127.0.0.1:8080': 200,
  })
  assert.deepEqual(await statuses(trusted.server, ['backend'], 'X-Forwarded-Host: app.example.org\r\n'), { backend: 200 })
  assert.deepEqual(await statuses(trusted.server, ['backend'], 'X-Forwarded-Host: evil.example\r\n'), { backend: 421 })
  assert.deepEqual(await statuses(trusted.server, ['backend'], 'X-Forwarded-Host: app.example.org, evil.example\r\n'), { backend: 421 })
  const stranger = await serve(t, { proxies: { trust: ['10.0.0.1'], hosts: ['app.example.org'] } })
  assert.deepEqual(await statuses(stranger.server, ['backend'], 'X-Forwarded-Host: app.example.org\r\n'), { backend: 421 })
  const both = await serve(t, { hosts: ['b.example'], proxies: { trust: ['loopback'], hosts: ['app.example.org'] } })
  assert.deepEqual(await statuses(both.server, ['app.example.org', 'b.example', '127.0.0.1']), {
    'app.example.org': 200,
    'b.example': 200,
    '127.0.0.1': 421,
  })
  const wide = await serve(t, { address: '0.0.0.0', proxies: { trust: ['loopback'], hosts: ['app.example.org'] } })
  assert.deepEqual(await statuses(wide.server, ['app.example.org', 'b.example', '127.0.0.1']), {
    'app.example.org': 200,
    'b.example': 421,
    '127.0.0.1': 421,
  })
})

test('a host that a page can have is refused, whatever fields of a proxy the page sends', async (t) => {
  const proxies = { trust: ['loopback'], hosts: ['app.example.org'] }
  const stated = ['X-Forwarded-Host: app.example.org\r\n', 'Forwarded: for=192.0.2.1;host=app.example.org;proto=https\r\n']
  const ofPages = ['evil.example', 'app.example.org.evil.example', 'EVIL.EXAMPLE.:8080', '127.0.0.1.evil.example', 'localhost.evil.example']
  // Nobody can register these.
  const ofProxies = ['backend', 'weir_app:3000', '10.0.0.7:3000', '[2001:db8::1]', '127.0.0.1', 'localhost']
  for (const [i, header] of (['x-forwarded', 'forwarded'] as const).entries())
    for (const hosts of [undefined, ['b.example']]) {
      const { server } = await serve(t, { proxies: { ...proxies, header }, ...(hosts && { hosts }) })
      const refused = await statuses(server, ofPages, stated[i])
      assert.deepEqual(new Set(Object.values(refused)), new Set([421]), JSON.stringify(refused))
      const answered = await statuses(server, ofProxies, stated[i])
      assert.deepEqual(new Set(Object.values(answered)), new Set([200]), JSON.stringify(answered))
    }
})

test('mounted code gets nothing under a foreign name, with or without its Origin', async (t) => {
  for (const options of [{}, { hosts: 'any' }] as const) {
    const server = new HttpServer({ logger: null, ...options })
    const got: (string | null)[] = []
    mountFetch(server, '/mcp', async (request) => {
      got.push(request.headers.get('host'))
      return Response.json(await request.json())
    })
    await server.start()
    t.after(() => server.stop({ grace: 0 }))
    const body = '{"jsonrpc":"2.0","id":1,"method":"initialize"}'
    const client = await RawClient.connect(server.port)
    const ask = async (host: string, fields = ''): Promise<number> => {
      const head = `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${fields}\r\n`
      return (await client.send(head + body).message()).status
    }
    const own = `localhost:${server.port}`
    assert.equal(await ask(own, `Origin: http://${own}\r\n`), 200)
    const foreign = [await ask('evil.example.com', 'Origin: http://evil.example.com\r\n'), await ask('evil.example.com')]
    client.destroy()
    const isOpen = 'hosts' in options
    assert.deepEqual(foreign, isOpen ? [200, 200] : [421, 421])
    assert.deepEqual(got, isOpen ? [own, 'evil.example.com', 'evil.example.com'] : [own])
  }
})

test('the hosts in the log are bounded, in number and in length', async (t) => {
  const { server, warned } = await serve(t, {})
  await statuses(server, [...Array.from({ length: 150 }, (_, i) => `h${i}.example`), `${'a'.repeat(250)}.example`])
  assert.equal(warned.length, 101)
  assert.match(warned[100]!, /100 hosts have been refused/)
  const long = await serve(t, {})
  await statuses(long.server, [`${'a'.repeat(250)}.example`, "a'$(x)!,;=b.example"])
  assert.ok(long.warned[0]!.length < 700)
  assert.ok(long.warned.every((line) => /^[\x20-\x7e]*$/.test(line)))
})

test('without a socket, the host is not checked', async (t) => {
  const { server } = await serve(t, { hosts: ['app.example.org'] })
  assert.equal((await server.inject({ url: '/', headers: { Host: 'evil.example' } })).status, 200)
  assert.equal((await server.fetch(new Request('http://evil.example/'))).status, 200)
})

test('explain states the rule of the endpoint, and what a client would get', async (t) => {
  const server = new HttpServer({ listen: [{}, { name: 'admin', hosts: ['admin.example.org'] }, { name: 'open', hosts: 'any' }] })
  server.mapGet('/', () => 'x')
  const rulesOf = async (): Promise<unknown[]> =>
    Promise.all(
      [undefined, 'admin', 'open'].map(async (endpoint) => {
        const asked = { url: '/', headers: { Host: 'evil.example' }, ...(endpoint === undefined ? {} : { endpoint }) }
        return (await server.explain(asked)).hostRule
      }),
    )
  const expected = [
    { answered: 'the names of this machine (localhost, 127.0.0.1, [::1])', isServed: false },
    { answered: 'admin.example.org', isServed: false },
    { answered: 'every host, as "hosts" says', isServed: true },
  ]
  assert.deepEqual(await rulesOf(), expected)
  await server.start()
  t.after(() => server.stop())
  assert.deepEqual(await rulesOf(), expected)
  assert.match(
    String(await server.explain({ url: '/', headers: { Host: 'evil.example' } })),
    /hosts {6}the names of .*421 WEIR_HOST_NOT_SERVED/,
  )
})

test('with debug, a foreign host is not told more', async (t) => {
  const plain = await serve(t, {})
  const debugged = await serve(t, { debug: true })
  const ask = async ({ server }: Serving, accept: string): Promise<string> => {
    const client = await RawClient.connect(server.port)
    t.after(() => client.destroy())
    return (await client.send(`GET /none HTTP/1.1\r\nHost: evil.example\r\nAccept: ${accept}\r\n\r\n`).message()).text
  }
  for (const accept of ['text/html', '*/*', 'application/json']) assert.equal(await ask(debugged, accept), await ask(plain, accept), accept)
})

test('the debug page states the rule', async (t) => {
  const { server } = await serve(t, { debug: true })
  const client = await RawClient.connect(server.port)
  const page = await client.send('GET /none HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n').message()
  assert.match(page.text, /the names of this machine/)
  client.destroy()
})
