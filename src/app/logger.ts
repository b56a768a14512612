// Where the server tells its program what went wrong, whichever order of arguments the logger has.

import { isPromise } from '../base/is-promise.ts'

/** Where the server reports what went wrong: `console`, pino, or anything else with an `error` function. */
export interface Logger {
  error(message: string, detail?: unknown): void
  /** For what may be a mistake of the program. Without it, `error` is called. */
  warn?(message: string, detail?: unknown): void
}

/** What a message is about. Loggers that keep fields get it in addition to the error. */
export interface LogFields {
  readonly requestId?: string
  readonly connectionId?: string
}

/** pino and its kin take the fields first: `error({ err, requestId }, message)`. */
interface FieldLogger {
  error(fields: object, message: string): void
  warn?(fields: object, message: string): void
}

/** Never throws: a logger that fails must not cost a client its response, and there is nobody else to tell. */
export function logError(logger: Logger | null, message: string, error: unknown, fields: LogFields = {}): void {
  try {
    callError(logger, message, error, fields)
  } catch {
    try {
      // What a handler has thrown may itself throw when a logger reads it.
      callError(logger, `${message}, and the error cannot be shown`, undefined, fields)
    } catch {}
  }
}

function callError(logger: Logger | null, message: string, error: unknown, fields: LogFields): void {
  if (logger === null) return
  if (callsAsPino(logger)) ignoreFailure(logger.error({ err: error, ...fields }, message))
  else ignoreFailure(logger.error(fields.requestId === undefined ? message : `${message} (request ${fields.requestId})`, error))
}

/** Nobody waits for a logger that is asynchronous, but without this a rejection would end the process. */
function ignoreFailure(result: unknown): void {
  if (isPromise(result)) Promise.resolve(result).catch(() => {})
}

/** The same, for what may be a mistake of the program. */
export function logWarning(logger: Logger | null, message: string): void {
  try {
    if (logger === null) return
    const level = typeof logger.warn === 'function' ? 'warn' : 'error'
    ignoreFailure(callsAsPino(logger) ? logger[level]?.({}, message) : logger[level]?.(message))
  } catch {}
}

/** The logger as modules see it: they call any logger like `console`. */
export function moduleLogger(logger: Logger | null): Logger | null {
  if (logger === null) return null
  return {
    error: (message, detail) => logError(logger, message, detail),
    warn: (message) => logWarning(logger, message),
  }
}

/** pino, bunyan and loggers shaped like them have a `child` function. So does winston, which takes the message first; it is recognised by `transports`. */
function callsAsPino(logger: object): logger is FieldLogger {
  return 'child' in logger && typeof logger.child === 'function' && !('transports' in logger)
}
