// Server-sent events (WHATWG HTML §9.2), which a handler sends by returning `sse(…)`.

import { Buffer } from 'node:buffer'
import type { Duration } from '../../base/duration.ts'
import { kindOf } from '../../base/kind-of.ts'
import { duration, object } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { HttpRequest } from '../../http/request/request.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'

import { responseHandle } from '../kit/response.ts'
import { encodeEvent, type SseEvent } from './event.ts'
import { SseFeed } from './feed.ts'
import { type LateSource, type OpenSource, type SourceItem, SseStream } from './stream.ts'

/**
 * Where the events for one client come from: a channel, an async iterable, or a function that returns one. A function is called when the
 * response begins. It receives a signal that aborts when the client has left or the server stops; pass it on to what the iterable waits
 * for.
 */
export type SseSource = SseFeed | AsyncIterable<SseEvent | string> | ((signal: AbortSignal) => AsyncIterable<SseEvent | string>)

export interface SseOptions {
  /** How long a stream may be silent before a comment is sent, null: never. Default 15 s. */
  readonly heartbeat?: Duration | null
  /** How long the client waits before it reconnects. Default: the client decides, 3 s in Chromium. */
  readonly retry?: Duration
  /**
   * The last event of a stream that ends because the server stops. Default: a comment. `{ retry: 10_000 }` keeps clients away for 10 s.
   */
  readonly farewell?: SseEvent
}

/** @internal */
export const SSE_RULES = rules<SseOptions>('sse')(
  {
    heartbeat: duration().nullable().or('15s'),
    retry: duration({ least: 0 }).optional("the client's"),
    farewell: object().or({ comment: 'the server is stopping' }, 'a comment'),
  },
  { elsewhere: { keepAlive: 'heartbeat', ping: 'heartbeat', pingInterval: 'heartbeat' } },
)

/**
 * Prepares a stream of events on `session.response`, and returns that response for the handler to return. The stream ends with its source,
 * when the client leaves, and when the server stops. Events are requested from the source no faster than the client reads.
 *
 * @throws WEIR_OPTION_INVALID; WEIR_RESULT_UNSENDABLE for a farewell that cannot be sent
 */
export function sse<S>(
  session: S & (S extends HttpSession ? unknown : 'the session is the first argument: sse(session, source)'),
  source: SseSource,
  options?: SseOptions,
): HttpResponse
export function sse(session: HttpSession, source: SseSource, options: SseOptions = {}): HttpResponse {
  const { heartbeat, retry, farewell } = SSE_RULES.read(options)
  if (session?.response === undefined) throw invalid('sse', `the first argument must be the session, not ${kindOf(session)}`)
  if (!isSource(source))
    throw invalid('sse', `the source must be a channel, an async iterable or a function that returns one, not ${kindOf(source)}`)
  const seen = SseFeed.is(source) ? lastEventId(session.request) : null
  // Not for clients that have seen less.
  if (seen !== null && (source as SseFeed).isOver(seen)) return session.response.header('Cache-Control', 'no-cache').noContent()
  if (SseFeed.is(source)) source.admit(session)
  const stream = new SseStream(sourceOf(session, source), session.server.stopping, {
    greeting: encodeEvent(retry === undefined ? { comment: '' } : { retry }),
    farewell: encodeEvent(farewell),
    heartbeatMs: heartbeat,
  })
  const response = session.response
    .header('Cache-Control', 'no-cache')
    .header('X-Accel-Buffering', 'no')
    .stream(stream, 'text/event-stream')
  responseHandle(response).onSignOut = () => void stream.return()
  return response
}

function isSource(source: unknown): boolean {
  if (typeof source === 'function' || SseFeed.is(source)) return true
  return typeof source === 'object' && source !== null && Symbol.asyncIterator in source
}

/** Listens to a channel only once the response begins. */
function sourceOf(session: HttpSession, source: SseSource): AsyncIterable<SourceItem> | OpenSource | LateSource {
  if (!SseFeed.is(source)) return source
  // Read when it is needed: a stream that kept it would keep what a client has sent for as long as it lasts.
  return { open: () => source.subscribe(lastEventId(session.request), session) }
}

/** The id of the last event that a reconnecting client saw; null if it sent none. Untrusted, like everything that a client sends. */
export function lastEventId(request: HttpRequest): string | null {
  const value = request.header('last-event-id')
  // Clients send the id in UTF-8, but fields are decoded as latin1.
  return value === null || value === '' ? null : Buffer.from(value, 'latin1').toString('utf8')
}
