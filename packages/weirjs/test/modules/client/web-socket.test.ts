// WebSockets of a contract: mapped on a server, opened by a client, lost and opened again.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { WebSocket as WsSocket } from 'ws'

import { HttpServer } from '../../../src/index.ts'
import {
  type ClientWebSocket,
  type ClientWebSocketOptions,
  contract,
  cookie,
  get,
  openWebSocket,
  outlineOf,
  t,
  type WebSocketLike,
  ws,
} from '../../../src/modules/client/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { connect } from '../../../src/testing/index.ts'
import { eventually } from '../../support/serving.ts'

const api = contract({
  user: get('/users/:id', { id: t.int }),
  chat: ws('/chat/:room', {
    since: t.int.default(0),
    receives: t.object({ text: t.string, at: t.date.optional() }),
    sends: t.object({ line: t.string, at: t.date.optional() }),
  }),
  raw: ws('/raw'),
})

function newServer() {
  const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: null })
  const chat = websocket(api.chat, {
    message(socket, { text, at }) {
      const { room, since } = socket.args
      socket.send({ line: `${room} ${since}: ${text}`, ...(at && { at: new Date(at.getTime() + 86_400_000) }) })
    },
  })
  const raw = websocket(api.raw, { message: (socket, data) => void socket.send(data) })
  const handlers = { user: ({ id }: { id: number }) => id, chat, raw }
  return { server, chat, raw, handlers }
}

async function start(context: TestContext) {
  const { server, chat, raw, handlers } = newServer()
  server.mapContract(api, handlers)
  await server.start()
  context.after(() => server.stop({ graceMs: 0 }))
  return { server, chat, raw, base: `http://127.0.0.1:${server.port}` }
}

/** What has happened to a WebSocket, in order. */
function recording() {
  const seen: unknown[] = []
  const options = {
    open: (socket) => void seen.push(['open', socket.state]),
    message: (_, value) => void seen.push(value),
    close: (socket, code) => void seen.push(['close', code, socket.state]),
    WebSocket: WsSocket,
  } satisfies ClientWebSocketOptions<unknown, never>
  return { seen, options }
}

const wait = (seen: readonly unknown[], count: number): Promise<void> => eventually(() => seen.length >= count, `${count} events`)

test('a WebSocket of a contract is a route like any other, with its name, its options and its messages', async () => {
  const { server, handlers, chat } = newServer()
  const gated: string[] = []
  server
    .group('/v1')
    .mapContract(api, handlers, { chat: { use: [{ name: 'gate', gate: ({ request }) => void gated.push(request.path) }] } })
  const [user, listed, plain] = server.routes
  assert.deepEqual(
    [listed?.path, listed?.operationId, listed?.upgradesTo, listed?.source],
    ['/v1/chat/:room', 'chat', 'websocket', '"chat" of a contract'],
  )
  assert.deepEqual(listed?.messages, { receives: api.chat.receives, sends: api.chat.sends })
  assert.deepEqual([plain?.messages, user?.messages], [{ receives: null, sends: null }, null])
  await using socket = await connect(server).webSocket('/v1/chat/kitchen?since=5')
  await socket.send({ text: 'hello' })
  assert.deepEqual(await socket.json(), { line: 'kitchen 5: hello' })
  assert.equal(chat.connections.size, 1)
  assert.deepEqual(gated, ['/v1/chat/kitchen'])
  await socket.send('{"text":5}')
  assert.deepEqual(await socket.closed(), { code: 1008, reason: 'text: expected a string' })
})

test('a route of an entry may be installed alone', async () => {
  const { server, chat } = newServer()
  server.use(chat)
  await using socket = await connect(server).webSocket('/chat/kitchen')
  await socket.send({ text: 'hello' })
  assert.deepEqual(await socket.json(), { line: 'kitchen 0: hello' })
})

test('what does not fit together is refused when it is mapped', () => {
  const { handlers, raw } = newServer()
  const cases: readonly (readonly [handlers: object, message: RegExp])[] = [
    [{ ...handlers, chat: () => 1 }, /"chat" of a contract is a WebSocket: it is served by websocket\(contract\.chat, …\)$/],
    [{ ...handlers, chat: undefined }, /"chat" of a contract is a WebSocket/],
    [{ ...handlers, chat: websocket('/chat/:room', {}) }, /"chat" of a contract is served by a websocket\(\) of its own path$/],
    [{ ...handlers, chat: raw }, /"chat" of a contract is served by the websocket\(\) of \/raw$/],
    [{ ...handlers, user: raw }, /"user" of a contract \(GET \/users\/:id\) has no handler: give it one under this name$/],
  ]
  for (const [given, message] of cases) {
    const server = new HttpServer({ logger: null })
    assert.throws(() => server.mapContract(api, given as never), { code: 'WEIR_ROUTE_DECLARATION', message })
    assert.deepEqual(server.routes, [])
  }
  const invalid = { code: 'WEIR_OPTION_INVALID' }
  assert.throws(() => websocket(api.chat, { receives: t.int } as object), { ...invalid, message: /receives belongs to the entry/ })
  assert.throws(() => websocket({ ...api.chat, sends: 5 } as never, {}), { ...invalid, message: /sends is 5, not a schema/ })
})

for (const [how, entry] of [
  ['the contract', api.chat],
  ['an outline', JSON.parse(JSON.stringify(outlineOf(api))).chat as typeof api.chat],
] as const)
  test(`messages go both ways, by ${how}`, async (context) => {
    const { base } = await start(context)
    const { seen, options } = recording()
    const socket = openWebSocket<typeof api.chat>(entry, base, { room: 'kitchen & hall', since: 7 }, options)
    assert.deepEqual([socket.state, socket.send({ text: 'too early' })], ['connecting', false])
    await wait(seen, 1)
    assert.equal(socket.send({ text: 'hello', at: '2024-02-28' }), true)
    await wait(seen, 2)
    socket.close(3000, 'done')
    assert.deepEqual([socket.state, socket.send({ text: 'too late' })], ['closed', false])
    await wait(seen, 3)
    assert.deepEqual(seen, [['open', 'open'], { line: 'kitchen & hall 7: hello', at: '2024-02-29' }, ['close', 3000, 'closed']])
  })

test('without schemas, messages are texts and bytes', async (context) => {
  const { base } = await start(context)
  const { seen, options } = recording()
  const socket = openWebSocket(api.raw, base, {}, options)
  await wait(seen, 1)
  socket.send('{"a":1}')
  socket.send(new Uint8Array([0, 255]))
  await wait(seen, 3)
  socket.close()
  assert.deepEqual(seen.slice(1), ['{"a":1}', new Uint8Array([0, 255])])
})

/** Opens a WebSocket with a class of the program, and returns the fields that the server saw. */
async function fieldOf(context: TestContext, WebSocket: NonNullable<ClientWebSocketOptions['WebSocket']>): Promise<string | null> {
  const fields = contract({ echo: ws('/echo', { sends: t.string.nullable() }) })
  const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: null })
  const echo = websocket(fields.echo, {
    open: (socket) => void socket.send(socket.session.request.header('authorization')),
  })
  server.mapContract(fields, { echo })
  await server.start()
  context.after(() => server.stop({ graceMs: 0 }))
  return new Promise((resolve, reject) => {
    const message = (socket: ClientWebSocket<never>, value: unknown) => {
      socket.close()
      resolve(value as string | null)
    }
    const close = (_: unknown, code: number) => reject(new Error(`closed with ${code}`))
    openWebSocket(fields.echo, `http://127.0.0.1:${server.port}`, {}, { WebSocket, message, close })
  })
}

const headers = { Authorization: 'Bearer secret' }

test('outside of pages, a class adds header fields: that of ws', async (context) => {
  class Sending extends WsSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols, { headers })
    }
  }
  assert.equal(await fieldOf(context, Sending), 'Bearer secret')
})

const noGlobal = globalThis.WebSocket === undefined && 'this Node.js has none'
test('outside of pages, a class adds header fields: the global one', { skip: noGlobal }, async (context) => {
  class Sending extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, { protocols, headers } as never)
    }
  }
  assert.equal(await fieldOf(context, Sending), 'Bearer secret')
})

test('the global WebSocket is the default', { skip: globalThis.WebSocket === undefined && 'this Node.js has none' }, async (context) => {
  const { base } = await start(context)
  const { seen, options } = recording()
  const { WebSocket: _, ...rest } = options
  const socket = openWebSocket(api.chat, base.replace('http', 'ws'), { room: 'a' }, rest)
  await wait(seen, 1)
  socket.send({ text: 'hello' })
  await wait(seen, 2)
  socket.close()
  await wait(seen, 3)
  assert.deepEqual(seen, [['open', 'open'], { line: 'a 0: hello' }, ['close', 1000, 'closed']])
})

test('a server that stops and comes back is found again, with arguments made for each connection', async (context) => {
  const first = await start(context)
  const { port } = first.server
  const { seen, options } = recording()
  const attempts: unknown[] = []
  let since = 0
  const socket = openWebSocket(api.chat, first.base, async () => ({ room: 'a', since: since++ }), {
    ...options,
    retry: (attempt, code) => {
      attempts.push([attempt, code])
      return 20
    },
  })
  context.after(() => socket.close())
  await wait(seen, 1)
  await first.server.stop()
  await eventually(() => attempts.length > 2, 'attempts')
  assert.deepEqual(attempts.slice(0, 2), [
    [1, 1001],
    [2, 1006],
  ])
  const { server, handlers } = newServer()
  server.mapContract(api, handlers)
  const again = new HttpServer({ address: '127.0.0.1', port, logger: null }).mapContract(api, handlers)
  await again.start()
  context.after(() => again.stop({ graceMs: 0 }))
  await eventually(() => socket.state === 'open', 'the next connection')
  socket.send({ text: 'back' })
  await eventually(() => JSON.stringify(seen.at(-1)).includes('back'), 'a message')
  assert.match(JSON.stringify(seen.at(-1)), /a [1-9]\d*: back/)
})

/** WebSockets that do what a test says. */
class FakeSocket implements WebSocketLike {
  static made: FakeSocket[] = []
  binaryType = 'blob'
  onopen: ((event: never) => unknown) | null = null
  onmessage: ((event: never) => unknown) | null = null
  onclose: ((event: never) => unknown) | null = null
  onerror: ((event: never) => unknown) | null = null
  readonly sent: unknown[] = []
  readonly url: string
  readonly protocols: readonly string[]
  constructor(url: string, protocols: string[]) {
    this.url = url
    this.protocols = protocols
    FakeSocket.made.push(this)
  }
  send(data: unknown): void {
    this.sent.push(data)
  }
  close(code = 1005, reason = ''): void {
    this.onclose?.({ code, reason } as never)
  }
}

function openFake(context: TestContext, options: Partial<ClientWebSocketOptions<unknown, unknown>> = {}) {
  context.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  context.mock.method(Math, 'random', () => 0)
  FakeSocket.made = []
  const { seen, options: recorded } = recording()
  const socket: ClientWebSocket<never> = openWebSocket(
    api.chat,
    'https://shop.example/v1/',
    { room: 'a' },
    {
      ...recorded,
      ...options,
      WebSocket: FakeSocket,
    },
  )
  return { seen, socket, made: FakeSocket.made }
}

test('it waits longer for each attempt, up to half a minute, and begins anew after a good connection', (context) => {
  const { made, socket, seen } = openFake(context, { protocols: ['v1'] })
  assert.deepEqual([made[0]?.url, made[0]?.protocols], ['wss://shop.example/v1/chat/a', ['v1']])
  const lose = (): number => {
    const before = made.length
    made.at(-1)!.close(1006)
    assert.equal(socket.state, 'waiting')
    for (let ms = 0; ; ms += 250) {
      if (made.length > before) return ms
      context.mock.timers.tick(250)
    }
  }
  assert.deepEqual([lose(), lose(), lose(), lose(), lose(), lose(), lose(), lose()], [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
  made.at(-1)!.onopen?.({} as never)
  context.mock.timers.tick(9_000)
  assert.equal(lose(), 30_000, 'it did not last')
  made.at(-1)!.onopen?.({} as never)
  context.mock.timers.tick(10_000)
  assert.equal(lose(), 500)
  made.at(-1)!.close(1006)
  socket.close()
  context.mock.timers.tick(60_000)
  assert.equal(made.length, 11, 'a closed one is not opened again')
  assert.equal(socket.state, 'closed')
  assert.equal(seen.filter((one) => (one as string[])[0] === 'close').length, 11)
})

test('chance takes up to half of the wait', (context) => {
  const { made } = openFake(context)
  context.mock.method(Math, 'random', () => 0.999)
  made[0]!.close(1006)
  context.mock.timers.tick(249)
  assert.equal(made.length, 1)
  context.mock.timers.tick(2)
  assert.equal(made.length, 2)
})

for (const [code, follows] of [
  [1000, false],
  [1001, true],
  [1002, false],
  [1003, false],
  [1005, true],
  [1006, true],
  [1007, false],
  [1008, false],
  [1009, false],
  [1011, true],
  [1012, true],
  [1013, true],
  [4001, false],
] as const)
  test(`after a close with ${code}, ${follows ? 'another connection' : 'none'} follows, unless the program decides`, (context) => {
    for (const [retry, expected] of [
      [undefined, follows],
      [() => undefined, follows],
      [() => 0, true],
      [() => null, false],
    ] as const) {
      const { made, seen } = openFake(context, retry && { retry })
      made[0]!.close(code)
      context.mock.timers.tick(1000)
      assert.equal(made.length, expected ? 2 : 1)
      assert.deepEqual(seen, [['close', code, expected ? 'waiting' : 'closed']])
      context.mock.timers.reset()
      context.mock.restoreAll()
    }
  })

test('what is not JSON ends it with 1007', (context) => {
  for (const data of ['{"line":', new ArrayBuffer(1)]) {
    const { made, socket, seen } = openFake(context)
    made[0]!.onopen?.({} as never)
    made[0]!.onmessage?.({ data } as never)
    assert.equal(socket.state, 'closed')
    made[0]!.onmessage?.({ data: '{}' } as never)
    assert.deepEqual(seen, [
      ['open', 'open'],
      ['close', 1007, 'closed'],
    ])
    context.mock.timers.reset()
    context.mock.restoreAll()
  }
})

test('nothing arrives after close(), not even an opening', (context) => {
  const { made, socket, seen } = openFake(context)
  made[0]!.close = () => {}
  socket.close()
  made[0]!.onopen?.({} as never)
  made[0]!.onmessage?.({ data: '{}' } as never)
  made[0]!.onclose?.({ code: 1000, reason: '' } as never)
  context.mock.timers.tick(60_000)
  assert.deepEqual([seen, made.length], [[['close', 1000, 'closed']], 1])
})

test('arguments that fail: at once if they are given, and as a lost connection if they are made', async () => {
  const { seen, options } = recording()
  assert.throws(() => openWebSocket(api.chat, 'http://a.example', { room: '..' }, options), {
    name: 'TypeError',
    message: '"room" cannot be ".."',
  })
  const none = {} as { room: string }
  assert.throws(() => openWebSocket(api.chat, 'http://a.example', none, options), { message: '"room" cannot be undefined' })
  const themed = ws('/themed', { theme: cookie('theme', t.string.optional()) })
  assert.throws(() => openWebSocket(themed, 'http://a.example', { theme: 'dark' }, options), /"theme" cannot be sent with a WebSocket/)
  assert.throws(() => openWebSocket(api.raw, '', {}, options), TypeError, 'outside a page, a base is absolute')
  let count = 0
  const fails = (): Promise<{ room: string }> => Promise.reject(new Error(`no token ${++count}`))
  const socket = openWebSocket(api.chat, 'http://a.example', fails, { ...options, retry: (attempt) => (attempt < 3 ? 1 : null) })
  await wait(seen, 3)
  assert.deepEqual([socket.state, count, seen.at(-1)], ['closed', 3, ['close', 1006, 'closed']])
  const closed = openWebSocket(api.chat, 'http://a.example', fails, options)
  closed.close()
  await new Promise(setImmediate)
  assert.equal(seen.length, 3, 'it was closed before its arguments were made')
})

test('where there is no WebSocket, the message says what to do', (context) => {
  const before = Object.getOwnPropertyDescriptor(globalThis, 'WebSocket')
  Object.defineProperty(globalThis, 'WebSocket', { value: undefined, configurable: true, writable: true })
  context.after(() => before && Object.defineProperty(globalThis, 'WebSocket', before))
  assert.throws(() => openWebSocket(api.raw, 'http://a.example', {}), /there is no WebSocket here: pass one as the option "WebSocket"/)
})
