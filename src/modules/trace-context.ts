// The trace that a request belongs to. `weir/opentelemetry` sets it, and logs repeat it.

import { headerOf } from '../http/request/request.ts'
import { bagKey, exchangeOf, type HttpSession } from '../http/session.ts'

/** Identifiers as W3C Trace Context writes them: 32 and 16 hexadecimal digits, in lower case. */
export interface TraceIds {
  readonly traceId: string
  readonly spanId: string
}

/** Set by what creates spans. */
export const TRACE = bagKey<TraceIds>('trace')

/** Version 00 has nothing after the flags; later versions may (W3C Trace Context §3.2). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:$|-)/

/** The trace of a request: that of its span, otherwise the one that a trusted proxy states. Null if there is none. */
export function traceOf(session: HttpSession): TraceIds | null {
  const own = session.bag.get(TRACE)
  if (own !== undefined) return own
  // Any other client could put its requests into the trace of somebody else.
  if (!session.peer.isTrusted) return null
  const [, traceId, spanId] = TRACEPARENT.exec(headerOf(exchangeOf(session).request, 'traceparent') ?? '') ?? []
  return traceId === undefined || spanId === undefined ? null : { traceId, spanId }
}
