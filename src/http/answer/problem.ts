// Problem documents (RFC 9457): what an error looks like to a client. Never more than it may see.

import { type BindingFailure, ConversionError, faultOf, HttpError, LimitError, WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { STATUS_CODES } from '../../base/status-codes.ts'

export interface Problem {
  /** Short name of the kind of problem: the status's reason phrase. */
  readonly title: string
  readonly status: number
  /** What went wrong this time. */
  readonly detail?: string
  /** Stable identifier: `WEIR_…` for weir's own. */
  readonly code?: string
  /** Which limit was crossed, and what it allows. */
  readonly limit?: string
  readonly maximum?: number
  /** Every parameter or property that could not be converted. */
  readonly errors?: readonly BindingFailure[]
}

/** A problem with a message, for answers that a handler makes. */
export function problemOf(status: number, detail?: string): Problem {
  const title = STATUS_CODES[status] ?? 'Error'
  return detail === undefined ? { title, status } : { title, status, detail }
}

/**
 * The document for an error that nobody caught. Errors that are not `HttpError`, and all from 500 on, keep their message to
 * themselves unless `debug` is on: it could name a file, a query or a secret.
 */
export function problemFor(error: unknown, debug: boolean): Problem {
  if (!(error instanceof HttpError)) {
    return debug ? { ...problemOf(500, describe(error)), code: 'WEIR_HANDLER_FAILED' } : { ...problemOf(500), code: 'WEIR_HANDLER_FAILED' }
  }
  const fault = faultOf(error)
  const mayShow = debug || (error instanceof WeirError ? fault === 'peer' || fault === 'limit' : error.status < 500)
  const problem: Record<string, unknown> = { ...problemOf(error.status, mayShow ? error.message : undefined), code: error.code }
  if (error instanceof LimitError) {
    problem['limit'] = error.limit
    problem['maximum'] = error.maximum
  }
  if (error instanceof ConversionError) problem['errors'] = error.failures
  return problem as unknown as Problem
}

function describe(error: unknown): string {
  if (error instanceof Error) return `${error.name}: ${error.message}`
  try {
    return String(error)
  } catch {
    return kindOf(error) // an object without a prototype has no text
  }
}
