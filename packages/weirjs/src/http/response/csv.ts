// Tables as responses: which columns they have, and how they are written.

import { kindOf } from '../../base/kind-of.ts'
import { flag, oneOf, readBy } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { ByteSource } from './byte-source.ts'
import type { CsvCell, CsvColumn, CsvTable } from './csv-text.ts'
import { HttpResponse } from './response.ts'

/** A cell. Null and undefined are empty, a Date is written as in JSON. */
type CsvValue = string | number | bigint | boolean | Date | null | undefined

/**
 * The names of properties whose values are cells. Rows of SQLite have `Uint8Array` among the types of all values: such a value is an error when it
 * arrives.
 */
type CsvKey<Row> = {
  [K in keyof Row]-?: Row[K] extends CsvValue ? K : Row[K] extends Uint8Array ? never : Row[K] extends CsvValue | Uint8Array ? K : never
}[keyof Row] &
  string

/**
 * @example
 * const options: CsvOptions<{ id: number }> = { columns: { Id: 'id' } }
 * server.mapGet('/table.csv', () => csv([{ id: 1 }], options))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/files-and-streams.md
 */
export interface CsvOptions<Row> {
  /**
   * The columns, in order: names of properties, which are the titles too; or, by their titles, names of properties or functions that return a
   * cell: `{ Name: 'name', Total: (row) => row.cents / 100 }`.
   */
  readonly columns: readonly CsvKey<Row>[] | { readonly [title: string]: CsvKey<Row> | ((row: Row) => CsvValue) }
  /** What stands between two cells. Default `,`; Excel expects `;` where numbers have a decimal comma. */
  readonly separator?: ',' | ';' | '\t'
  /**
   * Whether a `'` is put before texts that a spreadsheet would run as a formula: those that begin with `=`, `+`, `-`, `@`, a tab or a line break,
   * even after a line break or another separator within a text. Texts that are numbers stay. Turn it off only for readers that are programs.
   * Default true.
   */
  readonly escapeFormulas?: boolean
  /** Whether the text begins with a byte order mark, without which Excel takes it for another charset. Default false. */
  readonly bom?: boolean
}

/** @internal */
export const CSV_RULES = rules<CsvOptions<Record<string, never>>>('csv')({
  columns: readBy(columnsOf),
  separator: oneOf(',', ';', '\t').or(','),
  escapeFormulas: flag(true),
  bom: flag(false),
})

/**
 * Returns a response with a table, `text/csv` in UTF-8, for the handler to return. Its first line has the titles. Rows are taken from `rows` no
 * faster than the client reads, and `rows` is closed when the client leaves. To have it saved as a file:
 * `csv(rows, { columns }).attachment('receipts.csv')`.
 *
 * @throws WEIR_OPTION_INVALID. A cell that is neither text, a number, a boolean nor a date makes the stream fail with WEIR_RESULT_UNSENDABLE
 * @example
 * server.mapGet('/table.csv', () => csv([{ id: 1 }], { columns: { Id: 'id' } }).attachment('table.csv'))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/files-and-streams.md
 */
export function csv<Row extends object>(rows: Iterable<Row> | AsyncIterable<Row>, options: CsvOptions<Row>): HttpResponse<200, ByteSource> {
  const { columns, separator, escapeFormulas, bom } = CSV_RULES.read(options as object as CsvOptions<Record<string, never>>)
  if (typeof rows !== 'object' || rows === null || !(Symbol.asyncIterator in rows || Symbol.iterator in rows))
    throw invalid('csv', `the rows are ${kindOf(rows)}, not an iterable or an async iterable of objects`)
  return new HttpResponse().stream(textOf(rows, { columns, separator, escapeFormulas, bom }), 'text/csv; charset=utf-8') as HttpResponse<
    200,
    ByteSource
  >
}

/** The code that writes tables is loaded with the first one. */
async function* textOf(rows: Iterable<object> | AsyncIterable<object>, table: CsvTable): AsyncGenerator<string> {
  const { piecesOf } = await import('./csv-text.ts')
  yield* piecesOf(rows, table)
}

/** @throws WEIR_OPTION_INVALID */
function columnsOf(columns: unknown, owner: string): readonly CsvColumn[] {
  if (typeof columns !== 'object' || columns === null)
    throw invalid(owner, `columns is ${kindOf(columns)}, not a list or an object by titles`)
  const given = Array.isArray(columns) ? columns.map((name: unknown) => [String(name), name] as const) : Object.entries(columns)
  if (given.length === 0) throw invalid(owner, 'columns is empty: name at least one')
  return given.map(([title, cell]: readonly [string, unknown]): CsvColumn => {
    if (typeof cell === 'function') return [title, cell as CsvCell]
    if (typeof cell === 'string') return [title, (row) => (row as Readonly<Record<string, unknown>>)[cell]]
    throw invalid(owner, `columns has ${kindOf(cell)} for "${title}", not the name of a property or a function`)
  })
}
