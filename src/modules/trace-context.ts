// The trace that a request belongs to. `weir/opentelemetry` sets it, and logs repeat it.

import type { HttpRequest } from '../http/request/request.ts'
import { exchangeOf, type HttpSession } from '../http/session.ts'

/** Identifiers as W3C Trace Context writes them: 32 and 16 hexadecimal digits, in lower case. */
export interface TraceIds {
  readonly traceId: string
  readonly spanId: string
}

/** The traces of requests that have a span; null while nothing creates spans. */
let traces: WeakMap<HttpRequest, TraceIds> | null = null

/** The request has a span. */
export function setTrace(session: HttpSession, trace: TraceIds): void {
  traces ??= new WeakMap()
  traces.set(session.request, trace)
}

/** Version 00 has nothing after the flags; later versions may (W3C Trace Context §3.2). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:$|-)/

/** The trace of a request: that of its span, otherwise the one that a trusted proxy states. Null if there is none. */
export function traceOf(session: HttpSession): TraceIds | null {
  const own = traces?.get(session.request)
  if (own !== undefined) return own
  const { connection, head } = exchangeOf(session)
  // Any other client could put its requests into the trace of somebody else.
  if (connection.forwarding === null) return null
  const [, traceId, spanId] = TRACEPARENT.exec(head.get('traceparent') ?? '') ?? []
  return traceId === undefined || spanId === undefined ? null : { traceId, spanId }
}
