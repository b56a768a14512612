// The record of one exchange while it is being written. The engine fills it in, and freezes it before observers see it.

import { ERRORS, type ErrorCode } from '../../base/error-codes.ts'
import type { ExchangeRecord, ExchangeStart, Outcome, RecordKind } from '../../http/exchange-record.ts'
import type { HttpSession } from '../../http/session.ts'

/** Errors with a fixed outcome. The outcome of any other error depends on its fault and on the response. */
const OUTCOMES = new Map<string, Outcome>(
  Object.entries({
    WEIR_HEAD_TIMEOUT: 'timeout',
    WEIR_BODY_TOO_SLOW: 'timeout',
    WEIR_WRITE_TIMEOUT: 'timeout',
    WEIR_REQUEST_TIMEOUT: 'timeout',
    WEIR_CLIENT_GONE: 'client-gone',
    WEIR_BODY_TRUNCATED: 'client-gone',
    WEIR_SERVER_STOPPED: 'stopped',
  }),
)

/** Node's errors of TLS handshakes. A request that fails with one of them failed because of another connection, which the program has opened. */
const TLS_OUTCOMES = new Map<string, Outcome>(
  Object.entries({ ERR_TLS_HANDSHAKE_TIMEOUT: 'timeout', ECONNRESET: 'client-gone', EPIPE: 'client-gone' }),
)

export class Recording implements ExchangeRecord {
  readonly kind: RecordKind
  readonly route: string | null
  readonly method: string | null
  readonly protocol: string | null
  status: number | null = null
  interimResponses = 0
  outcome: Outcome = 'completed'
  error: unknown = null
  code: string | null = null
  bytesIn = 0
  bytesOut = 0
  readonly startedAt: number
  firstByteMs: number | null = null
  durationMs = 0
  readonly clientAddress: string
  readonly connectionId: string | null
  readonly requestId: string | null
  firstBytes: string | null = null
  /** How many observers there were at the begin. */
  readonly #audience: number
  readonly #session: HttpSession | null
  /** The clock of the durations: milliseconds with fractions. */
  readonly #now: () => number
  readonly #begunAt: number

  constructor(
    kind: RecordKind,
    route: string | null,
    method: string | null,
    protocol: string | null,
    now: () => number,
    begunAt: number,
    startedAt: number,
    clientAddress: string,
    connectionId: string | null,
    requestId: string | null,
    session: HttpSession | null,
    audience: number,
  ) {
    this.kind = kind
    this.route = route
    this.method = method
    this.protocol = protocol
    this.startedAt = startedAt
    this.clientAddress = clientAddress
    this.connectionId = connectionId
    this.requestId = requestId
    this.#session = session
    this.#audience = audience
    this.#now = now
    this.#begunAt = begunAt
  }

  /** How many observers are told about the end: the first ones in the list, which were there at the beginning. */
  get audience(): number {
    return this.#audience
  }

  /** A getter, not an own property: records are logged as JSON, and a session has no JSON form. */
  get session(): HttpSession | null {
    return this.#session
  }

  /** The response begins now. If it is short, this is also its end. @param now by the clock of the durations, if it has been read */
  markFirstByte(status: number | null, now: number = this.#now()): void {
    this.status = status
    this.firstByteMs = now - this.#begunAt
    this.durationMs = this.firstByteMs
  }

  /** The response, or whatever else is recorded, ends now. @param now by the clock of the durations, if it has been read */
  markEnd(now: number = this.#now()): void {
    this.durationMs = now - this.#begunAt
  }

  /** The response answers `error`. */
  answers(error: unknown): void {
    this.#blame(error, this.status)
  }

  /** `error` ended it now, whatever had been sent. Does nothing if an error is already recorded. */
  abort(error: unknown): void {
    this.markEnd()
    this.#blame(error, null)
  }

  #blame(error: unknown, status: number | null): void {
    if (this.error !== null) return
    this.error = error
    this.code = codeOf(error)
    this.outcome = outcomeOf(this.kind, this.code, status)
  }

  /** What is known at the beginning. */
  get start(): ExchangeStart {
    return new Start(this)
  }
}

class Start implements ExchangeStart {
  readonly kind: 'request' | 'upgrade'
  readonly route: string | null
  readonly method: string
  readonly protocol: string
  readonly startedAt: number
  readonly clientAddress: string
  readonly connectionId: string
  readonly requestId: string
  readonly #session: HttpSession

  constructor(recording: Recording) {
    this.kind = recording.kind as 'request' | 'upgrade'
    this.route = recording.route
    this.method = recording.method!
    this.protocol = recording.protocol!
    this.startedAt = recording.startedAt
    this.clientAddress = recording.clientAddress
    this.connectionId = recording.connectionId!
    this.requestId = recording.requestId!
    this.#session = recording.session!
    Object.freeze(this)
  }

  get session(): HttpSession {
    return this.#session
  }
}

/** Never throws: what a program has thrown may itself throw when it is read. */
function codeOf(error: unknown): string | null {
  try {
    const code: unknown = (error as { readonly code?: unknown } | null | undefined)?.code
    return typeof code === 'string' ? code : null
  } catch {
    return null
  }
}

function outcomeOf(kind: RecordKind, code: string | null, status: number | null): Outcome {
  const certain = code === null ? undefined : (OUTCOMES.get(code) ?? (kind === 'tls' ? TLS_OUTCOMES.get(code) : undefined))
  if (certain !== undefined) return certain
  const fault = code !== null && Object.hasOwn(ERRORS, code) ? ERRORS[code as ErrorCode].fault : null
  if (fault === 'peer' || fault === 'limit' || kind === 'tls') return 'refused'
  if (status === null || status >= 500) return 'failed'
  return status >= 400 ? 'refused' : 'completed' // `onError` has turned it into a successful response
}
