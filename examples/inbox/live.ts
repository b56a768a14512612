// Messages as they are posted: server-sent events, and a WebSocket that also posts them.

import { type Module, t, text } from 'weirjs'
import { SseChannel, sse } from 'weirjs/sse'
import { websocket } from 'weirjs/websocket'

import type { Access } from './access.ts'
import { type Account, Name, type Store, Text } from './store.ts'

const Draft = t.object({ to: Name, text: Text })

export function live(store: Store, { auth, senderOf }: Access): Module {
  const channels = new WeakMap<Account, SseChannel>()
  const sockets = websocket('/socket', {
    maxMessageSize: 16 * 1024,
    open: (socket) => void socket.join(senderOf(socket.session).name),
    message: (socket, data) => void socket.send(JSON.stringify(post(senderOf(socket.session), String(data)))),
  })

  function post(sender: Account, data: string): object {
    try {
      const draft = Draft['~standard'].validate(JSON.parse(data))
      return draft.issues ? { error: draft.issues } : { posted: store.post(sender, store.find(draft.value.to), draft.value.text).id }
    } catch (error) {
      return { error: (error as Error).message }
    }
  }

  function channelOf(account: Account): SseChannel {
    if (!channels.has(account)) channels.set(account, new SseChannel({ history: 100 }))
    return channels.get(account)!
  }

  store.on('message', (message, account) => {
    channelOf(account).send({ id: String(message.id), event: 'message', data: message })
    sockets.broadcast(account.name, JSON.stringify({ message }))
  })
  store.on('revoked', (account) => {
    channelOf(account).endAll() // a browser with another session connects again
    for (const socket of sockets.connections) if (auth.principal(socket.session)?.id === account.name) socket.close(4401, 'sign in again')
  })

  return {
    name: 'live',
    install(host) {
      sockets.install(host)
      const stream = { summary: 'Sends new messages as events', answers: { 200: text('text/event-stream') } }
      host.mapGet('/events', stream, (_, session) => sse(session, channelOf(senderOf(session))))
    },
  }
}
