// Server-sent events (WHATWG HTML §9.2): what a handler returns to send them. The entry `weir/sse`.

import { Buffer } from 'node:buffer'
import { WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { checkNames, invalid, namesOf } from '../../base/options.ts'
import type { HttpResponse } from '../../http/answer/response.ts'
import type { HttpRequest } from '../../http/request/request.ts'
import type { HttpSession } from '../../http/session.ts'

import { SseChannel } from './channel.ts'
import { encodeEvent, type SseEvent } from './event.ts'
import { type OpenSource, type SourceItem, SseStream } from './stream.ts'

/**
 * Where the events of one client come from: a channel, an async iterable, or a function that gives one. A function is called when the answer
 * begins; its signal aborts when the client has left or the server stops, and what the iterable waits for should end with it.
 */
export type SseSource = SseChannel | AsyncIterable<SseEvent | string> | ((signal: AbortSignal) => AsyncIterable<SseEvent | string>)

export interface SseOptions {
  /** How long a client is left without a word before a comment is sent, in milliseconds; null: for ever. Default 15 s. */
  readonly heartbeat?: number | null
  /** How long the client waits before it comes again, in milliseconds. Default: up to the client, 3 s in Chromium. */
  readonly retry?: number
  /** Sent last when the server stops, behind which the stream ends. Default: a comment. `{ retry: 10_000 }` keeps clients away for a while. */
  readonly farewell?: SseEvent
}

const OPTION_NAMES = namesOf<SseOptions>()(['heartbeat', 'retry', 'farewell'])
const DEFAULT_HEARTBEAT_MS = 15_000
const DEFAULT_FAREWELL: SseEvent = { comment: 'the server stops' }

/**
 * Answers with a stream of events, on `session.response`: return what it gives. It ends when the source does, when the client leaves and when
 * the server stops. The source is asked no faster than the client reads.
 * @throws WEIR_OPTION_INVALID, WEIR_RESULT_UNSENDABLE for a farewell that cannot be sent
 */
export function sse(session: HttpSession, source: SseSource, options: SseOptions = {}): HttpResponse {
  checkNames('sse', options, OPTION_NAMES)
  if (!isSource(source))
    throw invalid('sse', `the source is a channel, an async iterable or a function that gives one, not ${kindOf(source)}`)
  const { heartbeat = DEFAULT_HEARTBEAT_MS, retry, farewell = DEFAULT_FAREWELL } = options
  if (heartbeat !== null && !(heartbeat > 0)) throw new WeirError('WEIR_OPTION_INVALID', `heartbeat is ${heartbeat}`)
  const stream = new SseStream(sourceOf(session, source), session.server.stopping, {
    greeting: encodeEvent(retry === undefined ? { comment: '' } : { retry }),
    farewell: encodeEvent(farewell),
    heartbeatMs: heartbeat,
  })
  return session.response.header('Cache-Control', 'no-cache').header('X-Accel-Buffering', 'no').stream(stream, 'text/event-stream')
}

function isSource(source: unknown): boolean {
  if (typeof source === 'function' || source instanceof SseChannel) return true
  return typeof source === 'object' && source !== null && Symbol.asyncIterator in source
}

/** A channel is listened to from the moment at which the answer begins. */
function sourceOf(session: HttpSession, source: SseSource): AsyncIterable<SourceItem> | OpenSource {
  if (!(source instanceof SseChannel)) return source
  const lastId = lastEventId(session.request)
  return () => source.subscribe(lastId)
}

/** The id of the last event that a client saw which comes again; null when it saw none. Untrusted, like all that a client sends. */
export function lastEventId(request: HttpRequest): string | null {
  const value = request.header('last-event-id')
  // Sent as UTF-8, read as one byte a character.
  return value === null || value === '' ? null : Buffer.from(value, 'latin1').toString('utf8')
}
