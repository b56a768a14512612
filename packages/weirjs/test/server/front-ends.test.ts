// `frontEnds`: the program's own pages elsewhere are named once, and every module that asks for an Origin knows them.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { type CorsOptions, cors } from '../../src/modules/cors/index.ts'
import { type CsrfOptions, csrf } from '../../src/modules/csrf/index.ts'
import { memorySessions, sessions } from '../../src/modules/sessions/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'

const APP = 'https://app.example.com'
const DEV = 'http://localhost:5173'
const OTHER = 'https://other.example'
const OWN = 'http://example.com'

function serverWith(
  options: ServerOptions = { frontEnds: [APP, DEV] },
  given: { cors?: CorsOptions; csrf?: CsrfOptions } = {},
): HttpServer {
  const server = new HttpServer({ logger: null, ...options })
  server.use(cors(given.cors)).use(csrf(given.csrf))
  server.mapPost('/data', () => 'posted')
  return server
}

async function readableBy(server: HttpServer, origin: string): Promise<boolean> {
  const { headers } = await server.inject({ url: '/data', headers: { Host: 'example.com', Origin: origin } })
  return [origin, '*'].includes(headers.get('access-control-allow-origin') ?? '')
}

async function sentBy(server: HttpServer, origin: string): Promise<number> {
  const headers = { Host: 'example.com', Origin: origin, 'Sec-Fetch-Site': 'cross-site' }
  return (await server.inject({ method: 'POST', url: '/data', headers })).status
}

async function connectsFrom(server: HttpServer, path: string, origin: string): Promise<number> {
  const headers = {
    Host: 'example.com',
    Origin: origin,
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  return (await server.inject({ url: path, headers })).status
}

test('cors, csrf and websocket read them, and nobody else gets in', async () => {
  const server = serverWith(undefined, { cors: { credentials: true } })
  server.use(websocket('/chat', {}))
  server.use(websocket('/strict', { origins: ['same', OTHER] }))
  for (const origin of [APP, DEV]) {
    assert.ok(await readableBy(server, origin), origin)
    assert.equal(await sentBy(server, origin), 200, origin)
    assert.notEqual(await connectsFrom(server, '/chat', origin), 403, origin)
    assert.equal(await connectsFrom(server, '/strict', origin), 403, 'a list of its own takes the place of the default')
  }
  for (const origin of [OTHER, 'null', 'http://app.example.com', `${APP}:444`, 'http://localhost']) {
    assert.ok(!(await readableBy(server, origin)), origin)
    assert.equal(await sentBy(server, origin), 403, origin)
    assert.equal(await connectsFrom(server, '/chat', origin), 403, origin)
  }
  assert.notEqual(await connectsFrom(server, '/chat', OWN), 403)
  assert.notEqual(await connectsFrom(server, '/strict', OWN), 403, "'same' stands in a list")
  assert.notEqual(await connectsFrom(server, '/strict', OTHER), 403)
})

test('the csrf of sessions, and modules on a group, read them, too', async () => {
  const server = new HttpServer({ logger: null, frontEnds: [APP] })
  server.use(sessions({ store: memorySessions() }))
  server
    .group('/data')
    .use(cors())
    .mapPost('/', () => 'posted')
  assert.deepEqual([await sentBy(server, APP), await sentBy(server, OTHER)], [200, 403])
  assert.deepEqual([await readableBy(server, APP), await readableBy(server, OTHER)], [true, false])
})

test('without them, everything is as it was: cors is open, csrf and websocket are closed', async () => {
  const server = serverWith({})
  server.use(websocket('/chat', {}))
  assert.deepEqual(server.frontEnds, [])
  assert.deepEqual([await readableBy(server, APP), await sentBy(server, APP), await connectsFrom(server, '/chat', APP)], [true, 403, 403])
  assert.deepEqual(
    [await readableBy(serverWith({ frontEnds: [] }), APP), await sentBy(serverWith({ frontEnds: [] }), APP)],
    [true, 403],
    'an empty list is none',
  )
})

test('options of a module take their place', async () => {
  const server = serverWith(undefined, { cors: { origins: ['same', OTHER] }, csrf: { trusted: ['same', OTHER] } })
  assert.deepEqual([await readableBy(server, APP), await sentBy(server, APP)], [false, 403])
  assert.deepEqual([await readableBy(server, OTHER), await sentBy(server, OTHER)], [true, 200])
  assert.equal(await readableBy(server, OWN), true)
  assert.equal(await sentBy(server, OWN), 403, 'Sec-Fetch-Site says that the page is of another site, whatever its name')
  const own = serverWith(undefined, { csrf: { trusted: 'same' } })
  assert.equal(await sentBy(own, APP), 403)
})

describe('mistakes', () => {
  const refused = (frontEnds: unknown, message: RegExp): void =>
    assert.throws(() => new HttpServer({ frontEnds } as ServerOptions), { code: 'WEIR_OPTION_INVALID', message }, String(frontEnds))

  test('what is not an origin says what to write', () => {
    refused(APP, /frontEnds is the string "https:\/\/app\.example\.com", not a list of origins/)
    refused([`${APP}/`], /write "https:\/\/app\.example\.com"$/)
    refused([`${APP}/login?x`], /write "https:\/\/app\.example\.com"$/)
    refused(['https://App.example.com'], /write "https:\/\/app\.example\.com"$/)
    refused(['https://app.example.com:443'], /write "https:\/\/app\.example\.com"$/)
    refused(['https://me:secret@app.example.com'], /write "https:\/\/app\.example\.com"$/)
    for (const one of ['*', 'same', 'null', 'app.example.com', 'https://', 'file:///x', 'app://tool', 7, null])
      refused([one], /is not an origin such as/)
    refused([/x/], /is not an origin such as/)
  })

  test('a page that anybody on the way can change is none', () => {
    refused(['http://app.example.com'], /neither https nor on this machine/)
    refused(['http://192.168.0.7:5173'], /neither https nor on this machine/)
    for (const one of [DEV, 'http://app.localhost:5173', 'http://127.0.0.1:5173', 'http://[::1]:5173'])
      assert.deepEqual(new HttpServer({ frontEnds: [one] }).frontEnds, [one])
  })

  test('credentials need origins, from one of the two places', () => {
    for (const options of [{}, { frontEnds: [] }])
      assert.throws(() => serverWith(options, { cors: { credentials: true } }), {
        code: 'WEIR_OPTION_INVALID',
        message: /credentials need frontEnds of the server, a list of origins or a predicate/,
      })
    assert.throws(() => cors({ credentials: true, origins: ['same', APP] }), { code: 'WEIR_OPTION_INVALID', message: /without 'same'/ })
  })
})
