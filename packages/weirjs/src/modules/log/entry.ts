// Makes the entry of a log line from a record, without values that must not be logged.

import type { ExchangeRecord, Outcome, RecordKind } from '../../http/exchange-record.ts'
import type { HttpSession } from '../../http/session.ts'

import { exchange } from '../kit/exchange.ts'
import type { RedactedReader } from '../kit/redaction.ts'
import { traceOf } from './trace-context.ts'

/**
 * One line of the access log. In `format` functions and for loggers, texts of clients are escaped: they are printable ASCII, in which `"` and
 * `\` follow a backslash. Null: not known, or the request has none.
 */
export interface AccessLogEntry {
  readonly kind: RecordKind
  /** Milliseconds since 1970: when the head was complete. */
  readonly startedAt: number
  readonly clientAddress: string
  /** What the option `user` returns. */
  readonly user: string | null
  readonly method: string | null
  /** Path and query as sent, without the values that are hidden. For a broken head, the beginning of its first line. */
  readonly url: string | null
  readonly protocol: string | null
  /** Of the Host field. */
  readonly host: string | null
  /** Method and template of the matched route. */
  readonly route: string | null
  /** The status of the response; 499 if the client left before the response was complete, 0 if there was none. */
  readonly status: number
  readonly outcome: Outcome
  /** For a call of gRPC or Connect: what its client is told, such as `OK` or `NOT_FOUND`. */
  readonly rpcStatus: string | null
  /** The code of the error, such as `WEIR_BODY_TOO_LARGE`. */
  readonly code: string | null
  readonly bytesIn: number
  readonly bytesOut: number
  readonly firstByteMs: number | null
  readonly durationMs: number
  /** Whether `durationMs` is at least `slowMs`. */
  readonly isSlow: boolean
  readonly referer: string | null
  readonly userAgent: string | null
  /** The fields that the option `fields` lists, if the request has them. Names in lower case. */
  readonly fields: Readonly<Record<string, string>> | null
  readonly connectionId: string | null
  readonly requestId: string | null
  readonly traceId: string | null
  readonly spanId: string | null
}

/** The settings of a log that affect its entries. */
export interface EntrySettings {
  readonly redaction: RedactedReader
  /** Names of fields, in lower case: first `SHOWN_FIELDS`, which every entry has, then the fields of the option. */
  readonly fields: readonly string[]
  readonly user: ((session: HttpSession) => string | null | undefined) | null
  readonly slowMs: number
}

/** The fields that have members of their own in every entry. */
export const SHOWN_FIELDS = ['referer', 'user-agent'] as const

/** The most characters of method and host; `redaction` bounds the other texts of a client. */
const MOST_CHARS = 4_096
/** Clients that left (nginx uses the same number). */
const CLIENT_GONE = 499

/** The entry of a record, with texts as clients sent them. */
export function entryOf(record: ExchangeRecord, settings: EntrySettings): AccessLogEntry {
  const { session, kind, outcome, firstBytes, durationMs } = record
  const { redaction, slowMs, user, fields } = settings
  // Not the members of the session and its request, which a handler may have replaced.
  const trace = session === null ? null : traceOf(session)
  const host = session === null ? '' : exchange(session).statedHost
  const values = session === null ? null : redaction.fields(session, fields)
  return {
    kind,
    startedAt: record.startedAt,
    clientAddress: record.clientAddress,
    user: session === null ? null : (user?.(session) ?? null),
    method: record.method === null ? null : shortened(record.method),
    url: session !== null ? redaction.urlOf(session) : firstBytes === null ? null : redaction.excerpt(firstBytes),
    protocol: record.protocol,
    host: host === '' ? null : shortened(host),
    route: record.route,
    status: outcome === 'client-gone' && isHttp(kind) ? CLIENT_GONE : (record.status ?? 0),
    outcome,
    rpcStatus: session === null ? null : (exchange(session).rpc?.status ?? null),
    code: record.code,
    bytesIn: record.bytesIn,
    bytesOut: record.bytesOut,
    firstByteMs: record.firstByteMs,
    durationMs,
    isSlow: kind === 'request' && durationMs >= slowMs,
    referer: values === null ? null : values[0]!,
    userAgent: values === null ? null : values[1]!,
    fields: values === null || fields.length === SHOWN_FIELDS.length ? null : fieldsOf(fields, values),
    connectionId: record.connectionId,
    requestId: record.requestId,
    traceId: trace === null ? null : trace.traceId,
    spanId: trace === null ? null : trace.spanId,
  }
}

function shortened(text: string): string {
  return text.length <= MOST_CHARS ? text : `${text.slice(0, MOST_CHARS)}...`
}

function isHttp(kind: RecordKind): boolean {
  return kind === 'request' || kind === 'head'
}

/** The fields that the option `fields` lists. */
function fieldsOf(names: readonly string[], values: readonly (string | null)[]): Record<string, string> {
  const found: Record<string, string> = Object.create(null) as Record<string, string>
  for (let i = SHOWN_FIELDS.length; i < names.length; i++) {
    const value = values[i]!
    if (value !== null) found[names[i]!] = value
  }
  return found
}

/** The entry with every text of the client as `safe` writes it. */
export function escapedEntry(entry: AccessLogEntry, safe: (text: string) => string): AccessLogEntry {
  const safeIf = (text: string | null): string | null => (text === null ? null : safe(text))
  return {
    ...entry,
    clientAddress: safe(entry.clientAddress),
    user: safeIf(entry.user),
    method: safeIf(entry.method),
    // The excerpt of a broken head is already escaped, apart from quotes.
    url: entry.kind === 'head' ? (entry.url === null ? null : quotesEscaped(entry.url)) : safeIf(entry.url),
    protocol: safeIf(entry.protocol),
    host: safeIf(entry.host),
    referer: safeIf(entry.referer),
    userAgent: safeIf(entry.userAgent),
    fields: entry.fields === null ? null : Object.fromEntries(Object.entries(entry.fields).map(([name, value]) => [name, safe(value)])),
  }
}

export function quotesEscaped(text: string): string {
  return text.replaceAll('"', '\\"')
}
