// Collects what observers are told.

import type { ExchangeRecord, ExchangeStart, HttpServer } from '../../src/index.ts'

import { eventually } from './serving.ts'

export class Observed {
  readonly begun: ExchangeStart[] = []
  readonly ended: ExchangeRecord[] = []

  on(server: HttpServer): this {
    server.observe({ begin: (start) => this.begun.push(start), end: (record) => this.ended.push(record) })
    return this
  }

  /** The record with number `n`, counted from 1, if there are no further ones. */
  async record(n = 1): Promise<ExchangeRecord> {
    await eventually(() => this.ended.length >= n, `record ${n}`)
    if (this.ended.length > n) throw new Error(`${this.ended.length} records instead of ${n}`)
    return this.ended[n - 1]!
  }
}

/** The parts of a record that a test can foresee. */
export function outlineOf({ kind, route, method, protocol, status, outcome, code, bytesIn, bytesOut }: ExchangeRecord): unknown[] {
  return [kind, route, method, protocol, status, outcome, code, bytesIn, bytesOut]
}
