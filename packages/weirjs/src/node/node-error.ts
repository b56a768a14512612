// Errors that code for Node passes on with `next(error)`, as weir's.

import { STATUS_CODES } from 'node:http'

import { type ErrorHeaders, HttpError, isInstance } from '../base/errors.ts'

/** What Express and its middleware add to errors: see the package `http-errors`. */
interface NodeHttpError extends Error {
  readonly status?: unknown
  readonly statusCode?: unknown
  /** Whether the client may see the message. */
  readonly expose?: unknown
  readonly headers?: unknown
}

/** An error that states a status from 400 to 599 becomes an `HttpError`; any other is itself. */
export function errorOf(error: unknown): unknown {
  if (!isInstance(error, Error) || isInstance(error, HttpError)) return error
  const { status, statusCode, expose, headers, message } = error as NodeHttpError
  const code = isErrorStatus(status) ? status : statusCode
  if (!isErrorStatus(code)) return error
  const shown = expose === false || message === '' ? (STATUS_CODES[code] ?? 'Error') : message
  try {
    return new HttpError(code, shown, { cause: error, headers: (headers as ErrorHeaders | null | undefined) ?? {} })
  } catch {
    return new HttpError(code, shown, { cause: error }) // the error has fields that cannot be sent
  }
}

function isErrorStatus(status: unknown): status is number {
  return Number.isInteger(status) && (status as number) >= 400 && (status as number) < 600
}
