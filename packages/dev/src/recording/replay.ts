// Sends recorded exchanges to a server again, and reports what differs.

import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Duration, HttpServer } from 'weirjs'
import { dev, invalid, option, rules } from 'weirjs/kit'

import { type CompareOptions, Comparison, type Difference } from './comparison.ts'
import { parseExchange } from './exchange-file.ts'
import { parseHar } from './har.ts'
import type { RecordedExchange } from './recorded-exchange.ts'
import { replayExchange } from './replayed-exchange.ts'

const { duration, flag, func, nested, object, oneOf, texts } = option

export interface ReplayOptions {
  /** What must be the same. */
  readonly compare?: CompareOptions
  /**
   * Values of header fields in place of those that were masked, by name: `{ authorization: 'Bearer test' }`. A field that was not recorded is
   * not added. Default: none.
   */
  readonly restore?: Readonly<Record<string, string>>
  /** More names that are secret, as for `record`. */
  readonly mask?: readonly string[]
  /** Which exchanges to replay. Default: all. */
  readonly filter?: (exchange: { readonly method: string; readonly target: string; readonly status: number }) => boolean
  /** How long to wait for a response, in real time. Default 5 s. */
  readonly patience?: Duration
}

/** An exchange whose response differs. */
export interface ReplayDifference extends Difference {
  /** The file, and in a file with several the number of the exchange in it. */
  readonly file: string
  readonly method: string
  readonly target: string
}

export interface ReplayReport {
  /** How many exchanges were replayed. */
  readonly exchanges: number
  readonly differences: readonly ReplayDifference[]
  /** One line for each difference. */
  toString(): string
}

interface Found {
  readonly file: string
  readonly exchange: RecordedExchange
}

/** @internal */
export const COMPARE_RULES = rules<CompareOptions>('compare')({
  fields: texts().optional('see below'),
  json: oneOf('values', 'shape').or('values'),
  ignore: texts().or([]),
  body: flag(true),
})
/** @internal */
export const REPLAY_RULES = rules<ReplayOptions>('replay()')({
  compare: nested(COMPARE_RULES).or({}, 'none'),
  restore: object().or({}, 'none'),
  mask: texts().or([]),
  filter: func({ decides: true }).optional('all'),
  patience: duration().or('5s'),
})

/**
 * Sends the recorded bytes through the real parser and the whole pipeline of `server`, without a socket: the same bytes, cut as they were, each
 * exchange on a connection of its own, one after the other. The time between the bytes passes on a test clock.
 *
 * @param from a folder or files that `record` has written, or HTTP Archives (`.har`)
 * @throws WEIR_OPTION_INVALID, also if no exchange is replayed; Error for a file that is neither; the error of the file system
 */
export async function replay(server: HttpServer, from: string | readonly string[], options: ReplayOptions = {}): Promise<ReplayReport> {
  const { compare, restore, mask, filter = () => true, patience } = REPLAY_RULES.read(options)
  const masks = dev.masking(server, mask)
  const comparison = new Comparison(compare, masks)
  const differences: ReplayDifference[] = []
  let exchanges = 0
  const all = await readAll([from].flat())
  // A test that replays nothing would pass.
  if (all.length === 0) throw invalid('replay()', `there are no exchanges in ${[from].flat().join(', ')}`)
  for (const { file, exchange } of all) {
    const { method, target, response } = exchange
    if (!filter({ method, target, status: response.status })) continue
    exchanges++
    const found = await replayExchange({ server, exchange, comparison, masking: masks, restore, patienceMs: patience })
    differences.push(...found.map((one) => ({ file, method, target, ...one })))
  }
  if (exchanges === 0) throw invalid('replay()', `filter leaves none of the ${counted(all.length, 'exchange')}`)
  return { exchanges, differences, toString: () => textOf(exchanges, differences) }
}

function textOf(exchanges: number, differences: readonly ReplayDifference[]): string {
  const lines = differences.map(
    ({ file, method, target, kind, at, recorded, replayed }) =>
      `${file}: ${method} ${target}: ${kind}${at === '' ? '' : ` ${at}`} was ${recorded}, and is ${replayed}`,
  )
  return [`${counted(exchanges, 'exchange')}, ${counted(differences.length, 'difference')}`, ...lines].join('\n')
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

async function readAll(paths: readonly string[]): Promise<Found[]> {
  const found: Found[] = []
  for (const path of paths) {
    const isFolder = (await stat(path)).isDirectory()
    const names = isFolder ? (await readdir(path)).filter((name) => /\.(?:json|jsonl|har)$/.test(name)).sort() : []
    for (const file of isFolder ? names.map((name) => join(path, name)) : [path]) found.push(...(await readOne(file)))
  }
  return found
}

async function readOne(file: string): Promise<Found[]> {
  const text = await readFile(file, 'utf8')
  if (file.endsWith('.har')) return parseHar(text, file).map((exchange, i) => ({ file: `${file}:${i + 1}`, exchange }))
  if (!file.endsWith('.jsonl')) return [{ file, exchange: parseExchange(text, file) }]
  return text
    .split('\n')
    .map((line, i) => ({ line, file: `${file}:${i + 1}` }))
    .filter(({ line }) => line !== '')
    .map(({ line, file: where }) => ({ file: where, exchange: parseExchange(line, where) }))
}
