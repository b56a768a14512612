// Sends tables as comma-separated values (RFC 4180) while the rows arrive.

import { WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { flag, oneOf, readBy } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { ByteSource } from './byte-source.ts'
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

type Cell = (row: object) => unknown
type Column = readonly [title: string, cell: Cell]

/** @internal */
export const CSV_RULES = rules<CsvOptions<Record<string, never>>>('csv')({
  columns: readBy(columnsOf),
  separator: oneOf(',', ';', '\t').or(','),
  escapeFormulas: flag(true),
  bom: flag(false),
})

/** Rows are gathered until their text has this many characters. */
const PIECE = 16_384
/** Or for so long: tables of many clients are made at the same time, and only between two pieces do others have their turn. */
const PIECE_MS = 5
/** What spreadsheets read as the beginning of a formula, in narrow and wide characters. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const BEGINNING = '[=+\\-@\\uff1d\\uff0b\\uff0d\\uff20]'
/** A number or a telephone number, which is a harmless formula. */
const NUMBER = '[+-]?\\d[\\d ]*(?:[.,]\\d+)?'
const IS_NUMBER = new RegExp(`^${NUMBER}$`)
const SEPARATORS = [',', ';', '\t']

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
  const mustQuote = separator === ';' ? /[";\r\n]/ : separator === '\t' ? /["\t\r\n]/ : /[",\r\n]/
  const quoted = (text: string): string => (mustQuote.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  const harmless = withoutFormulas(separator)
  const written = (title: string, value: unknown): string => {
    if (typeof value === 'string') return quoted(escapeFormulas ? harmless(value) : value)
    if (value === null || value === undefined) return ''
    if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return quoted(String(value))
    if (value instanceof Date) return value.toISOString()
    throw new WeirError(
      'WEIR_RESULT_UNSENDABLE',
      `the cell "${title}" of csv() is ${kindOf(value)}, not text, a number, a boolean or a Date`,
    )
  }
  const head = `${bom ? '\ufeff' : ''}${columns.map(([title]) => written(title, title)).join(separator)}\r\n`
  const lineOf = (row: object): string => `${columns.map(([title, cell]) => written(title, cell(row))).join(separator)}\r\n`
  const source = Symbol.asyncIterator in rows ? piecesOf(rows, head, lineOf) : piecesAtOnce(rows, head, lineOf)
  return new HttpResponse().stream(source, 'text/csv; charset=utf-8') as HttpResponse<200, ByteSource>
}

/** Formulas may also begin where a spreadsheet begins a cell that takes another of the separators for that of the table: it does not see the quotes. */
function withoutFormulas(separator: string): (text: string) => string {
  const others = `${SEPARATORS.filter((one) => one !== separator).join('')}\r\n`
  const within = new RegExp(`[${others}](?="*${BEGINNING})`, 'g')
  const number = new RegExp(`${NUMBER}(?=$|[${others}])`, 'y')
  return (text) => {
    const rest = text.replace(within, (start, at: number) => {
      number.lastIndex = at + 1
      return number.test(text) ? start : `${start}'`
    })
    return FORMULA.test(text) && !IS_NUMBER.test(text) ? `'${rest}` : rest
  }
}

async function* piecesOf(rows: AsyncIterable<object>, head: string, lineOf: (row: object) => string): AsyncGenerator<string> {
  const pieces = new Pieces(head)
  for await (const row of rows) if (pieces.add(lineOf(row))) yield pieces.take()
  if (pieces.text !== '') yield pieces.take()
}

/** The same for synchronous rows. */
async function* piecesAtOnce(rows: Iterable<object>, head: string, lineOf: (row: object) => string): AsyncGenerator<string> {
  const pieces = new Pieces(head)
  for (const row of rows) if (pieces.add(lineOf(row))) yield pieces.take()
  if (pieces.text !== '') yield pieces.take()
}

class Pieces {
  text: string
  #start = performance.now()

  constructor(head: string) {
    this.text = head
  }

  /** @returns whether they are a piece */
  add(line: string): boolean {
    if (this.text === '') this.#start = performance.now()
    this.text += line
    return this.text.length >= PIECE || performance.now() - this.#start >= PIECE_MS
  }

  take(): string {
    const { text } = this
    this.text = ''
    return text
  }
}

/** @throws WEIR_OPTION_INVALID */
function columnsOf(columns: unknown, owner: string): readonly Column[] {
  if (typeof columns !== 'object' || columns === null)
    throw invalid(owner, `columns is ${kindOf(columns)}, not a list or an object by titles`)
  const given = Array.isArray(columns) ? columns.map((name: unknown) => [String(name), name] as const) : Object.entries(columns)
  if (given.length === 0) throw invalid(owner, 'columns is empty: name at least one')
  return given.map(([title, cell]: readonly [string, unknown]): Column => {
    if (typeof cell === 'function') return [title, cell as Cell]
    if (typeof cell === 'string') return [title, (row) => (row as Readonly<Record<string, unknown>>)[cell]]
    throw invalid(owner, `columns has ${kindOf(cell)} for "${title}", not the name of a property or a function`)
  })
}
