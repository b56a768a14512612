// A chat over WebSockets. Clients send plain text, and receive events in JSON.

import { type Module, t } from 'weirjs'
import { websocket } from 'weirjs/websocket'

const MAX_MESSAGE_BYTES = 500
const label = t.string.min(1).max(24)

type ChatEvent =
  | { readonly event: 'welcome'; readonly maxMessageBytes: number }
  | { readonly event: 'joined' | 'left'; readonly name: string; readonly people: readonly string[] }
  | { readonly event: 'said'; readonly name: string; readonly text: string }

/** `GET /chat/:room?name=`. All clients in the room receive every message in it, including its sender. */
export function chat(): Module {
  const route = websocket(
    '/chat/:room',
    { room: label, name: label },
    {
      maxMessageSize: MAX_MESSAGE_BYTES,
      open(socket) {
        const { room, name } = socket.args
        socket.join(room).send(JSON.stringify({ event: 'welcome', maxMessageBytes: MAX_MESSAGE_BYTES } satisfies ChatEvent))
        tell(room, { event: 'joined', name, people: peopleIn(room) })
      },
      message(socket, text) {
        if (typeof text !== 'string') return socket.close(1003, 'messages must be text')
        const { room, name } = socket.args
        tell(room, { event: 'said', name, text })
      },
      close({ args: { room, name } }) {
        tell(room, { event: 'left', name, people: peopleIn(room) })
      },
    },
  )

  function tell(room: string, event: ChatEvent): void {
    route.broadcast(room, JSON.stringify(event))
  }

  function peopleIn(room: string): string[] {
    return [...route.connections].filter(({ args }) => args.room === room).map(({ args }) => args.name)
  }

  return route
}
