// Problem documents (RFC 9457): their members and their schema. Clients in browsers load this file.

import type { BindingFailure } from '../../base/errors.ts'
import { STATUS_CODES } from '../../base/status-codes.ts'
import type { Schema } from '../../schema/schema.ts'
import { t } from '../../schema/t.ts'

export const PROBLEM_TYPE = 'application/problem+json'

/**
 * A problem document (RFC 9457).
 * @example
 * server.mapGet('/users/:id', { answers: { 200: t.string, 404: Problem } }, (_, { response }) => response.notFound('There is no such user.'))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/errors.md
 */
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

/** A problem document for responses that a handler makes. */
export function problemOf(status: number, detail?: string): Problem {
  const title = STATUS_CODES[status] ?? 'Error'
  return detail === undefined ? { title, status } : { title, status, detail }
}
