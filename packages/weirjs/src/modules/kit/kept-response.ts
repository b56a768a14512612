// A response that is kept to be sent again: its status, the fields that the handler has set, and its body.

import { Buffer, isUtf8 } from 'node:buffer'
import { type Exchange, exchangeOf } from '../../http/exchange.ts'
import { contentRange, selectRanges } from '../../http/files/byte-ranges.ts'
import { CodedForms } from '../../http/response/coded-forms.ts'
import { rangeApplies, type Validators } from '../../http/response/conditional.ts'
import { joinedValue } from '../../http/response/field-list.ts'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { refuse } from '../../http/response/precondition.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'

import { NO_VALIDATORS, settleConditions, validatorsOf } from './conditions.ts'
import { gatherContent } from './gathered-content.ts'
import type { ResponseHandle } from './response.ts'

/** What a kept response consists of. */
interface Parts {
  readonly status: number
  readonly reason: string
  readonly type: string | null
  readonly fields: readonly string[]
  readonly appended?: readonly string[]
  readonly body: Uint8Array | null
}

/** A response that is kept for other requests. Nothing in it changes. */
export class KeptResponse {
  readonly status: number
  /** The reason phrase that the handler has set; empty for the registered one. */
  readonly reason: string
  /** Content-Type; null for none. */
  readonly type: string | null
  /** Name, value, name, value, without Content-Type. */
  readonly fields: readonly string[]
  /** The names, in lower case, whose values follow those that outer code has set, and do not replace them. */
  readonly appended: readonly string[]
  /** Null: it has none. */
  readonly body: Uint8Array | null
  #validators: Validators | null = null
  #forms: CodedForms | null = null

  constructor({ status, reason, type, fields, appended = NO_FIELDS, body }: Parts) {
    this.status = status
    this.reason = reason
    this.type = type
    this.fields = fields
    this.appended = appended
    this.body = body
  }

  /**
   * The response that a handler has made. Fields that others set for each request, such as those of CORS, are not part of it.
   * @param before the fields that were set before the handler ran, in a list of their own
   * @param body of `gather`
   */
  static of(
    { statusCode, reasonPhrase, type, fields }: ResponseHandle,
    before: readonly string[] | null,
    body: Uint8Array | null,
  ): KeptResponse {
    return new KeptResponse({
      status: statusCode,
      reason: reasonPhrase,
      type,
      ...fieldsSince(before ?? NO_FIELDS, fields ?? NO_FIELDS),
      body,
    })
  }

  /**
   * Returns a function that tells the prefix of the keys of each server, where several servers keep their responses in one place: each has its own
   * handlers and principals, and the client chooses the host. The first server has none, because other processes share its keys.
   */
  static serverLabels(): (server: object) => string {
    const labels = new WeakMap<object, string>()
    let count = 0
    return (server) => {
      let label = labels.get(server)
      if (label === undefined) labels.set(server, (label = count++ === 0 ? '' : `${count}\n`))
      return label
    }
  }

  /**
   * Collects the body of a response that may be kept. A stream with a stated length, such as a file, or with pieces that are there, is read to its
   * end before it is sent. The response can be sent afterwards, whatever the result is.
   *
   * @param mayCollect whether a stream that takes its time is collected while it is sent
   * @returns `whole`: a copy of the body. `later`: it is sent while it is collected; null if it was not complete, or too large. Null: it is too
   *   large
   * @throws what the source throws; WEIR_RESPONSE_LENGTH
   */
  static gather(
    response: ResponseHandle,
    mostBytes: number,
    mayCollect: () => boolean,
  ): Promise<{ readonly whole: Uint8Array | null } | { readonly later: Promise<Uint8Array | null> } | null> {
    return gatherContent(response, mostBytes, mayCollect)
  }

  /** What `pack` has made; null for anything else. */
  static unpack(packed: unknown): KeptResponse | null {
    if (typeof packed !== 'object' || packed === null) return null
    const { s, r = '', t, f, a = NO_FIELDS, b, x } = packed as Partial<PackedResponse>
    if (!Number.isInteger(s) || typeof r !== 'string' || (t !== null && typeof t !== 'string')) return null
    if (!areTexts(f) || f.length % 2 !== 0 || !areTexts(a)) return null
    const body = typeof b === 'string' ? Buffer.from(b) : typeof x === 'string' ? Buffer.from(x, 'base64') : null
    return new KeptResponse({ status: s!, reason: r, type: t, fields: f, appended: a, body })
  }

  /** The same with other parts. */
  with(parts: Partial<Pick<Parts, 'type' | 'fields' | 'appended' | 'body'>>): KeptResponse {
    const { status, reason, type, fields, appended, body } = this
    return new KeptResponse({ status, reason, type, fields, appended, body, ...parts })
  }

  /** Its form in a store of text: an object for `JSON.stringify`. */
  pack(): object {
    const { status, reason, type, fields, appended, body } = this
    const packed: PackedResponse = {
      s: status,
      ...(reason === '' ? {} : { r: reason }),
      t: type,
      f: fields,
      ...(appended.length === 0 ? {} : { a: appended }),
      ...(body === null ? {} : isUtf8(body) ? { b: Buffer.from(body).toString('utf8') } : { x: Buffer.from(body).toString('base64') }),
    }
    return packed
  }

  /** All values of a field, as one list; null without it. @param outer fields that outer code has set for the request to be answered */
  field(name: string, outer: readonly string[] = NO_FIELDS): string | null {
    return joinedValue(outer.length === 0 ? this.fields : this.#beside(outer), name)
  }

  /** What is kept after a 304 has confirmed it (RFC 9111 §4.3.4). Age and Date are out of date even if the 304 has none. */
  updatedBy(news: KeptResponse): KeptResponse {
    const names = new Set(['age', 'date'])
    const fields: string[] = []
    for (let i = 0; i < news.fields.length; i += 2) {
      if (NOT_UPDATED.test(news.fields[i]!)) continue
      names.add(news.fields[i]!.toLowerCase())
      fields.push(news.fields[i]!, news.fields[i + 1]!)
    }
    const appended = [...this.appended.filter((name) => !names.has(name)), ...news.appended]
    return this.with({ fields: [...without(this.fields, names), ...fields], appended })
  }

  /** The fields of a request that asks whether it is still current; empty if it has no validators. */
  get conditions(): ReadonlyMap<string, string> {
    const { etag, lastModified } = this.#known()
    const date = this.field('last-modified')
    const found = new Map<string, string>()
    if (etag !== null) found.set('if-none-match', etag)
    if (date !== null && lastModified !== null) found.set('if-modified-since', date)
    return found
  }

  /** From now on, its body in content codings is kept too. @param onGrow called with the number of bytes of each new form */
  keepForms(onGrow: (bytes: number) => void): void {
    this.#forms = new CodedForms(onGrow)
  }

  /** Lets a response with the same content share the kept body in content codings. */
  lendForms(response: ResponseHandle): void {
    if (this.#forms !== null) (response as OutgoingResponse).keepCodedForms(this.#forms)
  }

  /** Sends it in place of what a handler has chosen. Fields that are set stay, unless it has others of the same name. */
  send(session: HttpSession): HttpResponse {
    const exchange = exchangeOf(session)
    this.#sendBy(exchange)
    return exchange.response
  }

  /**
   * Sends it with the conditions and the range of the client applied: as 304 to a client that has it, or the part that it asks for.
   * @param now milliseconds since 1970
   */
  answer(session: HttpSession, now: number): HttpResponse | Promise<HttpResponse> {
    const exchange = exchangeOf(session)
    const own = this.#sendBy(exchange)
    this.lendForms(own)
    const { head } = exchange
    if (this.status !== 200 || settleConditions(exchange, own, () => this.#known(), now)) return exchange.response
    const range = head.get('range')
    if (range === null || this.body === null || head.method !== 'GET' || !rangeApplies(head, this.#known(), now)) return exchange.response
    return sendRange(exchange, own, this.body, range)
  }

  #sendBy(exchange: Exchange): OutgoingResponse {
    const { status, reason, type, fields, body } = this
    const own = exchange.answerWithOwn()
    own.status(status, reason)
    own.begin(own.fields === null ? fields : this.#beside(own.fields))
    if (body === null) own.removeHeader('Content-Type')
    else if (type === null) own.body(body).removeHeader('Content-Type')
    else own.body(body, type)
    return own
  }

  /** @param outer fields that outer code has set: they stay, unless the handler had replaced them */
  #beside(outer: readonly string[]): readonly string[] {
    const { fields, appended } = this
    const replaced = new Set<string>()
    for (let i = 0; i < fields.length; i += 2) if (!appended.includes(fields[i]!.toLowerCase())) replaced.add(fields[i]!.toLowerCase())
    return [...without(outer, replaced), ...fields]
  }

  #known(): Validators {
    this.#validators ??= this.status === 200 ? validatorsOf((name) => this.field(name)) : NO_VALIDATORS
    return this.#validators
  }
}

/** Several ranges at once are rare: such a client gets the whole (RFC 9110 §14.2). */
async function sendRange({ response }: Exchange, own: OutgoingResponse, body: Uint8Array, range: string): Promise<HttpResponse> {
  const ranges = await selectRanges(range, body.length)
  if (ranges === 'unsatisfiable') {
    refuse(own, 416)
    own.header('Content-Range', `bytes */${body.length}`)
  } else if (ranges?.length === 1) {
    const [one] = ranges
    own.status(206).header('Content-Range', contentRange(one!, body.length))
    own.deliver(body.subarray(one!.start, one!.end + 1))
  }
  return response
}

const NO_FIELDS: readonly string[] = Object.freeze([])

/** Fields that describe a body, which a 304 does not have. */
const NOT_UPDATED = /^content-(?:encoding|length|range|type)$/i

/**
 * The fields that have been set since there were only those in `before`. Fields that others set for each request, such as those of CORS, are
 * not kept, and neither are the values to which the handler has added its own. A name whose values were replaced is kept with all of them.
 */
function fieldsSince(
  before: readonly string[],
  after: readonly string[],
): { readonly fields: readonly string[]; readonly appended: readonly string[] } {
  const fields: string[] = []
  const appended: string[] = []
  const skipped = new Map<string, number>()
  for (let i = 0; i < after.length; i += 2) {
    const name = after[i]!.toLowerCase()
    let skip = skipped.get(name)
    if (skip === undefined) {
      const outer = valuesOf(before, name)
      const all = valuesOf(after, name)
      skip = outer.every((value, k) => value === all[k]) ? outer.length : 0
      if (skip > 0 && all.length > skip) appended.push(name)
    }
    skipped.set(name, skip - 1)
    if (skip <= 0) fields.push(after[i]!, after[i + 1]!)
  }
  return { fields, appended }
}

function valuesOf(fields: readonly string[], name: string): string[] {
  return fields.filter((_, i) => i % 2 === 1 && fields[i - 1]!.toLowerCase() === name)
}

/** @param names in lower case */
function without(fields: readonly string[], names: ReadonlySet<string>): string[] {
  return fields.filter((_, i) => !names.has(fields[i - (i % 2)]!.toLowerCase()))
}

const areTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every((one) => typeof one === 'string')

/** Its form in a store of text: the clients of Redis pass everything on as UTF-8. */
interface PackedResponse {
  readonly s: number
  readonly r?: string
  readonly t: string | null
  readonly f: readonly string[]
  readonly a?: readonly string[]
  /** The body as text, or in base64. */
  readonly b?: string
  readonly x?: string
}
