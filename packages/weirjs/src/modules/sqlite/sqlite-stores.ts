// The stores over one database.

import { duration, forTests, hasFunction, size, text } from '../../base/option-kinds.ts'
import { type Duration, type Size, WeirError } from '../../index.ts'
import type { CacheStore } from '../cache/index.ts'
import type { IdempotencyStore } from '../idempotency/index.ts'
import { type Clock, invalid, kindOf, rules, systemClock } from '../kit/index.ts'
import type { LimitStore } from '../limits/index.ts'
import { SqliteAccess } from './sqlite-access.ts'
import { cacheTables, sqliteCache } from './sqlite-cache.ts'
import { certificatesTable, type SqliteCertificates, sqliteCertificates } from './sqlite-certificates.ts'
import { isBusy, type SqliteDatabase } from './sqlite-database.ts'
import { idempotencyTable, sqliteIdempotency } from './sqlite-idempotency.ts'
import { limitsTable, sqliteLimits } from './sqlite-limits.ts'
import { locksTable, type SqliteLocks, sqliteLocks } from './sqlite-locks.ts'
import { type SqliteSessions, sessionsTable, sqliteSessions } from './sqlite-sessions.ts'

export interface SqliteStoresOptions {
  /** The beginning of the names of all tables. Default `weir_`. */
  readonly prefix?: string
  /** How long a request waits while other processes write. Default 500 ms. When exceeded: 503, or what a module does without its store. */
  readonly timeout?: Duration
  /** Most bytes of cached responses, together. Default 256 MiB. When exceeded, those that would end first are dropped. */
  readonly cacheSize?: Size
  /** For tests. Default: the system's clock. */
  readonly clock?: Clock
}

/** One store for each module that keeps something. */
export interface SqliteStores {
  /** For `sessions({ store })`. */
  readonly sessions: SqliteSessions
  /** For `rateLimit({ store })`. */
  readonly rateLimit: LimitStore
  /** For `cache({ store })`. */
  readonly cache: CacheStore
  /** For `idempotency({ store })`. */
  readonly idempotency: IdempotencyStore
  /** For `acme({ store })` of `@weirjs/acme`. It has keys, so no one else may be able to read the file: `set` rejects unless its mode is 600. */
  readonly certificates: SqliteCertificates
  /**
   * For `uploads(path, { locks })` of `@weirjs/uploads`: who may work on an upload, if several processes of this machine share the storage. A
   * process that has given no sign of life for 10 s counts as dead, and another one may continue its uploads.
   */
  readonly uploadLocks: SqliteLocks
}

const OWNER = 'sqliteStores()'
/** @internal */
export const SQLITE_STORES_RULES = rules<SqliteStoresOptions>(OWNER)({
  prefix: text('letters, digits and underscores', (value) => /^[A-Za-z_]\w*$/.test(value)).or('weir_'),
  timeout: duration().or('500ms'),
  cacheSize: size({ least: 65_536 }).or('256MiB'),
  clock: forTests(),
})

/**
 * Keeps sessions, rate limits, cached responses, the outcomes of requests, the locks of uploads and certificates in one SQLite file, which all
 * processes of one machine may share.
 * What was confirmed is there after a crash of the process. The database is switched to its write-ahead log, with `synchronous = NORMAL`: after a
 * failure of the power, the last moments may be lost. To change that, run `PRAGMA synchronous = FULL` afterwards. `busy_timeout` becomes 0.
 *
 * @param database `new DatabaseSync('app.db')` of `node:sqlite`, which the program keeps open until the server has stopped. Give the stores a
 * connection of their own if the program's transactions last longer than a moment
 * @throws WEIR_OPTION_INVALID, also when the database is closed or cannot be written
 */
export function sqliteStores(database: SqliteDatabase, options: SqliteStoresOptions = {}): SqliteStores {
  if (!hasFunction('prepare')(database) || !hasFunction('exec')(database))
    throw invalid(OWNER, `the database is ${kindOf(database)}: give new DatabaseSync('app.db') of node:sqlite`)
  const { prefix, timeout, cacheSize, clock } = SQLITE_STORES_RULES.read(options)
  prepareDatabase(database, prefix)
  const access = new SqliteAccess(database, timeout, (clock as Clock | undefined) ?? systemClock)
  return Object.freeze({
    sessions: sqliteSessions(access, prefix),
    rateLimit: sqliteLimits(access, prefix),
    cache: sqliteCache(access, prefix, cacheSize),
    idempotency: sqliteIdempotency(access, prefix),
    certificates: sqliteCertificates(access, prefix),
    uploadLocks: sqliteLocks(access, prefix),
  })
}

/** Several processes may start at once, and the first one holds the others up for a moment. */
const START_TIMEOUT_MS = 5_000
const START_RETRY_MS = 20

function prepareDatabase(database: SqliteDatabase, prefix: string): void {
  const tables = [sessionsTable, limitsTable, cacheTables, idempotencyTable, certificatesTable, locksTable]
    .map((table) => table(prefix))
    .join('\n')
  // Some drivers let SQLite wait for seconds, better-sqlite3 by default: meanwhile the whole process would stand still.
  const sql = `PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE; ${tables} COMMIT;`
  for (let waited = 0; ; waited += START_RETRY_MS)
    try {
      database.exec(sql)
      return
    } catch (error) {
      if (!isBusy(error) || waited >= START_TIMEOUT_MS)
        throw new WeirError('WEIR_OPTION_INVALID', `${OWNER}: the database cannot be written, or is closed`, { cause: error })
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, START_RETRY_MS)
    }
}
