// Rooms across servers that share a relay, and a relay that is away, silent, full or hostile.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { WebSocket as WsClient } from 'ws'

import { HttpServer } from '../../../src/index.ts'
import { ws } from '../../../src/modules/client/index.ts'
import { memoryRelay, type Relay, relayChannel } from '../../../src/modules/relay/index.ts'
import { readyOrLate } from '../../../src/modules/relay/relay-ready.ts'
import { type WebSocketOptions, type WebSocketRoute, websocket } from '../../../src/modules/websocket/index.ts'
import { settled, TestClock } from '../../../src/testing/test-clock.ts'
import { FakeRelay } from '../../support/fake-relay.ts'
import { eventually, gate, within } from '../../support/serving.ts'

type Args = { room: string }

interface Machine {
  readonly server: HttpServer
  readonly route: WebSocketRoute<Args>
  readonly logged: string[]
  /** A client in a room, and what it has heard. */
  join(room: string): Promise<Client>
}

interface Client {
  readonly ws: WsClient
  readonly heard: string[]
}

const chat: WebSocketOptions<Args> = {
  open: (socket) => void socket.join(socket.args.room),
  message: (socket, data) => void socket.broadcast(socket.args.room, data),
}

/** A server with a route, as another process would have it. */
async function machine(t: TestContext, relay: Relay, options: Partial<WebSocketOptions<Args>> = {}): Promise<Machine> {
  const logged: string[] = []
  const server = new HttpServer({ logger: { error: (message, detail) => void logged.push(`${message}: ${String(detail)}`) } })
  const route = websocket('/chat/:room', { ...chat, relay, ...options })
  server.use(route)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return { server, route, logged, join: (room) => join(t, server, room) }
}

async function join(t: TestContext, server: HttpServer, room: string): Promise<Client> {
  const ws = new WsClient(`ws://127.0.0.1:${server.port}/chat/${room}`)
  t.after(() => ws.terminate())
  const heard: string[] = []
  ws.on('message', (data, isBinary) => void heard.push(isBinary ? `binary ${(data as Buffer).toString('hex')}` : String(data)))
  await within(once(ws, 'open'), 'the connection')
  return { ws, heard }
}

/** Asserts what clients hear, in order. What is sent last shows that nothing else was heard before. */
async function hear(expected: string[], ...clients: Client[]): Promise<void> {
  for (const { heard } of clients) {
    await eventually(() => heard.length >= expected.length, JSON.stringify(expected)).catch(() => {})
    assert.deepEqual(heard, expected)
  }
}

test('what one machine broadcasts, the clients of all hear once', async (t) => {
  const relay = memoryRelay()
  const machines = await Promise.all([machine(t, relay), machine(t, relay), machine(t, relay)])
  const [a, b, c] = await Promise.all(machines.map(({ join }) => join('kitchen')))
  const elsewhere = await machines[1]!.join('garden')
  a!.ws.send('from a')
  await hear(['from a'], b!, c!)
  assert.equal(machines[1]!.route.broadcast('kitchen', 'ready'), 1)
  await hear(['ready'], a!)
  await hear(['from a', 'ready'], b!, c!)
  assert.equal(machines[2]!.route.broadcast(null, Buffer.from([0, 255, 10])), 1)
  await hear(['ready', 'binary 00ff0a'], a!)
  await hear(['from a', 'ready', 'binary 00ff0a'], b!, c!)
  await hear(['binary 00ff0a'], elsewhere)
  for (const { route, logged } of machines) {
    assert.deepEqual({ ...route.relay, isConnected: route.relay?.isConnected }, { isConnected: true, unpublished: 0, ignored: 0 })
    assert.deepEqual(logged, [])
  }
})

const PLACES = { host: ['alice.example', 'bob.example'], endpoint: ['inside', 'outside'] } as const
for (const [option, places] of Object.entries(PLACES))
  for (const how of ['of a group', 'of a route in a contract'])
    test(`routes of another ${option} hear nothing, although they have the same path: the ${option} ${how}`, async (t) => {
      const relay = memoryRelay()
      const api = { chat: ws('/chat') }
      const hosts = await Promise.all(
        [1, 2].map(async () => {
          const server = new HttpServer({
            hosts: 'any',
            logger: null,
            listen: PLACES.endpoint.map((name) => ({ name, address: '127.0.0.1', port: 0 })),
          })
          const options = { relay, open: (socket: { join(room: string): unknown }) => void socket.join('all') }
          const routes = places.map((place) => {
            if (how === 'of a group') {
              const route = websocket('/chat', options)
              server.group('', option === 'host' ? { host: place } : { endpoint: place }).use(route)
              return route
            }
            const route = websocket(api.chat, options)
            server.mapContract(api, { chat: route }, { chat: { [option]: place } })
            return route
          })
          await server.start()
          t.after(() => server.stop({ graceMs: 0 }))
          return { server, routes }
        }),
      )
      const clients = await Promise.all(
        hosts.flatMap(({ server }) =>
          places.map(async (place, i) => {
            const port = option === 'host' ? server.port : server.endpoints[i]!.port
            const client = new WsClient(`ws://127.0.0.1:${port}/chat`, option === 'host' ? { headers: { Host: place } } : {})
            t.after(() => client.terminate())
            const heard: string[] = []
            client.on('message', (data) => void heard.push(String(data)))
            await within(once(client, 'open'), 'the connection')
            return { ws: client, heard }
          }),
        ),
      )
      const [first, second] = hosts[0]!.routes
      first!.broadcast('all', `of ${places[0]}`)
      first!.broadcast(null, `to all of ${places[0]}`)
      second!.broadcast('all', 'the last')
      await hear([`of ${places[0]}`, `to all of ${places[0]}`], clients[0]!, clients[2]!)
      await hear(['the last'], clients[1]!, clients[3]!)
    })

test('text and bytes of any kind reach other machines unchanged', async (t) => {
  const relay = memoryRelay()
  const [one, other] = await Promise.all([machine(t, relay), machine(t, relay)])
  const rooms = ['', '"', '__proto__', 'ü\u{1f600}', 'a\nb', 'x'.repeat(1_000)]
  const client = await other.join('r')
  for (const socket of other.route.connections) for (const room of rooms) socket.join(room)
  const texts = ['', '\0', '\u2028', 'ü\u{1f600}', '{"v":1}', 'x'.repeat(100_000)]
  for (const [i, room] of rooms.entries()) assert.equal(one.route.broadcast(room, texts[i]!), 0)
  const bytes = new Uint8Array(new Uint8Array([9, 1, 2, 9]).buffer, 1, 2)
  one.route.broadcast('r', bytes)
  one.route.broadcast('r', new Uint8Array(0))
  await hear([...texts, 'binary 0102', 'binary '], client)
})

test('a process without clients publishes, and does not listen', async (t) => {
  const relay = new FakeRelay()
  const { route, join, server } = await machine(t, relay)
  assert.equal(route.broadcast('r', 'x'), 0)
  assert.deepEqual([relay.published.length, relay.subscriptions.length], [1, 0])
  await join('r')
  await join('r')
  assert.deepEqual(
    relay.open.map(({ channel }) => channel),
    ['websocket /chat/:room'],
  )
  await server.stop({ graceMs: 0 })
  assert.equal(relay.open.length, 0)
  await server.start()
  await join('r')
  assert.deepEqual([relay.open.length, relay.subscriptions.length], [1, 2])
})

test('a route on two servers listens until both have stopped', async (t) => {
  const relay = new FakeRelay()
  const route = websocket('/chat/:room', { ...chat, relay })
  const servers = [new HttpServer({ logger: null }), new HttpServer({ logger: null })]
  for (const server of servers) {
    await server.use(route).start()
    t.after(() => server.stop({ graceMs: 0 }))
    await join(t, server, 'r')
  }
  assert.equal(relay.subscriptions.length, 1)
  await servers[0]!.stop({ graceMs: 0 })
  assert.equal(relay.open.length, 1)
  await servers[1]!.stop({ graceMs: 0 })
  assert.equal(relay.open.length, 0)
})

test('the channel is named after the whole path, unless the option `channel` names it', async (t) => {
  const relay = new FakeRelay()
  const server = new HttpServer({ logger: null })
  server.group('/api').use(websocket('/chat/:room', { relay }))
  server.use(websocket('/other', { relay, channel: 'mine' }))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  for (const path of ['/api/chat/r', '/other']) {
    const ws = new WsClient(`ws://127.0.0.1:${server.port}${path}`)
    t.after(() => ws.terminate())
    await within(once(ws, 'open'), 'the connection')
  }
  assert.deepEqual(
    relay.subscriptions.map(({ channel }) => channel),
    ['websocket /api/chat/:room', 'websocket mine'],
  )
})

test('a client is connected when its process hears the others', async (t) => {
  const relay = new FakeRelay()
  relay.isReady = relay.isConnected = false // a relay connects when it is needed
  const { join, route } = await machine(t, relay)
  const joined = join('r')
  await eventually(() => relay.subscriptions.length === 1, 'the subscription')
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(route.connections.size, 0)
  relay.subscriptions[0]!.ready.open()
  await joined
})

test('while the relay is away, clients are connected after a second, and onGap is called when it is back', async (t) => {
  const relay = new FakeRelay()
  relay.isReady = relay.isConnected = false
  let gaps = 0
  const { join, route } = await machine(t, relay, { onGap: () => void gaps++ })
  await join('r')
  await join('r')
  assert.deepEqual([route.relay?.isConnected, relay.subscriptions.length, gaps], [false, 1, 0])
  relay.subscriptions[0]!.ready.open()
  await settled()
  assert.equal(gaps, 1)
})

test('clients wait for a second at most, are told of what came too late, and leave no timer', async () => {
  const clock = new TestClock()
  let late = 0
  const wait = async (ready: Promise<void>): Promise<() => boolean> => {
    let isOver = false
    void readyOrLate(ready, clock, () => late++).then(() => (isOver = true))
    await settled()
    return () => isOver
  }
  const silent = gate()
  const isOver = await wait(silent.promise)
  await clock.advance(999)
  assert.equal(isOver(), false)
  await clock.advance(1)
  assert.deepEqual([isOver(), late], [true, 0])
  silent.open()
  await settled()
  assert.equal(late, 1)
  const closed = gate()
  closed.fail(new Error('closed'))
  assert.equal((await wait(closed.promise))(), true)
  assert.equal((await wait(Promise.resolve()))(), true)
  const closedLate = gate()
  await wait(closedLate.promise)
  await clock.advance(1_000)
  closedLate.fail(new Error('closed'))
  await settled()
  assert.deepEqual([late, clock.running], [1, 0])
})

test('while the relay is away, clients of the process are served; the outage is reported once and counted', async (t) => {
  const relay = new FakeRelay()
  relay.onPublish = () => Promise.reject(new Error('ECONNREFUSED'))
  const { join, route, logged } = await machine(t, relay)
  const client = await join('r')
  for (const data of ['a', 'b', 'c']) assert.equal(route.broadcast('r', data), 1)
  await hear(['a', 'b', 'c'], client)
  assert.equal(route.relay?.unpublished, 3)
  assert.equal(logged.length, 1, logged.join())
  assert.match(logged[0]!, /^weir: websocket \/chat\/:room reaches only clients of this process.*ECONNREFUSED$/)
  relay.onPublish = () => Promise.resolve('1')
  route.broadcast('r', 'd')
  await settled()
  assert.equal(route.relay?.unpublished, 3)
})

test('a relay that throws instead of rejecting, also at a subscription, does no harm', async (t) => {
  const relay = new FakeRelay()
  relay.onPublish = () => {
    throw new Error('broken')
  }
  relay.subscribe = () => {
    throw new Error('broken, too')
  }
  const { join, route, logged } = await machine(t, relay)
  const client = await join('r')
  assert.equal(route.broadcast('r', 'a'), 1)
  await hear(['a'], client)
  await eventually(() => route.relay?.unpublished === 1, 'the failure')
  assert.deepEqual(logged.map((line) => /Error: .*/.exec(line)?.[0]).sort(), ['Error: broken', 'Error: broken, too'])
})

test('broadcasts that a relay never takes are bounded in memory', async (t) => {
  const relay = new FakeRelay()
  let asked = 0
  relay.publish = () => {
    asked++
    return new Promise(() => {})
  }
  const { route, logged } = await machine(t, relay)
  const data = 'x'.repeat(100_000)
  for (let i = 0; i < 200; i++) route.broadcast('r', data)
  assert.equal(route.relay!.unpublished, 200 - asked)
  assert.ok(asked > 50 && asked * 2 * data.length <= 16 * 1024 * 1024, `${asked} messages`)
  assert.equal(logged.length, 1)
  assert.match(logged[0]!, /of at most 16777216$/)
})

test('messages that are not broadcasts are ignored, counted and reported once, without their content', async (t) => {
  const relay = new FakeRelay()
  const { join, route, logged } = await machine(t, relay, { maxQueuedSize: 1_000 })
  const client = await join('r')
  const [subscription] = relay.subscriptions
  const origin = 'another'
  const wrong = [
    'secret',
    '',
    'null',
    '1',
    '"text"',
    '[]',
    '{}',
    '['.repeat(100_000),
    JSON.stringify({ v: 2, origin, room: 'r', text: 'x' }),
    JSON.stringify({ v: '1', origin, room: 'r', text: 'x' }),
    JSON.stringify({ v: { toString: 1 }, origin, room: 'r', text: 'x' }),
    JSON.stringify({ v: 1, room: 'r', text: 'x' }),
    JSON.stringify({ v: 1, origin: null, room: 'r', text: 'x' }),
    JSON.stringify({ v: 1, origin, text: 'x' }),
    JSON.stringify({ v: 1, origin, room: 7, text: 'x' }),
    JSON.stringify({ v: 1, origin, room: 'r' }),
    JSON.stringify({ v: 1, origin, room: 'r', text: 7 }),
    JSON.stringify({ v: 1, origin, room: 'r', text: 'x', binary: 'AA==' }),
    JSON.stringify({ v: 1, origin, room: 'r', binary: ['AA=='] }),
    JSON.stringify({ v: 1, origin, room: 'r', binary: '<not base64>' }),
    JSON.stringify({ v: 1, origin, room: 'r', text: 'x'.repeat(1_001) }),
  ]
  for (const message of wrong) assert.doesNotThrow(() => subscription!.tell(message))
  assert.equal(route.relay?.ignored, wrong.length)
  assert.equal(logged.length, 1)
  assert.match(logged[0]!, /ignores messages of the relay that are not broadcasts: Error: it is not JSON$/)
  subscription!.tell(JSON.stringify({ v: 1, origin, room: 'r', text: 'good', more: 'later versions may add' }))
  subscription!.tell(JSON.stringify({ v: 1, origin, room: 'r', text: 'x'.repeat(400) }))
  await hear(['good', 'x'.repeat(400)], client)
})

test('a client that reads too slowly is closed, as after a broadcast of its own process', async (t) => {
  const relay = memoryRelay()
  const [one, other] = await Promise.all([machine(t, relay), machine(t, relay, { maxQueuedSize: 100_000 })])
  const { ws } = await other.join('r')
  const closed = once(ws, 'close')
  for (const socket of other.route.connections) while (socket.bufferedBytes === 0) socket.send('x'.repeat(60_000))
  for (let i = 0; i < 4 && other.route.connections.size > 0; i++) one.route.broadcast('r', 'y'.repeat(60_000))
  assert.equal((await within(closed, 'the end'))[0], 1013)
})

test('onGap is called when broadcasts may have been lost, and what it throws is logged', async (t) => {
  const relay = new FakeRelay()
  let calls = 0
  const { join, logged } = await machine(t, relay, {
    onGap() {
      if (++calls === 1) throw new Error('first')
      return calls === 2 ? Promise.reject(new Error('second')) : undefined
    },
  })
  await join('r')
  for (let i = 0; i < 3; i++) assert.doesNotThrow(() => relay.subscriptions[0]!.gap())
  await eventually(() => logged.length === 2, 'the log')
  assert.deepEqual([calls, logged.map((line) => /Error: .*/.exec(line)?.[0])], [3, ['Error: first', 'Error: second']])
})

test('a relay that is none, and options without a relay, are refused', () => {
  const relay = memoryRelay()
  const wrong: [object, RegExp][] = [
    [{ relay: {} }, /relay is an object without publish\(\): pass what redisRelay\(client\)/],
    [{ relay: null }, /relay is null without publish/],
    [{ relay: Promise.resolve(relay) }, /relay is a promise: await it/],
    [{ relay: relayChannel(relay, 'news') }, /relay is a RelayChannel without isConnected/],
    [{ relay: { publish() {}, subscribe() {}, close() {} } }, /relay is an object without isConnected/], // as a client of Redis
    [{ channel: 'x' }, /channel needs relay$/],
    [{ onGap: () => {} }, /onGap needs relay$/],
    [{ relay, channel: 1 }, /channel is 1, not a string/],
    [{ relay, onGap: 'x' }, /onGap is .*, not a function/],
  ]
  for (const [options, message] of wrong) assert.throws(() => websocket('/', options), { code: 'WEIR_OPTION_INVALID', message })
})

test('without a relay, a route says so', () => {
  assert.equal(websocket('/', {}).relay, null)
})

test('each outage is one error, also soon after another, and the others are told without another broadcast', async (t) => {
  const relay = memoryRelay()
  const { publish } = relay
  let isAway = false
  relay.publish = (channel, data) => (isAway ? Promise.reject(new Error('away')) : publish.call(relay, channel, data))
  let gaps = 0
  const [one, other] = [await machine(t, relay), await machine(t, relay, { onGap: () => void gaps++ })]
  const clients = [await one.join('r'), await other.join('r')]
  one.route.broadcast('r', 'a')
  await hear(['a'], ...clients)
  for (let outage = 1; outage <= 3; outage++) {
    isAway = true
    for (let i = 0; i < 10; i++) one.route.broadcast('r', 'lost')
    await eventually(() => one.logged.length === outage, 'the error')
    isAway = false
    if (outage === 2) one.route.broadcast('r', 'at once')
    await eventually(() => gaps === outage, 'the gap')
    assert.equal(one.route.relay!.unpublished, 10 * outage)
  }
  await settled()
  assert.deepEqual([one.logged.length, gaps, clients[1]!.heard], [3, 3, ['a', 'at once']])
})
