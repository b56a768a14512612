// What the demo plays on request: one at a time, begun by a POST. All pages follow it as server-sent events.

import { json, type Module, t, text } from 'weirjs'
import { SseChannel, sse } from 'weirjs/sse'

/** @param tell passes the whole state on: a page may come in the middle @param signal aborts when the server stops */
type Play = (tell: (state: object) => void, signal: AbortSignal) => Promise<void>

/**
 * `POST` begins it, or joins what is running; `GET` is the stream of its states, and the event `over` has the last one again. Other sites
 * cannot begin it: a browser lets no page send JSON to another site without its consent.
 */
export function show(path: string, summary: string, play: Play): Module {
  const channel = new SseChannel()
  let isRunning = false

  async function run(signal: AbortSignal): Promise<void> {
    isRunning = true
    let last: object | null = null
    const tell = (state: object): void => {
      last = state
      channel.send({ data: state })
    }
    try {
      await play(tell, signal)
    } catch (error) {
      tell({ error: (error as Error).message })
    }
    isRunning = false
    channel.send({ event: 'over', data: last })
  }

  return {
    name: path.slice(1),
    install(server) {
      const stream = { summary: `The states of ${path}`, answers: { 200: text('text/event-stream') } }
      server.mapGet(path, stream, (_, session) => sse(session, channel))
      const begin = { summary, body: json(t.object({})), answers: { 202: t.object({ joined: t.bool }) } }
      server.mapPost(path, begin, (_, { response }) => {
        const joined = isRunning
        if (!joined) void run(server.stopping)
        return response.status(202).json({ joined })
      })
    },
  }
}
