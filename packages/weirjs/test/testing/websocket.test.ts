// `client.webSocket` of weirjs/testing: a WebSocket without a port.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpError, HttpServer } from '../../src/index.ts'
import { type WebSocketOptions, websocket } from '../../src/modules/websocket/index.ts'
import { type Behaviour, connect, inPieces, oneByteAtATime, resetAt, TestClock, WebSocketRefused } from '../../src/testing/index.ts'
import { settled } from '../../src/testing/test-clock.ts'
import { eventually } from '../support/serving.ts'

function newServer(options: WebSocketOptions<unknown> = {}) {
  const server = new HttpServer({ logger: null })
  const route = websocket('/echo', { message: (socket, data) => void socket.send(data), ...options })
  server.use(route)
  return { server, route }
}

const PIECES: readonly (readonly [name: string, behaviour: readonly Behaviour[], most: number])[] = [
  ['whole', [], 300_000],
  ['in pieces', [inPieces(1_000)], 300_000],
  ['byte by byte', [oneByteAtATime()], 130],
]
for (const [name, behaviour, most] of PIECES)
  test(`texts, bytes and values of every size go both ways: ${name}`, async () => {
    await using socket = await connect(newServer().server, { behaviour }).webSocket('/echo')
    for (const length of [0, 1, 125, 126, 65_535, 65_536, 300_000]) {
      if (length > most) continue
      const text = `${'ü'.repeat(length / 2)}${'x'.repeat(length % 2)}`
      void socket.send(text)
      assert.equal(await socket.next(), text)
    }
    await socket.send(Buffer.from([0, 255, 128]))
    assert.deepEqual(await socket.next(), Buffer.from([0, 255, 128]))
    await socket.send({ a: [1] })
    assert.deepEqual(await socket.json(), { a: [1] })
    assert.deepEqual(await socket.close(), { code: 1000, reason: '' })
  })

test('a refusal has the response and its problem', async () => {
  const { server } = newServer({
    accept() {
      throw new HttpError(403, 'not today')
    },
  })
  const client = connect(server)
  const refusal = await client.webSocket('/echo').catch((error: unknown) => error)
  assert.ok(refusal instanceof WebSocketRefused)
  assert.equal(refusal.code, 'WEIR_TEST_REFUSED')
  assert.deepEqual([refusal.response.status, refusal.problem?.detail], [403, 'not today'])
  assert.match(refusal.message, /\/echo was answered with 403: HTTP_403, not today$/)
  await assert.rejects(client.webSocket('/nowhere'), /answered with 404: WEIR_ROUTE_NOT_FOUND/)
  await assert.rejects(client.webSocket('/echo', { headers: { Origin: 'https://evil.example' } }), /403: WEIR_ORIGIN_REFUSED/)
  await assert.rejects(client.webSocket('/echo', { header: {} } as object), { code: 'WEIR_OPTION_INVALID' })
})

test('header fields, subprotocols and the cookies of the client are sent, and the client goes on', async () => {
  const { server } = newServer({
    protocols: ['v2', 'v1'],
    message: (socket) => void socket.send(`${socket.session.request.header('x-a')} ${socket.session.request.header('cookie')}`),
  })
  server.mapPost('/login', (_, { response }) => response.cookie('id', 'ann').noContent())
  server.mapGet('/who', (_, { request }) => request.cookie('id'))
  await using client = connect(server, { cookies: true })
  await client.post('/login')
  const socket = await client.webSocket('/echo', { protocols: ['v1', 'v2'], headers: { 'X-A': 'b' } })
  assert.equal(socket.protocol, 'v2')
  await socket.send('?')
  assert.equal(await socket.next(), 'b id=ann')
  assert.equal((await client.get('/who')).text(), 'ann')
})

test('the end: by the client, by the server, and without a closing handshake', async () => {
  const ends: unknown[] = []
  const { server, route } = newServer({ close: (_, code, reason) => void ends.push([code, reason]) })
  const client = connect(server)
  const [ours, theirs, aborted] = [await client.webSocket('/echo'), await client.webSocket('/echo'), await client.webSocket('/echo')]
  assert.deepEqual(await ours.close(3000, 'done'), { code: 3000, reason: 'done' })
  assert.equal(ours.isOpen, false)
  await assert.rejects(ours.send('x'), { code: 'WEIR_CLIENT_GONE' })
  await assert.rejects(ours.next(), /closed with 3000 \(done\)/)
  const [first] = route.connections
  first!.send('last')
  first!.close(4000, 'enough')
  assert.deepEqual(await theirs.closed(), { code: 4000, reason: 'enough' })
  assert.equal(await theirs.next(), 'last', 'what arrived before can still be taken')
  const [second] = route.connections
  second!.terminate()
  assert.deepEqual(await aborted.closed(), { code: 1006, reason: '' })
  assert.deepEqual(ends, [
    [3000, 'done'],
    [4000, ''],
    [1006, ''],
  ])
})

test('messages are iterated until the end', async () => {
  const { server } = newServer({
    open(socket) {
      for (const one of ['a', 'b', 'c']) socket.send(one)
      socket.close()
    },
  })
  const heard: unknown[] = []
  for await (const message of await connect(server).webSocket('/echo')) heard.push(message)
  assert.deepEqual(heard, ['a', 'b', 'c'])
})

test('a message that does not come ends with an error that says what was expected', async () => {
  const { server } = newServer({ message() {} })
  const socket = await connect(server, { patience: 500 }).webSocket('/echo')
  await assert.rejects(socket.next(), { code: 'WEIR_TEST_WAIT', message: /500 ms for a message of the WebSocket \/echo; no more bytes/ })
})

test('pings are answered by both sides', async () => {
  const pongs: string[] = []
  const { server, route } = newServer({ pong: (_, data) => void pongs.push(String(data)) })
  const socket = await connect(server).webSocket('/echo')
  await socket.ping('there?')
  await socket.ping()
  await assert.rejects(socket.ping('x'.repeat(126)), RangeError)
  const [theirs] = route.connections
  theirs!.ping('and you?')
  await eventually(() => pongs.length > 0, 'the pong')
  assert.deepEqual(pongs, ['and you?'])
})

test('the clock of the client moves the heartbeat: a client that does not answer is aborted', async () => {
  const { server, route } = newServer({ pingInterval: '10s' })
  const clock = new TestClock()
  const client = connect(server, { clock })
  const good = await client.webSocket('/echo')
  const deaf = await client.webSocket('/echo')
  deaf.pause()
  assert.equal(route.connections.size, 2)
  for (let i = 0; i < 60; i++) await clock.advance(1_000)
  assert.deepEqual(await good.close(), { code: 1000, reason: '' })
  assert.equal((await deaf.closed()).code, 1006)
  await eventually(() => route.connections.size === 0, 'both to be gone')
  assert.equal(clock.running, 0, 'no timer is left')
})

test('a test that does not read makes the server wait, and loses nothing', async () => {
  const sent = 40
  const { server, route } = newServer({ maxQueuedSize: '16MiB' })
  const socket = await connect(server).webSocket('/echo')
  const [theirs] = route.connections
  for (let i = 0; i < sent; i++) theirs!.send(`${i} ${'x'.repeat(20_000)}`)
  await settled()
  assert.ok(theirs!.bufferedBytes > 0, 'something waits in the server')
  assert.ok(socket.unread < sent)
  for (let i = 0; i < sent; i++) assert.ok(String(await socket.next()).startsWith(`${i} `))
  assert.equal(theirs!.bufferedBytes, 0)
})

test('a client that misbehaves, or leaves', async () => {
  const ends: number[] = []
  const { server } = newServer({ close: (_, code) => void ends.push(code) })
  const socket = await connect(server, { behaviour: resetAt(400) }).webSocket('/echo')
  void socket.send('x'.repeat(1_000))
  assert.equal((await socket.closed()).code, 1006)
  ;(await connect(server).webSocket('/echo')).abort()
  {
    await using client = connect(server)
    await client.webSocket('/echo')
  }
  await eventually(() => ends.length === 3, 'the handlers')
  assert.deepEqual(ends, [1006, 1006, 1006])
})
