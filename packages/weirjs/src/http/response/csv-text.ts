// Writes tables as comma-separated values (RFC 4180) while the rows arrive.

import { WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'

export type CsvCell = (row: object) => unknown
export type CsvColumn = readonly [title: string, cell: CsvCell]

export interface CsvTable {
  readonly columns: readonly CsvColumn[]
  readonly separator: string
  readonly escapeFormulas: boolean
  readonly bom: boolean
}

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

/** The text of a table, in pieces. */
export async function* piecesOf(rows: Iterable<object> | AsyncIterable<object>, table: CsvTable): AsyncGenerator<string> {
  const { columns, separator, escapeFormulas, bom } = table
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
  const pieces = new Pieces(head)
  if (Symbol.asyncIterator in rows) {
    for await (const row of rows) if (pieces.add(lineOf(row))) yield pieces.take()
  } else for (const row of rows) if (pieces.add(lineOf(row))) yield pieces.take()
  if (pieces.text !== '') yield pieces.take()
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
