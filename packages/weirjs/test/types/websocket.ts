// WebSocket routes with `receives` and `sends`, by their types. Only tsc runs this file.

import { t } from '../../src/index.ts'
import {
  type WebSocketConnection,
  type WebSocketHandlers,
  type WebSocketOptions,
  type WebSocketRoute,
  websocket,
} from '../../src/modules/websocket/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Expect<T extends true> = T

const Draft = t.object({ text: t.string, at: t.dateTime.optional() })
const Line = t.union(t.object({ kind: t.literal('line'), from: t.string, at: t.dateTime }), t.object({ kind: t.literal('left') }))

const chat = websocket('/chat/:room', {
  receives: Draft,
  sends: Line,
  open(socket) {
    const room: string = socket.args.room
    socket.send({ kind: 'line', from: room, at: new Date() })
    // @ts-expect-error a property is missing
    socket.send({ kind: 'line', from: room })
    // @ts-expect-error a text is not a value of the schema
    socket.send('line')
    // @ts-expect-error bytes are not either
    socket.broadcast(room, Buffer.from('line'))
  },
  message(socket, draft) {
    const text: string = draft.text
    socket.broadcast(socket.args.room, { kind: 'line', from: text, at: draft.at ?? new Date() })
    // @ts-expect-error the schema does not declare it
    return draft.to
  },
  close: (socket) => void socket.broadcast(null, { kind: 'left' }),
})
chat.broadcast('kitchen', { kind: 'left' })
for (const socket of chat.connections) socket.send({ kind: 'left' })
// @ts-expect-error no such kind
chat.broadcast('kitchen', { kind: 'joined' })

// Each may be alone, and a declaration may come before.
const heard = websocket('/heard', { receives: t.int, message: (socket, value) => void socket.send(value.toFixed(2)) })
export type _heard = Expect<Equal<typeof heard, ReturnType<typeof websocket<'/heard'>>>>
const told = websocket(
  '/told/:id',
  { id: t.int },
  { sends: t.array(t.int), message: (socket, data) => void socket.send([socket.args.id, data.length]) },
)
told.broadcast(null, [1, 2])
// @ts-expect-error not a list of numbers
told.broadcast(null, ['1'])
// @ts-expect-error not a schema
websocket('/wrong', { receives: 'json' })

// Without them, everything is as before.
const plain = websocket('/plain', {
  message(socket, data) {
    socket.send(typeof data === 'string' ? data : Buffer.from(data))
    // @ts-expect-error neither text nor bytes
    socket.send({ data })
  },
})
export type _plain = Expect<Equal<typeof plain, ReturnType<typeof websocket<'/plain'>>>>
const options: WebSocketOptions<unknown> = { message: (socket: WebSocketConnection, data) => void socket.send(data) }
export const handlers: WebSocketHandlers<unknown> = options
export const route: WebSocketRoute<unknown> = websocket('/', options)
// A caller of any path
export const room = <P extends string>(path: P, handlers: WebSocketOptions<object>) => websocket(path, handlers)
