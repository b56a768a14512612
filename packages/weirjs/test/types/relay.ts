// Relays, channels of events and rooms over them, by their types. Only tsc runs this file.

import { HttpServer } from '../../src/index.ts'
import { health } from '../../src/modules/health/index.ts'
import { memoryRelay, type Relay, type RelayChannel, relayChannel } from '../../src/modules/relay/index.ts'
import { SseChannel, type SseFeed, type SseSource, sse } from '../../src/modules/sse/index.ts'
import { type WebSocketRelayState, websocket } from '../../src/modules/websocket/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Expect<T extends true> = T

const relay: Relay = memoryRelay()
const news = relayChannel(relay, 'news', { whenFull: 'drop-oldest', gapEvent: { event: 'reload', data: null } })
export type _channel = Expect<Equal<typeof news, RelayChannel>>
export const id: string | null = await news.publish({ event: 'price', data: { usd: 4 } })
await news.publish('text', { once: 'job 17' })
await relay.publish('news', 'text', { once: 'job 17' })
// @ts-expect-error an id is a text
relay.publish('news', 'text', { once: 17 })
// @ts-expect-error the relay makes the ids
news.publish({ id: '1', data: 'x' })
// @ts-expect-error an event has a type of one word
news.publish({ event: 1 })
// @ts-expect-error the history is that of the relay
relayChannel(relay, 'news', { history: 10 })
// @ts-expect-error a client of Redis is no relay
relayChannel({ sendCommand: async () => null }, 'news')

// Both kinds of channels are sources; other objects with a size are not.
export const feeds: readonly SseFeed[] = [news, new SseChannel()]
export const sources: readonly SseSource[] = [news, new SseChannel()]
// @ts-expect-error a set is no source
export const noSource: SseSource = new Set<string>()
// @ts-expect-error nor is an object that looks like a channel
export const noFeed: SseFeed = { size: 0, subscribe: () => news.subscribe(null) }

const server = new HttpServer()
server.mapGet('/events', (_, session) => sse(session, news))
const chat = websocket('/chat/:room', { relay, channel: 'chat', onGap: () => {}, open: (socket) => void socket.join(socket.args.room) })
export type _state = Expect<Equal<typeof chat.relay, WebSocketRelayState | null>>
// @ts-expect-error the numbers are for reading
chat.relay!.ignored = 0
server.use(chat).use(health({ ready: { relay: { check: () => relay.isConnected, required: false } } }))
