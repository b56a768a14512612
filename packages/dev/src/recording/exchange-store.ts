// Writes recorded exchanges: into a folder, a file for each, or into one file, a line for each.

import { appendFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { exchangeText } from './exchange-file.ts'
import type { RecordedExchange } from './recorded-exchange.ts'

/** Only the user who records may read what clients have sent. */
const MODE = 0o600
const FOLDER_MODE = 0o700
/** How much may wait to be written. */
const MOST_WAITING_BYTES = 16 * 1024 * 1024
const MOST_NAME_CHARS = 60
const LINES = /\.jsonl$/
const NUMBERED = /^(\d{6})-.*\.json$/

export class ExchangeStore {
  readonly #to: string
  #waitingBytes = 0
  #number = 0
  #error: Error | null = null
  /** Settles when everything so far has been written. */
  #written: Promise<void>

  /** @param to a folder, or a file whose name ends in `.jsonl` */
  constructor(to: string) {
    this.#to = to
    this.#written = this.#prepare().catch((error: Error) => this.#fail(error))
  }

  async #prepare(): Promise<void> {
    if (LINES.test(this.#to)) {
      await mkdir(dirname(this.#to), { recursive: true })
      return
    }
    await mkdir(this.#to, { recursive: true, mode: FOLDER_MODE })
    for (const name of await readdir(this.#to)) this.#number = Math.max(this.#number, Number(NUMBERED.exec(name)?.[1] ?? 0))
  }

  #fail(error: Error): void {
    this.#error ??= error
  }

  /** @returns false if too much is waiting to be written, or if writing has failed */
  add(exchange: RecordedExchange): boolean {
    if (this.#error !== null) return false
    const isLine = LINES.test(this.#to)
    const text = `${exchangeText(exchange, !isLine)}\n`
    if (this.#waitingBytes + text.length > MOST_WAITING_BYTES) return false
    this.#waitingBytes += text.length
    this.#written = this.#written
      .then(() => this.#write(exchange, text, isLine))
      .catch((error: Error) => this.#fail(error))
      .then(() => {
        this.#waitingBytes -= text.length
      })
    return true
  }

  #write(exchange: RecordedExchange, text: string, isLine: boolean): Promise<void> {
    if (isLine) return appendFile(this.#to, text, { mode: MODE })
    const name = `${String(++this.#number).padStart(6, '0')}-${nameOf(exchange)}.json`
    return writeFile(join(this.#to, name), text, { mode: MODE, flag: 'wx' })
  }

  /** @throws the first error of the file system */
  async close(): Promise<void> {
    await this.#written
    if (this.#error !== null) throw this.#error
  }
}

function nameOf({ method, target, response }: RecordedExchange): string {
  const path = target.split('?', 1)[0]!
  const words = `${method || 'refused'} ${path}`.toLowerCase().match(/[a-z0-9]+/g) ?? []
  return `${words.join('-').slice(0, MOST_NAME_CHARS)}-${response.status}`
}
