// What an observer is told, as server-sent events: one record about every request, whatever became of it.

import { type ExchangeRecord, type Module, text } from 'weirjs'
import { SseChannel, sse } from 'weirjs/sse'

const RETRY_MS = 3000

/** `GET /records` is the stream. Requests for it are left out. */
export function records(): Module {
  const channel = new SseChannel()
  return {
    name: 'records',
    install(server) {
      server.observe({ end: (record) => record.route !== 'GET /records' && channel.send({ data: shown(record) }) })
      const stream = { summary: 'One event for each request', answers: { 200: text('text/event-stream') } }
      server.mapGet('/records', stream, (_, session) => sse(session, channel, { retry: RETRY_MS }))
    },
  }
}

/** Without paths and addresses: everybody who has the page open sees it. */
function shown({ kind, method, route, status, outcome, code, bytesIn, bytesOut, durationMs }: ExchangeRecord): object {
  return { kind, method, route, status, outcome, code, bytesIn, bytesOut, ms: Math.round(durationMs * 10) / 10 }
}
