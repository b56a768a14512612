// Reports to the host program what went wrong, in the order of arguments that its logger expects.

import { systemClock } from '../base/clock.ts'
import { isPromise } from '../base/is-promise.ts'
import { RepeatedLines } from './repeated-lines.ts'

/**
 * Receives reports of what went wrong: `console`, pino, or anything else with an `error` function.
 * @example
 * const logger: Logger = { error: (message, error) => console.error(message, error) }
 * new HttpServer({ logger })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/logging.md
 */
export interface Logger {
  error(message: string, detail?: unknown): void
  /** Called for what may be a mistake in the program. If it is missing, `error` is called. */
  warn?(message: string, detail?: unknown): void
  /** Called with messages for the person who has started the server, such as the link of the inspector. If it is missing, such messages are dropped. */
  info?(message: string): void
}

/** What a message is about. Loggers with structured fields get it in addition to the error. */
interface LogFields {
  readonly requestId?: string
  readonly connectionId?: string
}

/** pino and similar loggers accept the fields first: `error({ err, requestId }, message)`. */
interface FieldLogger {
  error(fields: object, message: string): void
  warn?(fields: object, message: string): void
  info?(fields: object, message: string): void
}

/** Never throws: if a logger fails, the client must still get its response, and there is nowhere else to report. */
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

/** An asynchronous logger is not waited for, but without this a rejection would end the process. */
function ignoreFailure(result: unknown): void {
  if (isPromise(result)) Promise.resolve(result).catch(() => {})
}

/** Logs connections that could not be accepted. Clients can cause that as often as they like. */
export function acceptLog(logger: Logger | null): (error: Error) => void {
  const lines = new RepeatedLines()
  return (error) => {
    const more = lines.admit('code' in error ? String(error.code) : error.name, systemClock.now())
    if (more !== null) logError(logger, `weir: a connection could not be accepted${more}`, error)
  }
}

/** Like `logError`, for what may be a mistake in the program. */
export function logWarning(logger: Logger | null, message: string): void {
  try {
    if (logger === null) return
    const level = typeof logger.warn === 'function' ? 'warn' : 'error'
    ignoreFailure(callsAsPino(logger) ? logger[level]?.({}, message) : logger[level]?.(message))
  } catch {}
}

/** The same, for what a person should read. */
function logInfo(logger: Logger, message: string): void {
  try {
    ignoreFailure(callsAsPino(logger) ? logger.info?.({}, message) : logger.info?.(message))
  } catch {}
}

/** The logger for modules, which call any logger like `console`. */
export function moduleLogger(logger: Logger | null): Logger | null {
  if (logger === null) return null
  return {
    error: (message, detail) => logError(logger, message, detail),
    warn: (message) => logWarning(logger, message),
    info: (message) => logInfo(logger, message),
  }
}

/**
 * pino, bunyan and loggers shaped like them have a `child` function. So does winston, which accepts the message first; it is recognised by
 * its `transports`.
 */
function callsAsPino(logger: object): logger is FieldLogger {
  return 'child' in logger && typeof logger.child === 'function' && !('transports' in logger)
}
