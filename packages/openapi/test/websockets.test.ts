// WebSockets in a document: the handshake is an operation, and an extension has the messages.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, t } from '../../weirjs/src/index.ts'
import { auth, basic } from '../../weirjs/src/modules/auth/index.ts'
import { contract, ws } from '../../weirjs/src/modules/client/index.ts'
import { websocket } from '../../weirjs/src/modules/websocket/index.ts'
import { openapi } from '../src/index.ts'

interface Operation {
  readonly operationId?: string
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly responses: object
  readonly security?: unknown
  readonly 'x-websocket'?: object
}
interface Document {
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> }
}

const Line = t.named('Line', t.object({ text: t.string, at: t.dateTime }))
const Draft = t.object({ text: t.string.default('hello') })

function newServer(): HttpServer {
  return new HttpServer({ logger: null }).use(openapi({ info: { title: 'Chat', version: '1' }, strict: true }))
}

async function documentOf(server: HttpServer): Promise<Document> {
  return (await server.inject('/openapi.json')).json() as Document
}

test('the handshake is an operation with its parameters and refusals, and the messages are in x-websocket', async () => {
  const server = newServer()
  const declaration = { since: t.int.optional(), summary: 'A chat' }
  server.use(websocket('/chat/:room', declaration, { receives: Draft, sends: Line }))
  const { paths, components } = await documentOf(server)
  const { get } = paths['/chat/{room}']!
  assert.deepEqual(
    get.parameters?.map(({ name, in: where }) => `${where} ${name}`),
    ['path room', 'query since'],
  )
  assert.deepEqual(Object.keys(get.responses), ['101', '400', '403', '426'])
  assert.deepEqual(get['x-websocket'], {
    receives: { type: 'object', properties: { text: { type: 'string', default: 'hello' } } },
    sends: { $ref: '#/components/schemas/Line' },
  })
  assert.ok(components?.schemas?.['Line'])
})

test('one of a contract has its name; policies and groups apply; messages without schemas have no member', async () => {
  const server = newServer()
  const api = contract({ chat: ws('/chat'), feed: ws('/feed', { sends: Line, operationId: 'live' }) })
  const guard = auth({ schemes: [basic({ users: () => null })] })
  server.group('/v1', { use: [guard] }).mapContract(api, { chat: websocket(api.chat, {}), feed: websocket(api.feed, {}) })
  const { paths } = await documentOf(server)
  const [chat, feed] = [paths['/v1/chat']!.get, paths['/v1/feed']!.get]
  assert.deepEqual([chat.operationId, chat['x-websocket']], ['chat', {}])
  assert.deepEqual([feed.operationId, feed['x-websocket']], ['live', { sends: { $ref: '#/components/schemas/Line' } }])
  assert.ok(chat.security)
  assert.deepEqual(Object.keys(chat.responses), ['101', '400', '401', '403', '426'])
})

test('include may leave them out', async () => {
  const include = ({ upgradesTo }: { readonly upgradesTo: string | null }): boolean => upgradesTo === null
  const server = new HttpServer({ logger: null }).use(openapi({ info: { title: 'Chat', version: '1' }, include }))
  server.use(websocket('/chat', {})).mapGet('/x', () => 'x')
  assert.deepEqual(Object.keys((await documentOf(server)).paths), ['/x'])
})
