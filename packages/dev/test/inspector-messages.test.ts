// The inspector shows the messages of WebSockets: bounded, in both directions, and without secrets.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, t } from '../../weirjs/src/index.ts'
import type { AnySchema } from '../../weirjs/src/modules/schema/index.ts'
import { type WebSocketOptions, websocket } from '../../weirjs/src/modules/websocket/index.ts'
import { connect } from '../../weirjs/src/testing/index.ts'
import { Http2Client } from '../../weirjs/test/support/http2-client.ts'
import { serveHttp2 } from '../../weirjs/test/support/http2-serving.ts'
import { eventually } from '../../weirjs/test/support/serving.ts'
import { frame, TEXT } from '../../weirjs/test/support/websocket-client.ts'
import { inspector } from '../src/index.ts'

const TOKEN = 'token-of-these-tests-1'
const HERE = { peer: { address: '127.0.0.1' }, headers: { authorization: `Bearer ${TOKEN}` } }

interface Kept {
  readonly isFromClient: boolean
  readonly at: number
  readonly isBinary: boolean
  readonly text: string
  readonly length: number
  readonly isCut: boolean
}
interface Detail {
  readonly kind: string
  readonly url: string
  readonly status: number | null
  readonly messages: { readonly count: number; readonly kept: readonly Kept[] } | null
}

function inspected<R extends AnySchema | undefined = undefined>(
  options: WebSocketOptions<unknown, R>,
  server = new HttpServer({ logger: null }),
) {
  server.use(inspector({ token: TOKEN }))
  const route = websocket('/echo', options as WebSocketOptions<unknown>)
  server.use(route)
  server.mapGet('/text', () => 'text')
  const get = async (path: string): Promise<unknown> => (await server.inject({ url: path, ...HERE })).json()
  const details = async (): Promise<Detail[]> => {
    await new Promise(setImmediate) // observers are told in a later turn
    const list = (await get('/_weir/exchanges')) as { number: number }[]
    return Promise.all(list.map(async ({ number }) => (await get(`/_weir/exchanges/${number}`)) as Detail))
  }
  return { server, route, get, details }
}

const shown = ({ isFromClient, text }: Kept): string => `${isFromClient ? '>' : '<'} ${text}`

test('texts, bytes and broadcasts, in order, while the WebSocket is open', async () => {
  const { server, route, details, get } = inspected({
    open: (socket) => void socket.send('welcome'),
    message: (socket, data) => void socket.send(data),
  })
  await using socket = await connect(server).webSocket('/echo')
  await socket.next()
  for (const message of ['hello', Buffer.from([0, 255])]) {
    await socket.send(message)
    await socket.next()
  }
  route.broadcast(null, 'to all')
  await socket.next()
  await connect(server).get('/text')
  const [upgraded, plain] = await details()
  assert.equal(plain?.messages, null)
  const { count, kept } = upgraded!.messages!
  assert.deepEqual([count, kept.map(shown)], [6, ['< welcome', '> hello', '< hello', '> AP8=', '< AP8=', '< to all']])
  assert.deepEqual(
    kept.map(({ isBinary, length }) => [isBinary, length]),
    [
      [false, 7],
      [false, 5],
      [false, 5],
      [true, 2],
      [true, 2],
      [false, 6],
    ],
  )
  for (const { at } of kept) assert.ok(Math.abs(at - Date.now()) < 3_600_000)
  const har = (await get('/_weir/har')) as { log: { entries: { _webSocketMessages?: { type: string; opcode: number; data: string }[] }[] } }
  const [first, second] = har.log.entries
  assert.deepEqual(
    first?._webSocketMessages?.slice(0, 4).map(({ type, opcode, data }) => `${type} ${opcode} ${data}`),
    ['receive 1 welcome', 'send 1 hello', 'receive 1 hello', 'send 2 AP8='],
  )
  assert.equal(second && '_webSocketMessages' in second, false)
})

test('the last 100 are kept, and the beginning of each', async () => {
  const { server, details } = inspected({})
  await using socket = await connect(server).webSocket('/echo')
  for (let i = 0; i < 150; i++) await socket.send(`${i} ${'x'.repeat(2_000)}`)
  const { count, kept } = (await details())[0]!.messages!
  assert.deepEqual([count, kept.length, kept[0]?.text.slice(0, 3), kept[0]?.text.length], [150, 100, '50 ', 1_000])
  assert.deepEqual([kept[0]?.isCut, kept[0]?.length], [true, 2_003])
})

test('secrets are masked: by their names, by schemas, and those of the handshake and of earlier messages, also in bytes', async () => {
  const schema = t.object({ text: t.string, pin: t.string.secret().optional(), password: t.string.optional() })
  const { server, details } = inspected({ receives: schema, message: (socket, { text }) => void socket.send(text) })
  const client = connect(server)
  await using socket = await client.webSocket('/echo?token=query-secret', { headers: { Authorization: 'Bearer header-secret' } })
  const secrets = ['query-secret', 'header-secret', 'pin-secret', 'password-secret']
  await socket.send({ text: 'one', pin: 'pin-secret', password: 'password-secret' })
  await socket.next()
  for (const secret of secrets) {
    await socket.send({ text: `repeats ${secret}` })
    await socket.next()
  }
  await socket.send(Buffer.from('\xff header-secret', 'latin1'))
  await socket.closed()
  const { kept } = (await details())[0]!.messages!
  assert.equal(kept.length, 11)
  const texts = kept.map(({ text, isBinary }) => (isBinary ? Buffer.from(text, 'base64').toString('latin1') : text)).join('\n')
  for (const secret of secrets) assert.doesNotMatch(texts, new RegExp(secret))
  assert.match(texts, /repeats \w/)
})

test('the row of the end has the messages too', async () => {
  const { server, details } = inspected({ message: (socket, data) => void socket.send(data) })
  await using socket = await connect(server).webSocket('/echo')
  await socket.send('hello')
  await socket.next()
  await socket.close()
  const found = await details()
  assert.deepEqual(
    found.map(({ kind, status, messages }) => [kind, status, messages?.kept.map(shown)]),
    [
      ['request', 101, ['> hello', '< hello']],
      ['upgrade', null, ['> hello', '< hello']],
    ],
  )
})

test('a handshake that was refused has none', async () => {
  const { server, details } = inspected({})
  await assert.rejects(connect(server).webSocket('/text'))
  assert.equal((await details())[0]?.messages, null)
})

test('over HTTP/2', async (context) => {
  let details!: () => Promise<Detail[]>
  const { server } = await serveHttp2(context, (one) => {
    ;({ details } = inspected({ message: (socket, data) => void socket.send(data) }, one))
  })
  const { session } = await Http2Client.connect(context, server.port)
  const fields = { ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/echo', 'sec-websocket-version': '13' }
  const stream = session.request(fields, { endStream: false }).on('error', () => {})
  stream.write(frame(TEXT, 'hello'))
  let found: Detail[] = []
  await eventually(() => {
    void details().then((all) => (found = all))
    return found.some(({ messages }) => messages?.count === 2)
  }, 'two messages')
  assert.deepEqual(found[0]!.messages!.kept.map(shown), ['> hello', '< hello'])
})
