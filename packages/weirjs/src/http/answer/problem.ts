// Problem documents (RFC 9457): what a client sees of an error, and never more than it may see.

import type { ErrorCode } from '../../base/error-codes.ts'
import {
  type BindingFailure,
  ConversionError,
  describeFailure,
  faultOf,
  HttpError,
  isInstance,
  LimitError,
  RetryLaterError,
  UnsupportedError,
  WeirError,
} from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { STATUS_CODES } from '../../base/status-codes.ts'
import type { Schema } from '../../schema/schema.ts'
import { t } from '../../schema/t.ts'
import { shownFailures } from './shown-failures.ts'

export const PROBLEM_TYPE = 'application/problem+json'

/** A problem document (RFC 9457). */
export interface Problem {
  /** A URI that identifies the kind of problem. Default: `about:blank`, which means that `title` says no more than `status` does. */
  readonly type?: string
  /** Short name of the kind of problem. Without `type`, the reason phrase of the status. */
  readonly title: string
  readonly status: number
  /** What went wrong in this case. */
  readonly detail?: string
  /** A URI that identifies this case. */
  readonly instance?: string
  /** Stable identifier; `WEIR_…` for weir's own errors. */
  readonly code?: string
  /** Name of the limit that was exceeded. */
  readonly limit?: string
  /** What the limit allows. */
  readonly maximum?: number
  /** With 415: the content types, charsets or extensions that are accepted. */
  readonly accepted?: readonly string[]
  /** Every parameter or property that could not be converted. */
  readonly errors?: readonly BindingFailure[]
  /** Names of the limits that refuse the request. */
  readonly 'violated-policies'?: readonly string[]
  /** With `debug`: why the request was answered so, as `server.explain` returns it. */
  readonly explanation?: unknown
}

const FAILURE = t.object({
  name: t.string,
  in: t.enum('path', 'query', 'header', 'cookie', 'body'),
  pointer: t.string.optional(),
  expected: t.string,
  actual: t.string.optional(),
})

/** The schema of problem documents, for `answers: { 404: Problem }`. Such an answer is sent as `application/problem+json`. */
export const Problem: Schema<Problem, Problem> = t.named(
  'Problem',
  t.object({
    type: t.string.optional(),
    title: t.string,
    status: t.int,
    detail: t.string.optional(),
    instance: t.string.optional(),
    code: t.string.optional(),
    limit: t.string.optional(),
    maximum: t.number.optional(),
    accepted: t.array(t.string).optional(),
    errors: t.array(FAILURE).optional(),
    'violated-policies': t.array(t.string).optional(),
  }),
)

/** The types of draft-ietf-httpapi-ratelimit-headers-11 §5, with their titles. */
const RETRY_LATER_TYPES: Readonly<Partial<Record<ErrorCode, readonly [type: string, title: string]>>> = {
  WEIR_QUOTA_EXCEEDED: [
    'https://iana.org/assignments/http-problem-types#quota-exceeded',
    'Request cannot be satisfied as assigned quota has been exceeded',
  ],
  WEIR_OVERLOADED: [
    'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
    'Request cannot be satisfied due to temporary server capacity constraints',
  ],
}

/** A problem document for responses that a handler makes. */
export function problemOf(status: number, detail?: string): Problem {
  const title = STATUS_CODES[status] ?? 'Error'
  return detail === undefined ? { title, status } : { title, status, detail }
}

/**
 * The problem document for an uncaught error. The message of an error that is not an `HttpError`, or whose status is 500 or above, is
 * hidden unless `debug` is on: it could contain a file name, a query or a secret.
 */
export function problemFor(error: unknown, debug: boolean): Problem {
  if (!isInstance(error, HttpError)) {
    return debug ? { ...problemOf(500, describe(error)), code: 'WEIR_HANDLER_FAILED' } : { ...problemOf(500), code: 'WEIR_HANDLER_FAILED' }
  }
  const fault = faultOf(error)
  const mayShow = debug || (isInstance(error, WeirError) ? fault === 'peer' || fault === 'limit' : error.status < 500)
  const problem: { -readonly [K in keyof Problem]: Problem[K] } = {
    ...problemOf(error.status, mayShow ? error.message : undefined),
    code: error.code,
  }
  if (isInstance(error, LimitError)) {
    problem.limit = error.limit
    problem.maximum = error.maximum
  }
  if (isInstance(error, UnsupportedError) && error.accepted.length > 0) problem.accepted = error.accepted
  if (isInstance(error, RetryLaterError)) {
    const [type, title] = RETRY_LATER_TYPES[error.code]!
    return { type, ...problem, title, 'violated-policies': error.violatedPolicies }
  }
  if (isInstance(error, ConversionError)) {
    problem.errors = shownFailures(error.failures)
    if (mayShow) problem.detail = detailOf(error, problem.errors)
  }
  return problem
}

/** The message, with what is shown of each failure. */
function detailOf({ message, failures }: ConversionError, shown: readonly BindingFailure[]): string {
  return failures.reduce((text, failure, i) => text.replace(describeFailure(failure), () => describeFailure(shown[i]!)), message)
}

function describe(error: unknown): string {
  if (isInstance(error, Error)) return `${error.name}: ${error.message}`
  try {
    return String(error)
  } catch {
    return kindOf(error) // an object without a prototype cannot be converted to text
  }
}
