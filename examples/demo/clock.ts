// A clock over server-sent events: one tick a second, the same for all listeners.

import { type Module, text } from 'weirjs'
import { SseChannel, sse } from 'weirjs/sse'

const TICK_MS = 1000
/** How long a browser waits before it reconnects: long enough to miss some ticks, and to see that it gets them. */
const RETRY_MS = 3000
/** How many ticks are kept for clients that reconnect. */
const KEPT_TICKS = 60

/** `GET /clock` is the stream. `POST /clock/end` ends it for all listeners, whose browsers then reconnect. */
export function clock(): Module {
  const channel = new SseChannel({ history: KEPT_TICKS })
  let ticks = 0
  let timer: NodeJS.Timeout | null = null

  /** Runs from the first listener on, and then even without any: a client that reconnects gets what it missed. */
  function begin(stopping: AbortSignal): void {
    if (timer !== null || stopping.aborted) return
    timer = setInterval(() => channel.send({ id: String(++ticks), data: { time: new Date() } }), TICK_MS)
    stopping.addEventListener('abort', end, { once: true })
  }

  function end(): void {
    if (timer !== null) clearInterval(timer)
    timer = null
  }

  return {
    name: 'clock',
    install(server) {
      const stream = { summary: 'One event a second', answers: { 200: text('text/event-stream') } }
      server.mapGet('/clock', stream, (_, session) => {
        begin(server.stopping)
        return sse(session, channel, { retry: RETRY_MS })
      })
      server.mapPost('/clock/end', { summary: 'Ends the stream for all listeners' }, () => channel.endAll())
    },
  }
}
