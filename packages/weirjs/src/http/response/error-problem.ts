// Makes problem documents of errors. A client never sees more of an error than it may.

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
import { type Problem, problemOf } from './problem.ts'
import { shownFailures } from './shown-failures.ts'

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

/** The message, with what is shown of each failure. It tells of the failures in their order, unless the program has changed it. */
function detailOf({ message, failures }: ConversionError, shown: readonly BindingFailure[]): string {
  let detail = ''
  let at = 0
  for (const [i, failure] of failures.entries()) {
    const told = describeFailure(failure)
    const from = message.indexOf(told, at)
    if (from === -1) return failures.reduce((text, one, j) => text.replace(describeFailure(one), () => describeFailure(shown[j]!)), message)
    detail += message.slice(at, from) + describeFailure(shown[i]!)
    at = from + told.length
  }
  return detail + message.slice(at)
}

function describe(error: unknown): string {
  if (isInstance(error, Error)) return `${error.name}: ${error.message}`
  try {
    return String(error)
  } catch {
    return kindOf(error) // an object without a prototype cannot be converted to text
  }
}
