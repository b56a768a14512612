// How a WebSocket opens: what the handshake needs, who may open one, what the 101 says, and what is refused.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpError, type HttpSession, t as schema } from '../../../src/index.ts'
import { type WebSocketOptions, websocket } from '../../../src/modules/websocket/index.ts'
import { eventually, inBothReadModes } from '../../support/serving.ts'
import {
  ACCEPT,
  BINARY,
  CLOSE,
  frame,
  HANDSHAKE,
  KEY,
  mapEcho,
  openWs,
  PING,
  PONG,
  RawSocket,
  TEXT,
} from '../../support/websocket-client.ts'

inBothReadModes('the handshake of a WebSocket', (serve) => {
  test('opens with the accept value for the key, and sends back text and bytes', async (t) => {
    const serving = await serve(t, mapEcho)
    const socket = await RawSocket.open(serving)
    assert.ok(socket.head.includes(`Sec-WebSocket-Accept: ${ACCEPT}\r\n`), socket.head)
    socket.client.send(frame(TEXT, 'grüße'))
    assert.deepEqual(await socket.frame(), { opcode: TEXT, payload: Buffer.from('grüße') })
    socket.client.send(frame(BINARY, Buffer.from([0, 255, 128])))
    assert.deepEqual(await socket.frame(), { opcode: BINARY, payload: Buffer.from([0, 255, 128]) })
    socket.client.send(frame(PING, 'are you there'))
    assert.deepEqual(await socket.frame(), { opcode: PONG, payload: Buffer.from('are you there') })
    socket.client.send(frame(CLOSE, Buffer.from([0x03, 0xe8])))
    assert.equal(await socket.closeCode(), 1000)
    assert.equal(await socket.client.closed(), 'end')
  })

  test('binds the path and the query like any route', async (t) => {
    const seen: unknown[] = []
    const serving = await serve(t, (server) =>
      server.use(
        websocket(
          '/rooms/:room',
          { room: schema.int, loud: schema.bool.default(false) },
          {
            open(socket) {
              const room: number = socket.args.room
              const loud: boolean = socket.args.loud
              seen.push([room, loud, socket.session.request.path])
            },
          },
        ),
      ),
    )
    await RawSocket.open(serving, '/rooms/7?loud=true')
    await eventually(() => seen.length === 1, 'the opening')
    assert.deepEqual(seen, [[7, true, '/rooms/7']])
    const client = await serving.connect()
    assert.equal((await client.get('/rooms/x', HANDSHAKE).message()).status, 400)
    assert.equal((await client.get('/none', HANDSHAKE).message()).status, 404)
    assert.equal((await client.post('/rooms/7', '', HANDSHAKE).message()).status, 405)
  })

  test('a refusal is a response, and the connection stays open', async (t) => {
    const serving = await serve(t, (server) =>
      mapEcho(server, {
        accept(_, { request }) {
          if (request.header('authorization') === null) throw new HttpError(401, 'who are you?')
        },
      }),
    )
    const client = await serving.connect()
    const status = async (fields: string) => (await client.get('/', fields).message()).status
    assert.equal(await status(''), 426)
    assert.equal(await status('Connection: upgrade\r\nUpgrade: h2c\r\n'), 426)
    assert.equal(await status('Connection: upgrade\r\nUpgrade: websocket\r\n'), 400)
    assert.equal(await status(HANDSHAKE.replace(KEY, 'short==')), 400)
    assert.equal(await status(`${HANDSHAKE}Sec-WebSocket-Protocol: a,,b\r\n`), 400)
    assert.equal(await status(`${HANDSHAKE}Sec-WebSocket-Protocol: a, a\r\n`), 400)
    assert.equal(await status(`${HANDSHAKE}Sec-WebSocket-Protocol: ${'a'.repeat(8_193)}\r\n`), 400)
    const old = await client.get('/', HANDSHAKE.replace('13', '8')).message()
    assert.deepEqual([old.status, old.header('sec-websocket-version'), old.header('upgrade')], [426, '13', 'websocket'])
    for (const version of ['', '13, 8', '256', '013', 'x']) assert.equal(await status(HANDSHAKE.replace('13', version)), 400, version)
    assert.equal(await status(HANDSHAKE), 401)
    const response = await client.get('/', `${HANDSHAKE}Authorization: x\r\n`).until('\r\n\r\n')
    assert.match(response, /^HTTP\/1\.1 101 /)
    assert.deepEqual(serving.logged, [])
  })

  test('what accept returns is a refusal, as with a gate; a verdict is an error', async (t) => {
    const { server, logged } = await serve(t, (server) => {
      const accepts: Readonly<Record<string, (args: object, session: HttpSession) => unknown>> = {
        nothing: () => undefined,
        field: (_, { response }) => void response.header('X-Own', 'yes'),
        response: (_, { response }) => response.forbidden(),
        later: async (_, { response }) => response.status(403).json({ why: 'full' }),
        built: (_, { response }) => void response.status(403).text('no'),
        false: () => false,
        true: async () => true,
        status: () => 403,
        null: () => null,
        principal: (_, session) => (session.principal = { secret: 'x' }),
      }
      for (const [path, accept] of Object.entries(accepts)) server.use(websocket(`/${path}`, { accept: accept as () => undefined }))
    })
    const headers = Object.fromEntries(
      HANDSHAKE.trim()
        .split('\r\n')
        .map((line) => line.split(': ') as [string, string]),
    )
    const status = async (path: string) => (await server.inject({ url: `/${path}`, headers })).status
    for (const path of ['nothing', 'field']) assert.equal(await status(path), 101, path)
    for (const path of ['response', 'later', 'built']) assert.equal(await status(path), 403, path)
    assert.deepEqual(logged, [])
    for (const path of ['false', 'true', 'status', 'null']) assert.equal(await status(path), 500, path)
    assert.match(
      String(logged[0]),
      /accept of websocket \/false returned false: it returns nothing to let a request pass, and a response to refuse it/,
    )
    assert.equal(await status('principal'), 500)
    assert.match(String(logged.at(-1)), /accept of websocket \/principal returned session\.principal/)
  })

  test('accepts pages of its own host, and clients that are not a page', async (t) => {
    const { server } = await serve(t, (server) => {
      mapEcho(server)
      server.use(websocket('/any', { origins: '*' }))
      server.use(websocket('/list', { origins: ['https://example.com', /https:\/\/[a-z]+\.example\.org/] }))
      server.use(websocket('/one', { origins: 'https://app.example.com' }))
      server.use(websocket('/own', { origins: async (origin, { request }) => origin === `https://${request.query.get('of')}` }))
    })
    const status = async (url: string, origin: string | null, host = 'example.com') => {
      const headers = Object.fromEntries(
        HANDSHAKE.trim()
          .split('\r\n')
          .map((line) => line.split(': ') as [string, string]),
      )
      return (await server.inject({ url, headers: { ...headers, Host: host, ...(origin === null ? {} : { Origin: origin }) } })).status
    }
    assert.equal(await status('/', null), 101)
    assert.equal(await status('/', 'https://example.com'), 101)
    assert.equal(await status('/', 'http://EXAMPLE.com'), 101)
    assert.equal(await status('/', 'https://example.com', 'example.com:443'), 101)
    assert.equal(await status('/', 'http://localhost:8080', 'localhost:8080'), 101)
    for (const origin of ['https://evil.example', 'http://example.com:81', 'https://example.com.evil.example', 'null', 'file://', 'x']) {
      assert.equal(await status('/', origin), 403, origin)
      assert.equal(await status('/any', origin), 101, origin)
      assert.equal(await status('/list', origin), 403, origin)
    }
    assert.equal(await status('/list', 'https://example.com', 'other'), 101)
    assert.equal(await status('/list', 'https://app.example.org', 'other'), 101)
    assert.equal(await status('/one', 'https://app.example.com', 'other'), 101)
    assert.equal(await status('/one', 'https://a'), 403)
    assert.equal(await status('/own?of=a', 'https://a'), 101)
    assert.equal(await status('/own?of=a', 'https://example.com'), 403)
    assert.equal(await status('/own', null), 101)
  })

  test('negotiates the first of its subprotocols that the client offers', async (t) => {
    const { server } = await serve(t, (server) => mapEcho(server, { protocols: ['v2', 'v1'] }))
    assert.equal((await openWs(t, server, '/', ['v1', 'v2'])).protocol, 'v2')
    assert.equal((await openWs(t, server, '/', ['v0', 'v1'])).protocol, 'v1')
    assert.equal((await openWs(t, server)).protocol, '')
  })

  test('the 101 has the fields that middleware has set', async (t) => {
    const serving = await serve(t, (server) => {
      server.use(async ({ response }, next) => {
        response.cookie('session', '1')
        await next()
        response.header('X-After', '2')
      })
      mapEcho(server)
    })
    const { head } = await RawSocket.open(serving)
    assert.match(head, /\r\nSet-Cookie: session=1\r\n/)
    assert.match(head, /\r\nX-After: 2\r\n/)
  })
})

test('invalid options are refused', () => {
  const wrong: unknown[] = [
    { maxMessageSize: 0 },
    { maxQueuedSize: Number.POSITIVE_INFINITY },
    { pingInterval: -1 },
    { pingInterval: Number.NaN },
    { protocols: ['a b'] },
    { protocols: 'v1' },
    { maxMessagesize: 1 },
    { origin: 'same' },
    { origins: 'any' },
    { origins: 'https://App.example.com' },
    { origins: null },
    { perMessageDeflate: {} },
    null,
    undefined,
  ]
  for (const options of wrong) assert.throws(() => websocket('/', options as WebSocketOptions<unknown>), { code: 'WEIR_OPTION_INVALID' })
})
