// What the types of WebSockets in contracts promise. Only tsc runs this file.

import { WebSocket as Other } from 'ws'

import { type ContractHandlers, HttpServer } from '../../src/index.ts'
import { client, contract, get, header, type Outline, openWebSocket, outlineOf, t, ws } from '../../src/modules/client/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Compiles only if `A` is exactly `B`. */
function is<A, B>(_equal: Equal<A, B>): void {}

const api = contract({
  user: get('/users/:id', { id: t.int, answers: { 200: t.string } }),
  chat: ws('/chat/:room', {
    since: t.int.optional(),
    receives: t.object({ text: t.string, at: t.dateTime.optional() }),
    sends: t.object({ from: t.string, at: t.dateTime }),
    summary: 'A chat',
  }),
  raw: ws('/raw'),
})

// @ts-expect-error pages cannot send header fields with a WebSocket
ws('/', { tenant: header('x-tenant', t.string) })
// @ts-expect-error not for clients
ws('/', { requestTimeout: 5 })
// @ts-expect-error no answers
ws('/', { answers: { 200: t.int } })
// @ts-expect-error not a schema
ws('/', { receives: 'json' })

const chat = websocket(api.chat, {
  open: (socket) => void socket.join(socket.args.room),
  message(socket, { text, at }) {
    is<typeof at, Date | undefined>(true)
    is<typeof socket.args.since, number | undefined>(true)
    socket.broadcast(socket.args.room, { from: text, at: at ?? new Date() })
    // @ts-expect-error a property is missing
    socket.send({ from: text })
  },
})
chat.broadcast(null, { from: 'server', at: new Date() })
// @ts-expect-error not a value of the schema
chat.broadcast(null, 'text')
// @ts-expect-error the entry has the schemas
websocket(api.chat, { receives: t.int })
// @ts-expect-error not a WebSocket
websocket(api.user, {})

const raw = websocket(api.raw, { message: (socket, data) => void socket.send(data) })
const user = ({ id }: { id: number }) => `${id}`
new HttpServer().mapContract(api, { user, chat, raw }, { chat: { use: [] } })
// @ts-expect-error `chat` is missing
new HttpServer().mapContract(api, { user, raw })
// @ts-expect-error the route of another entry
new HttpServer().mapContract(api, { user, chat: raw, raw })
// @ts-expect-error a function does not serve a WebSocket
new HttpServer().mapContract(api, { user, chat: () => 1, raw })
export class Shop implements ContractHandlers<typeof api> {
  readonly chat = chat
  readonly raw = raw
  user({ id }: { id: number }) {
    return `${id}`
  }
}

const shop = client(api, '')
is<keyof typeof shop, 'user'>(true)

const socket = openWebSocket(
  api.chat,
  'https://shop.example',
  { room: 'kitchen' },
  {
    open: (opened) => void opened.send({ text: 'hello', at: '2026-01-31T00:00:00Z' }),
    message(_, line) {
      is<typeof line, { from: string; at: string }>(true)
    },
    close: (closed, code) => is<typeof code, number>(true) ?? closed.state,
    retry: (attempt, code) => (code === 4001 ? null : attempt < 5 ? undefined : 1000),
    WebSocket: Other,
  },
)
// @ts-expect-error a time is sent as text
socket.send({ text: 'hello', at: new Date() })
// @ts-expect-error `text` is missing
socket.send({})
// @ts-expect-error `room` is missing
openWebSocket(api.chat, '', {})
// @ts-expect-error not a parameter
openWebSocket(api.chat, '', { room: 'a', other: 1 })
// @ts-expect-error not a WebSocket
openWebSocket(api.user, '', {})
openWebSocket(api.chat, '', async () => ({ room: 'kitchen', since: 5 }))
openWebSocket(api.raw, '', {}, { message: (_, data) => is<typeof data, string | Uint8Array>(true) }).send(new Uint8Array(1))

declare const outline: Outline<typeof api>
const outlined = openWebSocket<typeof api.chat>(outline.chat, '', { room: 'kitchen' })
is<typeof outlined, typeof socket>(true)
openWebSocket<typeof api.chat>(outlineOf(api).chat, '', { room: 'kitchen' })
