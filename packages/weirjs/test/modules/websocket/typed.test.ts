// `receives` and `sends`: messages as values of a schema.

import assert from 'node:assert/strict'
import type { ClientHttp2Stream } from 'node:http2'
import { type TestContext, test } from 'node:test'

import { HttpServer, t } from '../../../src/index.ts'
import { memoryRelay } from '../../../src/modules/relay/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { connect } from '../../../src/testing/index.ts'
import { Http2Client } from '../../support/http2-client.ts'
import { serveHttp2 } from '../../support/http2-serving.ts'
import { eventually } from '../../support/serving.ts'
import { BINARY, CLOSE, frame, openWs, TEXT } from '../../support/websocket-client.ts'

const Draft = t.object({ to: t.string, text: t.string.max(20), at: t.date.optional() })
const Line = t.object({ text: t.string, at: t.date.optional(), seen: t.int.optional() })

function mapChat(server: HttpServer) {
  const route = websocket('/:room', {
    receives: Draft,
    sends: Line,
    open: (socket) => void socket.join(socket.args.room),
    message(socket, { to, text, at }) {
      const line = { text: `${to}: ${text}`, ...(at && { at: new Date(at.getTime() + 86_400_000) }), secret: 'never sent' }
      socket.send(line)
      socket.broadcast(socket.args.room, line)
    },
  })
  server.use(route)
  return route
}

/** What a client sends, and what becomes of it: the response, or the code and the reason of the close. */
const CASES: readonly (readonly [what: string, sent: string | Uint8Array, answer: string | readonly [code: number, reason: string]])[] = [
  ['a value', '{"to":"bob","text":"dinner?","other":1}', '{"text":"bob: dinner?"}'],
  ['a value that the schema converts', '{"to":"bob","text":"","at":"2024-02-28"}', '{"text":"bob: ","at":"2024-02-29"}'],
  ['__proto__', '{"to":"bob","text":"x","__proto__":{"to":"eve"}}', '{"text":"bob: x"}'],
  ['text that is not JSON', '{"to":', [1007, 'not valid JSON']],
  ['an empty text', '', [1007, 'not valid JSON']],
  ['more than 64 levels', `${'['.repeat(100)}${']'.repeat(100)}`, [1007, 'not valid JSON']],
  ['a part that does not fit', '{"to":"bob","text":5}', [1008, 'text: expected a string of at most 20 characters']],
  ['a missing part', '{"text":"hidden"}', [1008, 'to: expected a string']],
  ['another kind of value', '"hidden"', [1008, 'expected an object with to, text, at']],
  ['a binary message', Buffer.from('{"to":"bob","text":"x"}'), [1003, 'expected text']],
]

for (const [what, sent, response] of CASES) {
  test(`${what}: over HTTP/1.1`, async () => {
    const server = new HttpServer({ logger: null })
    mapChat(server)
    const client = connect(server)
    const [ann, bob] = [await client.webSocket('/kitchen'), await client.webSocket('/kitchen')]
    await ann.send(sent)
    if (typeof response !== 'string') {
      const [code, reason] = response
      assert.deepEqual(await ann.closed(), { code, reason })
      await bob.send('{"to":"ann","text":"still here"}')
    } else assert.equal(await ann.next(), response)
    assert.equal(await bob.next(), typeof response === 'string' ? response : '{"text":"ann: still here"}')
  })

  test(`${what}: over HTTP/2`, async (context) => {
    const { server, logged } = await serveHttp2(context, mapChat)
    const stream = await openStream(context, server, '/kitchen')
    stream.write(frame(typeof sent === 'string' ? TEXT : BINARY, sent))
    const expected =
      typeof response === 'string'
        ? [TEXT, response]
        : [CLOSE, Buffer.concat([Buffer.from([response[0] >> 8, response[0] & 0xff]), Buffer.from(response[1])])]
    const bytes = await read(stream, 2 + Buffer.from(expected[1] as string).length)
    assert.deepEqual(
      [bytes[0]! & 0x0f, bytes.subarray(2).toString('latin1')],
      [expected[0], Buffer.from(expected[1] as string).toString('latin1')],
    )
    assert.deepEqual(logged, [])
  })
}

async function openStream(context: TestContext, server: HttpServer, path: string): Promise<ClientHttp2Stream> {
  const { session } = await Http2Client.connect(context, server.port)
  const fields = { ':method': 'CONNECT', ':protocol': 'websocket', ':path': path, 'sec-websocket-version': '13' }
  return session.request(fields, { endStream: false }).on('error', () => {})
}

async function read(stream: ClientHttp2Stream, length: number): Promise<Buffer> {
  let bytes = Buffer.alloc(0)
  stream.on('data', (piece: Buffer) => (bytes = Buffer.concat([bytes, piece])))
  await eventually(() => bytes.length >= length, `${length} bytes`)
  return bytes
}

test('a reason that is too long ends between two characters', async () => {
  const server = new HttpServer({ logger: null })
  server.use(websocket('/', { receives: t.object({ ['ü'.repeat(100)]: t.int }), message() {} }))
  const socket = await connect(server).webSocket('/')
  await socket.send({})
  assert.deepEqual(await socket.closed(), { code: 1008, reason: 'ü'.repeat(61) })
})

test('what does not fit the schema is not sent: in tests and with debug an error, and else what is declared of it', async (context) => {
  const wrong = { text: 5, seen: 'x', secret: 'never sent' }
  const logged: string[] = []
  const logger = { error: (_: string, error: unknown) => logged.push(String(error)), warn() {} } as never
  const make = (debug: boolean) => {
    const server = new HttpServer({ port: 0, address: '127.0.0.1', logger, debug })
    const route = websocket('/', { sends: Line, message: (socket) => void socket.send(wrong as never) })
    server.use(route)
    return { server, route }
  }
  const inTest = await connect(make(false).server).webSocket('/')
  await inTest.send('go')
  assert.deepEqual(await inTest.closed(), { code: 1011, reason: 'a handler failed' })
  assert.match(logged[0]!, /a message of websocket \/: \/text: expected a string, got 5; \/seen: expected a whole number/)

  for (const debug of [true, false]) {
    const { server, route } = make(debug)
    await server.start()
    context.after(() => server.stop())
    const client = await openWs(context, server)
    const outcome = new Promise((resolve) => {
      client.once('message', (data) => resolve(String(data)))
      client.once('close', resolve)
    })
    client.send('go')
    assert.equal(await outcome, debug ? 1011 : '{"text":5,"seen":"x"}')
    if (debug) assert.throws(() => route.broadcast(null, wrong as never), { code: 'WEIR_ANSWER_UNDECLARED' })
    else assert.equal(route.broadcast(null, wrong as never), 1)
    assert.throws(() => route.broadcast(null, undefined as never), { code: 'WEIR_ANSWER_UNDECLARED' })
  }
})

test('a broadcast of the route is one value for all', async () => {
  const server = new HttpServer({ logger: null })
  const route = mapChat(server)
  const client = connect(server)
  const sockets = [await client.webSocket('/kitchen'), await client.webSocket('/hall')]
  assert.equal(route.broadcast('hall', { text: 'to the hall' }), 1)
  assert.equal(route.broadcast(null, { text: 'to all', at: new Date(Date.UTC(2024, 1, 29)) }), 2)
  assert.deepEqual(await sockets[1]!.json(), { text: 'to the hall' })
  for (const socket of sockets) assert.deepEqual(await socket.json(), { text: 'to all', at: '2024-02-29' })
})

test('clients of other processes get the same text over a relay', async () => {
  const relay = memoryRelay()
  const start = () => {
    const server = new HttpServer({ logger: null })
    const route = websocket('/', { sends: Line, relay })
    server.use(route)
    return { server, route }
  }
  const [here, there] = [start(), start()]
  const sockets = [await connect(here.server).webSocket('/'), await connect(there.server).webSocket('/')]
  here.route.broadcast(null, { text: 'to all' })
  for (const socket of sockets) assert.equal(await socket.next(), '{"text":"to all"}')
})

test('each may be alone, and a schema of another library does', async () => {
  const even = {
    '~standard': {
      version: 1,
      vendor: 'own',
      validate: (value: unknown) => (Number(value) % 2 === 0 ? { value: `${value} is even` } : { issues: [{ message: `not ${value}` }] }),
    },
  } as const
  const server = new HttpServer({ logger: null })
  server.use(websocket('/heard', { receives: even, message: (socket, value) => void socket.send(String(value)) }))
  server.use(websocket('/told', { sends: t.array(t.int), message: (socket, data) => void socket.send([data.length]) }))
  const client = connect(server)
  const [heard, told] = [await client.webSocket('/heard'), await client.webSocket('/told')]
  await heard.send('4')
  assert.equal(await heard.next(), '4 is even')
  await heard.send('12345')
  assert.deepEqual(await heard.closed(), { code: 1008, reason: 'expected a value that passes its schema' }, 'without the value')
  await told.send(Buffer.alloc(3))
  assert.equal(await told.next(), '[3]')
})

test('what is not a schema is refused', () => {
  for (const name of ['receives', 'sends'])
    assert.throws(() => websocket('/', { [name]: {} }), {
      code: 'WEIR_OPTION_INVALID',
      message: new RegExp(`${name} is an object, not a schema`),
    })
})
