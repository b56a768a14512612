// The state of rate limits in SQLite. Each decision is made while no other process writes, so processes that share the file share the quota.

import { type LimitStore, type LimitTable, type RateRule, type Taken, takenAt } from '../limits/index.ts'
import type { SqliteAccess } from './sqlite-access.ts'
import type { SqliteStatement } from './sqlite-database.ts'
import { columnOf, createTable, keyOf, Sweep } from './sqlite-table.ts'

/** A row holds the level of a bucket and when that was computed. It is over when the bucket has drained. */
export const limitsTable = (prefix: string): string => createTable(`${prefix}limits`, 'level INTEGER NOT NULL, at INTEGER NOT NULL')

export function sqliteLimits(access: SqliteAccess, prefix: string): LimitStore {
  const table = `${prefix}limits`
  const statements: Statements = {
    read: access.prepare(`SELECT level, at FROM ${table} WHERE key = ?`),
    write: access.prepare(`INSERT OR REPLACE INTO ${table} (key, level, at, ends) VALUES (?, ?, ?, ?)`),
    sweep: new Sweep(access, table),
  }
  return {
    get isDegraded() {
      return access.isDegraded
    },
    open: (name, rule) => new SqliteTable(access, statements, rule, `${name}:${rule.quota}/${rule.windowMs}/${rule.burst}`),
  }
}

interface Statements {
  readonly read: SqliteStatement
  readonly write: SqliteStatement
  readonly sweep: Sweep
}

class SqliteTable implements LimitTable {
  readonly #access: SqliteAccess
  readonly #statements: Statements
  readonly #rule: RateRule
  readonly #name: string

  /** @param name contains the numbers of the rule, because old levels have no meaning after a change of the rule */
  constructor(access: SqliteAccess, statements: Statements, rule: RateRule, name: string) {
    this.#access = access
    this.#statements = statements
    this.#rule = rule
    this.#name = name
  }

  async take(key: string, cost: number): Promise<Taken> {
    const id = keyOf(this.#name, key)
    const add = cost * this.#rule.unit
    // Most of a flood is refused: that needs no turn to write.
    const { level } = await this.#access.run(() => this.#read(id))
    if (level + add > this.#rule.capacity) return takenAt(this.#rule, level, cost, false)
    return this.#access.runAlone(() => {
      const { level, now } = this.#read(id)
      const isAllowed = level + add <= this.#rule.capacity
      if (isAllowed) this.#write(id, level + add, now)
      return takenAt(this.#rule, isAllowed ? level + add : level, cost, isAllowed)
    })
  }

  async refund(key: string, cost: number): Promise<void> {
    const id = keyOf(this.#name, key)
    await this.#access.runAlone(() => {
      const { level, now } = this.#read(id)
      this.#write(id, Math.max(0, level - cost * this.#rule.unit), now)
    })
  }

  /**
   * @returns the level now. If the clock went back, nothing drains until it has caught up. If that would take longer than a full bucket takes to
   * drain, the row is from a time when the clock was wrong, and counts as empty.
   */
  #read(id: string): { readonly level: number; readonly now: number } {
    const wallTime = this.#access.clock.wallTime()
    const row = this.#statements.read.get(id)
    const stored = Number(columnOf(row, 'at') ?? wallTime)
    const isWrong = stored - wallTime > this.#rule.capacity / this.#rule.drainPerMs
    const at = isWrong ? wallTime : stored
    const level = isWrong ? 0 : Number(columnOf(row, 'level') ?? 0)
    return { level: Math.max(0, level - Math.max(0, wallTime - at) * this.#rule.drainPerMs), now: Math.max(at, wallTime) }
  }

  #write(id: string, level: number, now: number): void {
    this.#statements.write.run(id, level, now, now + Math.ceil(level / this.#rule.drainPerMs))
    this.#statements.sweep.afterWrite(this.#access.clock.wallTime())
  }
}
