// Follows a stream of events through breaks, as `EventSource` does: typed, with header fields and a signal, and outside of browsers too.

import { type Answer, ClientError } from './answer.ts'
import type { Seen, ServerEvent } from './event-stream.ts'

export interface FollowOptions {
  /** Ends it: the iteration rejects with the reason. */
  readonly signal?: AbortSignal
  /** The id of the last event that was seen before, to continue after it. */
  readonly lastEventId?: string
}

/** The events of a response that is an event stream. */
type EventsOf<A> = A extends { readonly body: AsyncGenerator<infer E extends ServerEvent, void, undefined> } ? E : never

/** How long to wait before connecting again, unless the server states it by `retry`. */
const RETRY_MS = 2_000
const LONGEST_MS = 60_000
/** A server that states 0 is not called all the time while it is down. */
const LEAST_MS = 250
/** The longest time that a timer can wait for. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * Yields the events of a call, and calls again when the stream ends or breaks: `for await (const { data } of follow((options) => shop.ticks({},
 * options)))`. Each further call has the id of the last event in `Last-Event-ID`, and begins after the time that the server states by `retry` (2 s
 * without one). After a call that fails, the time doubles, up to 1 min or `retry`, and is at least what `Retry-After` states. `break` leaves the
 * stream.
 *
 * It ends when the server responds with 204. It rejects with any error of the first call, so that a mistake shows; later with `ClientError` for
 * statuses other than 408, 429 and 5xx, and with SyntaxError for data that is not JSON where JSON is declared.
 * @param call passes `options` on, which have `headers` and `signal`
 */
export async function* follow<A extends Answer>(
  call: (options: { readonly headers: Record<string, string>; readonly signal?: AbortSignal }) => Promise<A>,
  { signal, lastEventId = '' }: FollowOptions = {},
): AsyncGenerator<EventsOf<A>, void, undefined> {
  let seen: Seen = { id: lastEventId, retry: RETRY_MS }
  let failures = -1
  for (;;) {
    let least = 0
    try {
      const { id = '' } = seen
      // A field carries bytes, and the id is sent in UTF-8.
      const bytes = new TextEncoder().encode(id)
      const sent = bytes.reduce((text, byte) => text + String.fromCharCode(byte), '') // a server may choose more bytes than a call takes arguments
      const headers: Record<string, string> = id === '' ? {} : { 'Last-Event-ID': sent }
      const answer = await call({ headers, ...(signal && { signal }) })
      if (answer.status === 204) return
      const events = answer.body as AsyncGenerator<ServerEvent> | undefined
      if (typeof events?.next !== 'function') throw new ClientError('follow()', answer)
      failures = 0
      seen = Object.assign(answer.response as Seen, { id, retry: retryOf(seen) }) // the stream stores here what it has seen
      for await (const event of events) yield event as EventsOf<A>
    } catch (error) {
      const status = error instanceof ClientError ? error.status : 503
      const isTemporary = status >= 500 || status === 429 || status === 408
      if (failures < 0 || signal?.aborted || error instanceof SyntaxError || !isTemporary) throw error
      failures++
      if (error instanceof ClientError) least = Number(error.headers.get('retry-after')) * 1000 || 0
    }
    const retry = retryOf(seen)
    const grown = failures > 0 ? Math.max(retry, LEAST_MS) * 2 ** failures : retry
    const ms = Math.max(least, Math.min(grown, Math.max(LONGEST_MS, retry)))
    await pause(ms * (1 + Math.random() / 4), signal) // so that not all clients return in the same instant
  }
}

function retryOf({ retry = RETRY_MS }: Seen): number {
  return retry >= 0 ? retry : RETRY_MS
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal!.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', abort)
        resolve()
      },
      Math.min(ms, LONGEST_TIMER_MS),
    )
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort)
  })
}
