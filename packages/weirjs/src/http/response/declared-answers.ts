// The declared answers of a route: whether a response is one of them, and which part of its value is sent.

import { WeirError } from '../../base/errors.ts'
import { BYTES_TYPE, isJson, parseMediaType } from '../../formats/media-type.ts'
import { Mismatch } from '../../schema/mismatch.ts'
import { checkedPickerOf, type Picker, pickerOf } from '../../schema/picker.ts'
import type { AnySchema } from '../../schema/standard.ts'
import { declaredEvents, type EventSchemas } from './declared-events.ts'
import { NO_JSON, type OutgoingResponse } from './outgoing-response.ts'
import { PROBLEM_TYPE, Problem } from './problem.ts'
import type { ResponseContent } from './response-content.ts'

/** The answer with one status: JSON that fits a schema, or text or bytes of these types; null for one without a body. */
type DeclaredAnswer = AnySchema | PlainAnswer | null

/** What `text()` and `bytes()` return. */
interface PlainAnswer {
  readonly kind: string
  /** Media types, or ranges such as `image/*`. */
  readonly types: readonly string[]
  /** Of a stream of events that are JSON. */
  readonly data?: EventSchemas | null
}

/** How one answer is sent. */
interface Sending {
  /** What is expected: the description of a schema, or of a kind of content. */
  readonly expected: string
  /** Null: not JSON. */
  readonly pick: Picker | null
  readonly hasBody: boolean
  /** The Content-Type, unless the handler sets one. Null: what is usual for the content. */
  readonly type: string | null
  /** The schemas of events; null for anything else. */
  readonly events: EventSchemas | null
}

/** Statuses that answer a condition of the request and stand for another response. */
const CONDITIONAL: ReadonlySet<number> = new Set([304, 412])
/** Content that is sent as it is. A Web Response with a body is a stream. */
const RAW: ReadonlySet<string> = new Set<ResponseContent['kind']>(['bytes', 'stream', 'file'])
/** Responses that never have a body (RFC 9110 §15.3.5, §15.3.6, §15.4.5). */
export const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

export class DeclaredAnswers {
  /** The status of a response whose handler sets none: the lowest declared one from 200 to 299. 200 if none of these is declared. */
  readonly usualStatus: number
  /** Whether the answer with that status is declared to have no body. */
  readonly isUsuallyEmpty: boolean
  /** Whether a response checks what it sends, and not only picks. */
  readonly #checks: boolean
  /** Whether other statuses are refused: only if an answer of a request that succeeds is declared. */
  readonly #isClosed: boolean
  readonly #label: string
  readonly #declared: ReadonlyMap<number, DeclaredAnswer>
  readonly #sendings: ReadonlyMap<number, Sending>
  #checked: DeclaredAnswers | null = null

  /** @param label of the route, for messages */
  constructor(label: string, declared: ReadonlyMap<number, DeclaredAnswer>, checks: boolean = false) {
    const statuses = [...declared.keys()].sort((a, b) => a - b)
    const usual = statuses.find((status) => status < 300)
    this.usualStatus = usual ?? 200
    this.isUsuallyEmpty = usual !== undefined && declared.get(usual) === null
    this.#isClosed = statuses.some((status) => status < 400)
    this.#checks = checks
    this.#label = label
    this.#declared = declared
    this.#sendings = new Map([...declared].map(([status, answer]) => [status, sendingOf(answer, checks)]))
  }

  /** Whether a handler may return nothing, which is a 204; null if no answer of a request that succeeds is declared. */
  get allowsNothing(): boolean | null {
    return this.#isClosed ? this.#declared.has(204) : null
  }

  /** The same answers for tests and debugging: a value that does not fit is an error, even if nothing undeclared would be sent. */
  get checked(): DeclaredAnswers {
    this.#checked ??= this.#checks ? this : new DeclaredAnswers(this.#label, this.#declared, true)
    return this.#checked
  }

  /**
   * Keeps only the declared part of a JSON value. Text was not made from a value, and stays unchanged.
   * @throws WEIR_ANSWER_UNDECLARED if nothing of it may be sent or, in tests and debugging, if it does not fit
   */
  apply(response: OutgoingResponse): void {
    const sending = this.#sendings.get(response.statusCode)
    const value = response.jsonValue
    if (value === NO_JSON) {
      if (this.#checks) this.#check(response, sending)
      else if (RAW.has(response.content.kind)) this.#refuseRaw(response, sending)
      if (sending !== undefined && sending.pick === null && sending.type !== null) response.suggestType(sending.type)
    } else if (sending === undefined) {
      if (this.#isClosed) throw this.#undeclared(response)
      response.sendJson(value, null)
    } else if (sending.pick === null) {
      throw this.#mismatch(response, new Mismatch(sending.expected, 'a value for JSON'))
    } else {
      const picked = sending.pick(value)
      if (picked instanceof Mismatch) throw this.#mismatch(response, picked)
      response.sendJson(picked, sending.type)
    }
  }

  /** Checks whether a response that was not made from a value is as declared. */
  #check(response: OutgoingResponse, sending: Sending | undefined): void {
    const { statusCode, content } = response
    if (CONDITIONAL.has(statusCode) || content.kind === 'upgrade') return
    if (sending === undefined) {
      if (this.#isClosed) throw this.#undeclared(response)
      return
    }
    const { pick, hasBody } = sending
    if (pick !== null && content.kind === 'text') {
      const picked = pick(isJsonType(response.type) ? parsed(content.text) : content.text)
      if (picked instanceof Mismatch) throw this.#mismatch(response, picked)
    } else if (pick !== null || hasBody !== (content.kind !== 'none')) {
      throw this.#misplaced(response, sending)
    }
    const events = sending.events
    if (events !== null) response.replaceSource((source) => declaredEvents(source, events, this.#label))
  }

  /** No part of such content can be picked, so it is sent only if it is declared, or if no successful response is declared. */
  #refuseRaw(response: OutgoingResponse, sending: Sending | undefined): void {
    if (sending === undefined) {
      if (this.#isClosed) throw this.#undeclared(response)
    } else if (sending.pick !== null || !sending.hasBody) throw this.#misplaced(response, sending)
  }

  /** The error for content of another kind than declared. */
  #misplaced(response: OutgoingResponse, { expected }: Sending): WeirError {
    const { kind } = response.content
    return this.#mismatch(response, new Mismatch(expected, kind === 'none' ? undefined : `a body of ${kind}`))
  }

  #undeclared({ statusCode, content }: OutgoingResponse): WeirError {
    const isNothing = statusCode === 204 && content.kind === 'none'
    const hint = isNothing ? '. Did the handler return nothing?' : `: add ${statusCode} to its answers`
    const declared = [...this.#declared.keys()].join(', ')
    return new WeirError('WEIR_ANSWER_UNDECLARED', `${this.#label} answers with status ${statusCode}, but declares only ${declared}${hint}`)
  }

  #mismatch({ statusCode }: OutgoingResponse, mismatch: Mismatch): WeirError {
    const found = mismatch.all().map(({ pointer, message }) => (pointer === '' ? message : `${pointer}: ${message}`))
    return new WeirError('WEIR_ANSWER_UNDECLARED', `${this.#label}, status ${statusCode}: ${found.join('; ')}`)
  }
}

function sendingOf(answer: DeclaredAnswer, checks: boolean): Sending {
  if (answer === null) return { expected: 'no body', pick: null, hasBody: false, type: null, events: null }
  if (!('~standard' in answer)) {
    const isText = answer.kind === 'text'
    return {
      expected: isText ? 'text' : 'bytes',
      pick: null,
      hasBody: true,
      type: plainTypeOf(answer.types, isText),
      events: answer.data ?? null,
    }
  }
  const pick = checks ? checkedPickerOf(answer) : pickerOf(answer)
  return { expected: 'a value for JSON', pick, hasBody: true, type: answer === Problem ? PROBLEM_TYPE : null, events: null }
}

/** The Content-Type, if only one is declared. The type of unknown bytes says nothing: a file, say, has a better one. */
function plainTypeOf(types: readonly string[], isText: boolean): string | null {
  const [only] = types
  if (only === undefined || types.length > 1 || only.includes('*') || only === BYTES_TYPE) return null
  return isText ? `${only}; charset=utf-8` : only
}

function isJsonType(type: string | null): boolean {
  const media = type === null ? null : parseMediaType(type)
  return media !== null && isJson(media.type)
}

/** A text that is not JSON is itself. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
