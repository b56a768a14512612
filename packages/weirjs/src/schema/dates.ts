// Moments, days and wall-clock times. The grammar is in iso.ts.

import { crossed, noEnd } from './bounds.ts'
import type { TextFormat } from './checked-text.ts'
import { dateMs, dateTimeMs, hasZone } from './iso.ts'
import type { JsonSchema } from './json-keywords.ts'
import type { Mismatch } from './mismatch.ts'
import { type Presence, REQUIRED, type ReadContext, Schema } from './schema.ts'

const DAY_MS = 86_400_000
const DATE_CHARACTERS = 10

type Precision = 'date' | 'date-time'

/** Milliseconds since 1970. */
interface Range {
  readonly earliest: number
  readonly latest: number
}

export interface DateSchema<T, Input> {
  optional(): DateSchema<T | undefined, Input | undefined>
  nullable(): DateSchema<T | null, Input | null>
  default(value: Exclude<T, undefined>): DateSchema<Exclude<T, undefined>, Input | undefined>
}

/**
 * A Date. `date-time` reads RFC 3339 and ISO 8601, where a time without zone is UTC unless the context asks for `local`; `date` reads
 * `YYYY-MM-DD` as midnight UTC. A Date that a reviver has already created is accepted unchanged.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the base has these methods
export class DateSchema<T = Date, Input = string> extends Schema<T, Input> {
  readonly #precision: Precision
  readonly #range: Range

  constructor(precision: Precision, range: Range = { earliest: -Infinity, latest: Infinity }, presence: Presence = REQUIRED) {
    super(presence)
    this.#precision = precision
    this.#range = range
  }

  /** `earliest` or later. */
  min(earliest: Date): DateSchema<T, Input> {
    return this.#with({ ...this.#range, earliest: msOf(earliest) })
  }

  /** `latest` or earlier. */
  max(latest: Date): DateSchema<T, Input> {
    return this.#with({ ...this.#range, latest: msOf(latest) })
  }

  override describe(): string {
    const { earliest, latest } = this.#range
    const what = this.#precision === 'date' ? 'a date like 2024-01-31' : 'a date and time like 2024-01-31T09:30:00Z'
    const from = earliest === -Infinity ? '' : `, not before ${this.#write(earliest)}`
    return latest === Infinity ? what + from : `${what}${from}, not after ${this.#write(latest)}`
  }

  /** Whether its JSON form is a day without a time. @internal */
  get isDay(): boolean {
    return this.#precision === 'date'
  }

  override toJson(value: unknown): unknown {
    return value instanceof Date ? this.#write(value.getTime()) : value
  }

  protected override readText(text: string, context: ReadContext | undefined): Date | Mismatch {
    const ms = this.#parse(text, context)
    return this.#fits(ms) ? new Date(ms) : this.textMismatch(text)
  }

  protected override readValue(value: unknown, context: ReadContext | undefined): Date | Mismatch {
    if (typeof value === 'string') {
      const ms = this.#parse(value, context)
      return this.#fits(ms) ? new Date(ms) : this.mismatch(value)
    }
    return value instanceof Date && this.#holds(value.getTime()) ? value : this.mismatch(value)
  }

  protected override again(presence: Presence): DateSchema<unknown> {
    return new DateSchema(this.#precision, this.#range, presence)
  }

  protected override keywords(): JsonSchema {
    const keywords = { type: 'string', format: this.#precision }
    const { earliest, latest } = this.#range
    return earliest === -Infinity && latest === Infinity ? keywords : { ...keywords, description: this.describe() }
  }

  #with(range: Range): DateSchema<T, Input> {
    const { earliest, latest } = range
    if (earliest > latest) throw crossed(`new Date('${this.#write(earliest)}')`, `new Date('${this.#write(latest)}')`)
    return new DateSchema<T, Input>(this.#precision, range, this.presence).fitting()
  }

  #parse(text: string, context: ReadContext | undefined): number {
    return this.#precision === 'date' ? dateMs(text) : dateTimeMs(text, context?.zoneless)
  }

  #fits(ms: number): boolean {
    return ms >= this.#range.earliest && ms <= this.#range.latest
  }

  #holds(ms: number): boolean {
    return this.#fits(ms) && (this.#precision === 'date-time' || ms % DAY_MS === 0)
  }

  #write(ms: number): string {
    const iso = new Date(ms).toISOString()
    return this.#precision === 'date' ? iso.slice(0, iso.indexOf('T')) : iso
  }
}

/** Checks callers that no compiler has checked. */
function msOf(end: unknown): number {
  if (end instanceof Date && !Number.isNaN(end.getTime())) return end.getTime()
  throw noEnd(end, "a valid Date, such as new Date('2024-01-31')")
}

const LOCAL_DESCRIBED = 'a date and time without a zone like 2024-01-31T09:30:00'

/** A wall-clock date and time without a zone. It is checked but stays a string, because a Date cannot hold one without a made-up zone. */
export const LOCAL_DATE_TIME: TextFormat = {
  described: LOCAL_DESCRIBED,
  fits: (text) => text.length > DATE_CHARACTERS && !Number.isNaN(dateTimeMs(text)) && !hasZone(text),
  keywords: {
    // Not `format: date-time`, which requires a zone.
    pattern: '^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,9})?)?$',
    description: LOCAL_DESCRIBED,
  },
}
