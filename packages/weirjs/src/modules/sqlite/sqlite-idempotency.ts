// The outcomes of requests in SQLite.

import type { Begun, IdempotencyStore } from '../idempotency/index.ts'
import type { SqliteAccess } from './sqlite-access.ts'
import { columnOf, createTable, FEW_LARGE_ROWS, keyOf, Sweep } from './sqlite-table.ts'

/** A row has a token and the end of its lease while the request is in progress, and an outcome afterwards. */
export const idempotencyTable = (prefix: string): string =>
  createTable(`${prefix}idempotency`, 'fingerprint TEXT NOT NULL, token TEXT, lease INTEGER, outcome TEXT')

export function sqliteIdempotency(access: SqliteAccess, prefix: string): IdempotencyStore {
  const { clock } = access
  const table = `${prefix}idempotency`
  const select = access.prepare(`SELECT fingerprint, token, lease, outcome FROM ${table} WHERE key = ? AND ends > ?`)
  const reserve = access.prepare(
    `INSERT OR REPLACE INTO ${table} (key, fingerprint, token, lease, outcome, ends) VALUES (?, ?, ?, ?, NULL, ?)`,
  )
  const extend = access.prepare(`UPDATE ${table} SET lease = ? WHERE key = ? AND token = ?`)
  const finish = access.prepare(`UPDATE ${table} SET outcome = ?, token = NULL, lease = NULL, ends = ? WHERE key = ? AND token = ?`)
  const giveUp = access.prepare(`UPDATE ${table} SET token = NULL, lease = 0 WHERE key = ? AND token = ?`)
  const forget = access.prepare(`DELETE FROM ${table} WHERE key = ? AND token = ?`)
  const sweep = new Sweep(access, table, FEW_LARGE_ROWS)
  return {
    get isDegraded() {
      return access.isDegraded
    },
    async begin(key, { fingerprint, token, leaseMs, ttlMs, retriesUnknown }) {
      const id = keyOf(key)
      return access.runAlone((): Begun => {
        const now = clock.wallTime()
        const row = select.get(id, now)
        const known = columnOf(row, 'fingerprint') as string | null
        if (known !== null) {
          const outcome = columnOf(row, 'outcome') as string | null
          if (outcome !== null) return { state: 'done', fingerprint: known, outcome }
          if (now < Number(columnOf(row, 'lease'))) return { state: 'running', fingerprint: known }
          if (!retriesUnknown || known !== fingerprint) return { state: 'unknown', fingerprint: known }
        }
        reserve.run(id, fingerprint, token, now + leaseMs, now + ttlMs)
        sweep.afterWrite(now)
        return { state: 'begun' }
      })
    },
    async extend(key, token, leaseMs) {
      await access.run(() => extend.run(clock.wallTime() + leaseMs, keyOf(key), token))
    },
    async finish(key, token, outcome, ttlMs) {
      await access.run(() => finish.run(outcome, clock.wallTime() + ttlMs, keyOf(key), token))
    },
    async abandon(key, token, as) {
      await access.run(() => (as === 'forget' ? forget : giveUp).run(keyOf(key), token))
    },
  }
}
