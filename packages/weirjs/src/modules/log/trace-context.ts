// The trace that a request belongs to, for logs.

import type { HttpSession } from '../../http/session.ts'
import { type ExchangeHandle, exchange } from '../kit/exchange.ts'

/** Version 00 has nothing after the flags; later versions may (W3C Trace Context §3.2). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:$|-)/

/** The trace of a request: the trace of its span, otherwise the trace that a trusted proxy names. Null if there is none. */
export function traceOf(session: HttpSession): ExchangeHandle['span'] {
  const handle = exchange(session)
  const { span } = handle
  if (span !== null) return span
  // Any other client could put its requests into the trace of someone else.
  if (!handle.isForwarded) return null
  const [, traceId, spanId] = TRACEPARENT.exec(handle.field('traceparent') ?? '') ?? []
  return traceId === undefined || spanId === undefined ? null : { traceId, spanId }
}
