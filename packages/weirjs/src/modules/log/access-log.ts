// `weirjs/log`: one line for each exchange, to a stream or a logger.

import type { Module, ModuleHost } from '../../app/module-host.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { Duration } from '../../base/duration.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { duration, func, oneOfOr, readBy, size, text, tokens } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { Size } from '../../base/size.ts'
import { SECRET_QUERY } from '../../formats/masking/secret-words.ts'
import type { ExchangeRecord } from '../../http/exchange-record.ts'
import type { HttpSession } from '../../http/session.ts'
import { redaction } from '../kit/redaction.ts'
import type { MetricFamily, MetricSource } from '../metrics/metric-source.ts'
import { type AccessLogEntry, type EntrySettings, entryOf, escapedEntry, SHOWN_FIELDS } from './entry.ts'
import { combinedLine, jsonLine, timeMember } from './formats.ts'
import { atMost, LineWriter, type LogStream, passedOn } from './line-writer.ts'
import { oneLine, printable, quotable } from './printable.ts'

/** pino, or a logger of its form. It gets the fields of the entry first, then a message. */
interface FieldsLogger {
  info(fields: object, message: string): unknown
  warn?(fields: object, message: string): unknown
  error?(fields: object, message: string): unknown
  child(fields: object): unknown
}

/** Where lines go. */
type LogTarget = LogStream | FieldsLogger

/** Makes a line of an entry. Line ends in what it returns are escaped. Null: no line is written. */
type LineFormat = (entry: AccessLogEntry) => string | null

export interface AccessLogOptions {
  /** Default `process.stdout`. A stream stays open when the server stops. */
  readonly to?: LogTarget
  /** `combined` is the format of Apache and nginx. Default `json`: an object on each line; pino gets its members as fields. */
  readonly format?: 'combined' | 'json' | LineFormat
  /** From which duration on a request counts as slow: it is marked, and always logged. Default `Infinity`. */
  readonly slow?: Duration
  /**
   * The share of requests that is logged, from 0 to 1, or a function that decides. Errors (a status from 400, or another outcome than
   * `completed`) and slow requests are always logged. Default 1.
   */
  readonly sample?: number | ((record: ExchangeRecord) => boolean)
  /** Returns true for what is not logged at all, such as health checks. */
  readonly skip?: (record: ExchangeRecord) => boolean
  /** Names of query parameters whose values are hidden, in any case. Default: `defaultSecretQuery`. */
  readonly secretQuery?: readonly string[]
  /** Fields of the request that entries contain. Values of credentials, such as Authorization and Cookie, are hidden. Default none. */
  readonly fields?: readonly string[]
  /** The user, for the third column of `combined`. */
  readonly user?: (session: HttpSession) => string | null | undefined
  /** The most characters of lines that wait while the stream is slow. More lines are dropped and counted. Default 1 MiB. */
  readonly maxWaitingSize?: Size
  /** How long `stop` waits for the stream to accept what is left. Default 2 s. */
  readonly flushTimeout?: Duration
  /** The name of the module, for a server with several logs. Default `accessLog`. */
  readonly name?: string
}

/** An access log. Install it with `use`. */
export interface AccessLog extends Module, MetricSource {
  /** How many lines were dropped, because the stream was slow or closed. */
  readonly dropped: number
}

const OWNER = 'accessLog'
/** @internal */
export const ACCESS_LOG_RULES = rules<AccessLogOptions>(OWNER)({
  to: readBy(checkedTarget).orNull('process.stdout'),
  format: oneOfOr('combined', 'json').or('json'),
  slow: duration({ least: 0 }).also(Number.POSITIVE_INFINITY).or(Number.POSITIVE_INFINITY),
  sample: readBy(sampler).or(1),
  skip: func({ decides: true }).optional(),
  secretQuery: readBy((names: readonly string[], owner, option) => redaction(owner, option, names)).or(SECRET_QUERY, 'see below'),
  fields: tokens().or([]),
  user: func().orNull(),
  maxWaitingSize: size().also(Number.POSITIVE_INFINITY).or('1MiB'),
  flushTimeout: duration({ least: 0 }).also(Number.POSITIVE_INFINITY).or('2s'),
  name: text().or(OWNER),
})
/** The first status that is an error. */
const FIRST_ERROR = 400
const FIRST_FAILURE = 500

/**
 * Returns a module that logs every exchange: requests, refused heads, failed handshakes and refused connections. Lines of a
 * stream are written together: one turn of the event loop or, under load, up to eight; `stop` waits for the last ones.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function accessLog(options: AccessLogOptions = {}): AccessLog {
  return accessLogOn(systemClock, options)
}

/** @internal The clock is for tests. */
export function accessLogOn(clock: Clock, options: AccessLogOptions): AccessLog {
  const given = ACCESS_LOG_RULES.read(options)
  const to = given.to ?? process.stdout
  const { format, sample: isSampled, skip, maxWaitingSize: maxWaiting, flushTimeout: finishMs, name } = given
  const settings: EntrySettings = {
    redaction: given.secretQuery,
    fields: [...SHOWN_FIELDS, ...given.fields.map((field) => field.toLowerCase())],
    user: given.user,
    slowMs: given.slow,
  }
  const isDue = (record: ExchangeRecord): boolean =>
    (skip === undefined || !skip(record)) &&
    (isSampled === null || isError(record) || record.durationMs >= settings.slowMs || isSampled(record))

  let writer: LineWriter | null = null
  let isInstalled = false
  return {
    name,
    get dropped() {
      return writer?.dropped ?? 0
    },
    metrics(): MetricFamily[] {
      const help = 'Lines of access logs that were dropped, because the stream was slow or closed.'
      return [
        { name: 'weir_access_log_dropped_lines_total', type: 'counter', help, samples: [{ labels: { log: name }, value: this.dropped }] },
      ]
    },
    install(host: ModuleHost): void {
      if (isInstalled) throw invalid(OWNER, 'this log is installed already: create one for each server')
      isInstalled = true
      settings.redaction.declare(host)
      if (isFieldsLogger(to)) {
        const log = loggerOf(to, format)
        host.observe({
          end: (record) => {
            if (isDue(record)) log(entryOf(record, settings))
          },
          stopped: () => atMost(finishMs, passedOn(to)),
        })
        return
      }
      const { logger } = host
      const lines = new LineWriter({
        to,
        maxWaiting,
        finishMs,
        isAscii: typeof format === 'string',
        clock,
        onDropped: (count) => {
          const why = `"to" is closed, or does not keep up and maxWaitingSize is ${maxWaiting}`
          logger?.warn?.(`weir: ${name} has dropped ${count} ${count === 1 ? 'line' : 'lines'}: ${why}`)
        },
        gapLine: format === 'json' ? (count) => `${timeMember(clock.wallTime())},"kind":"dropped","lines":${count}}` : null,
        onError: (error) => logger?.error(`weir: ${name} could not write`, error),
      })
      writer = lines
      const lineOf = lineFormat(format)
      host.observe({
        end: (record) => {
          if (record.kind === 'upgrade' && format === 'combined') return // the request has a line, and this format cannot say what this is
          if (!isDue(record)) return
          const line = lineOf(entryOf(record, settings))
          if (line !== null) lines.add(line)
        },
        stopped: () => lines.finish(),
      })
    },
  }
}

function isError(record: ExchangeRecord): boolean {
  return record.outcome !== 'completed' || (record.status ?? 0) >= FIRST_ERROR
}

/** Null: everything is logged. */
function sampler(sample: number | ((record: ExchangeRecord) => boolean)): ((record: ExchangeRecord) => boolean) | null {
  if (typeof sample === 'function') return func({ decides: true }).read(sample, { owner: OWNER, option: 'sample' }) as never
  if (typeof sample !== 'number' || !(sample >= 0 && sample <= 1))
    throw invalid(OWNER, `sample is ${shown(sample)}, not a number from 0 to 1`)
  return sample === 1 ? null : () => Math.random() < sample
}

function lineFormat(format: 'combined' | 'json' | LineFormat): LineFormat {
  if (format === 'combined') return combinedLine
  if (format === 'json') return jsonLine
  return (entry) => {
    const line: unknown = format(escapedEntry(entry, quotable))
    if (line === null || line === undefined) return null
    if (typeof line !== 'string') throw invalid(OWNER, `format returned ${kindOf(line)}, not a string or null`)
    return oneLine(line)
  }
}

function isFieldsLogger(to: LogTarget): to is FieldsLogger {
  return typeof (to as FieldsLogger | null)?.info === 'function' && typeof (to as FieldsLogger).child === 'function'
}

function checkedTarget(to: LogTarget): LogTarget {
  const given: unknown = to
  if (typeof given === 'object' && given !== null && (isFieldsLogger(to) || typeof (to as LogStream).write === 'function')) return to
  const hint = typeof given === 'string' ? ': open a file with createWriteStream' : ''
  throw invalid(OWNER, `to is ${shown(given)}, not a stream or a logger such as pino${hint}`)
}

/** Calls a logger for each entry, at the level of its outcome. The logger decides when it writes. */
function loggerOf(logger: FieldsLogger, format: 'combined' | 'json' | LineFormat): (entry: AccessLogEntry) => void {
  const lineOf = format === 'json' ? null : lineFormat(format)
  return (entry) => {
    const failed = entry.outcome === 'failed' || entry.status >= FIRST_FAILURE
    const level = failed ? 'error' : entry.isSlow ? 'warn' : 'info'
    const used = typeof logger[level] === 'function' ? level : 'info'
    const line = lineOf === null ? 'request' : lineOf(entry)
    if (line !== null) logger[used]!(lineOf === null ? knownOf(escapedEntry(entry, printable)) : {}, line)
  }
}

/** The members of the entry that are not null. */
function knownOf(entry: AccessLogEntry): object {
  const known: Record<string, unknown> = {}
  for (const name in entry) {
    const value = entry[name as keyof AccessLogEntry]
    if (value !== null) known[name] = value
  }
  return known
}
