// How a response differs from the recorded one.

import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'

import type { dev } from 'weirjs/kit'

import { maskedBody, maskedField } from './masked-response.ts'
import type { RecordedResponse } from './recorded-exchange.ts'

export interface CompareOptions {
  /** Header fields to compare. Default: fields that describe the response, such as Content-Type, Location and Cache-Control. */
  readonly fields?: readonly string[]
  /**
   * How to compare JSON: `values`: the same properties with the same values, in any order. `shape`: the same properties with values of the
   * same kinds. Default `values`.
   */
  readonly json?: 'values' | 'shape'
  /** More names of properties whose values may differ as long as they are of the same kind, and of trailers. Default: none. */
  readonly ignore?: readonly string[]
  /** Whether to compare bodies and trailers. Default true. */
  readonly body?: boolean
}

/** The options, checked. */
interface CompareSettings {
  readonly fields: readonly string[] | undefined
  readonly json: 'values' | 'shape'
  readonly ignore: readonly string[]
  readonly body: boolean
}

/** One thing that differs. */
export interface Difference {
  readonly kind: 'status' | 'field' | 'body' | 'trailer' | 'response'
  /** Name of the field or trailer, or JSON pointer of the property; empty for the whole. */
  readonly at: string
  readonly recorded: string
  readonly replayed: string
}

/** The response that a replay has received. */
interface ReplayedResponse {
  readonly status: number
  readonly headers: Headers
  readonly trailers: Headers
  /** As received. */
  readonly raw: Buffer
  /** Without content coding; null if it could not be decoded. */
  readonly body: Buffer | null
}

const FIELDS = [
  'accept-patch',
  'accept-post',
  'accept-query',
  'allow',
  'cache-control',
  'content-disposition',
  'content-language',
  'content-range',
  'content-type',
  'location',
  'upgrade',
  'vary',
  'www-authenticate',
] as const
/** Trailers that state when, or how long. */
const VARYING: ReadonlySet<string> = new Set(['date', 'server-timing'])
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?$/
/** How fast a body has arrived, in the problem document of a timeout. */
const MEASURED = /\bminBodyRate is \d+, this is \d+/
const HTTP_DATE = /\b\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\b/g
/** Names of ids: `id`, `userId`, `user_id`, `uuid`. */
const ID = /^(?:id|uuid|instance)$|Id$|_id$/
const SHOWN_CHARS = 200
const MOST_DIFFERENCES = 20

export class Comparison {
  readonly #fields: readonly string[]
  readonly #isShape: boolean
  readonly #ignored: ReadonlySet<string>
  readonly #hasBody: boolean
  readonly #masking: dev.Masking

  constructor({ fields = FIELDS, json, ignore, body }: CompareSettings, masking: dev.Masking) {
    this.#fields = fields
    this.#isShape = json === 'shape'
    this.#ignored = new Set(ignore)
    this.#hasBody = body
    this.#masking = masking
  }

  /** @param secrets of the exchange */
  differences(recorded: RecordedResponse, replayed: ReplayedResponse, secrets: readonly string[]): Difference[] {
    const found: Difference[] = []
    if (recorded.status !== replayed.status)
      found.push({ kind: 'status', at: '', recorded: String(recorded.status), replayed: String(replayed.status) })
    const before = new Headers(recorded.fields.map(([name, value]): [string, string] => [name, value]))
    for (const name of this.#fields) {
      const value = replayed.headers.get(name)
      const now = value === null ? null : maskedField(this.#masking, name, value, secrets)
      if (plainField(before.get(name)) === plainField(now)) continue
      found.push({ kind: 'field', at: name.toLowerCase(), recorded: before.get(name) ?? 'none', replayed: now ?? 'none' })
    }
    if (this.#hasBody && recorded.isWhole) {
      this.#compareBodies(recorded, replayed, before.get('content-type'), secrets, found)
      this.#compareTrailers(recorded, replayed, secrets, found)
    }
    return found
  }

  /** All of them: the program has chosen each. */
  #compareTrailers(recorded: RecordedResponse, replayed: ReplayedResponse, secrets: readonly string[], found: Difference[]): void {
    const before = new Map(recorded.trailers)
    const now = new Map([...replayed.trailers].map(([name, value]) => [name, maskedField(this.#masking, name, value, secrets)]))
    for (const name of new Set([...before.keys(), ...now.keys()])) {
      const one = before.get(name)
      const other = now.get(name)
      if (one === other || (one !== undefined && other !== undefined && (VARYING.has(name) || this.#mayDiffer(name, one, other)))) continue
      found.push({ kind: 'trailer', at: name, recorded: one ?? 'none', replayed: other ?? 'none' })
    }
  }

  #compareBodies(
    { body: recorded }: RecordedResponse,
    { headers, raw, body: replayed }: ReplayedResponse,
    recordedType: string | null,
    secrets: readonly string[],
    found: Difference[],
  ): void {
    const differ = (one: string, other: string): void => void found.push({ kind: 'body', at: '', recorded: one, replayed: other })
    if (recorded.bytes === null) {
      const hash = createHash('sha256').update(raw).digest('hex')
      if (recorded.sha256 !== null && recorded.sha256 !== hash) differ(`${recorded.length} bytes`, `${raw.length} other bytes`)
      return
    }
    if (replayed === null) {
      differ(`${recorded.length} bytes`, 'a coding that cannot be removed')
      return
    }
    const now = maskedBody(this.#masking, replayed, headers.get('content-type'), secrets)
    if (now === recorded.bytes) return
    const one = jsonIn(recorded.bytes, recordedType)
    const other = jsonIn(now, headers.get('content-type'))
    if (one !== undefined && other !== undefined) this.#compareJson(one, other, '', null, found)
    else if (isText(recordedType) && plainText(now) === plainText(recorded.bytes)) return
    else differ(shownBytes(recorded.bytes), shownBytes(now))
  }

  #compareJson(one: unknown, other: unknown, at: string, name: string | null, found: Difference[]): void {
    if (found.length >= MOST_DIFFERENCES) return
    const kind = kindOf(one)
    if (kind !== kindOf(other)) {
      found.push({ kind: 'body', at, recorded: shownJson(one), replayed: shownJson(other) })
      return
    }
    if (kind === 'object') {
      const before = one as Readonly<Record<string, unknown>>
      const now = other as Readonly<Record<string, unknown>>
      for (const key of new Set([...Object.keys(before), ...Object.keys(now)])) {
        const where = `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
        if (!Object.hasOwn(now, key)) found.push({ kind: 'body', at: where, recorded: shownJson(before[key]), replayed: 'none' })
        else if (!Object.hasOwn(before, key)) found.push({ kind: 'body', at: where, recorded: 'none', replayed: shownJson(now[key]) })
        else this.#compareJson(before[key], now[key], where, key, found)
      }
    } else if (kind === 'array') {
      const before = one as readonly unknown[]
      const now = other as readonly unknown[]
      if (before.length !== now.length && !this.#isShape)
        found.push({ kind: 'body', at, recorded: `${before.length} elements`, replayed: `${now.length} elements` })
      for (let i = 0; i < Math.min(before.length, now.length); i++) this.#compareJson(before[i], now[i], `${at}/${i}`, name, found)
    } else if (!this.#isShape && one !== other && !this.#mayDiffer(name, one, other))
      found.push({ kind: 'body', at, recorded: shownJson(one), replayed: shownJson(other) })
  }

  /** Ids, times, what was measured, and masked secrets, whose lengths may differ. */
  #mayDiffer(name: string | null, one: unknown, other: unknown): boolean {
    if (name !== null && (ID.test(name) || this.#ignored.has(name) || this.#masking.isSecret(name))) return true
    if (typeof one !== 'string' || typeof other !== 'string') return false
    return [UUID, TIME].some((pattern) => pattern.test(one) && pattern.test(other)) || plainText(one) === plainText(other)
  }
}

/** A boundary is different each time. */
function plainField(value: string | null): string | null {
  return value?.replace(/(boundary=)[^;,]+/i, '$1') ?? null
}

function plainText(text: string): string {
  return text.replace(HTTP_DATE, 'DATE').replace(MEASURED, 'RATE')
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

/** `application/json`, or anything that ends in `+json` (RFC 6839 §3.1). */
const JSON_TYPE = /^\s*(?:application\/json|[^\s/;]+\/[^\s;]+\+json)\s*(?:;|$)/i

function jsonIn(bytes: string, contentType: string | null): unknown {
  if (contentType === null || !JSON_TYPE.test(contentType)) return undefined
  try {
    return JSON.parse(Buffer.from(bytes, 'latin1').toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

function isText(contentType: string | null): boolean {
  return contentType?.startsWith('text/') === true
}

function shownBytes(bytes: string): string {
  const text = JSON.stringify(bytes.slice(0, SHOWN_CHARS))
  return bytes.length > SHOWN_CHARS ? `${text} and ${bytes.length - SHOWN_CHARS} more bytes` : text
}

function shownJson(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text
}
