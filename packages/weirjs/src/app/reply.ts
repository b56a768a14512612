// Turns what a handler has returned into a response. The rules are one table, from the most common case to the rarest.

import { WeirError } from '../base/errors.ts'
import { isPromise } from '../base/is-promise.ts'
import { kindOf } from '../base/kind-of.ts'
import type { RequestHead } from '../http/application.ts'
import type { Exchange } from '../http/exchange.ts'
import { hasNoJson, NO_FORM } from '../http/json-engine.ts'
import { upgradeOf } from '../http/request/upgrade.ts'
import { type ByteSource, closeSource, takeSource } from '../http/response/byte-source.ts'
import type { DeclaredAnswers } from '../http/response/declared-answers.ts'
import { OutgoingResponse } from '../http/response/outgoing-response.ts'
import { decideAgain, isDecided } from '../http/response/precondition.ts'
import { isResponse, outgoingOf } from '../http/response/response.ts'
import { type FileContent, NOTHING_RETURNED } from '../http/response/response-content.ts'
import { copyWebResponse, isWebResponse } from '../http/response/web-response.ts'
import { isStrict, reportMistake } from './debugged.ts'

/**
 * Undefined: `session.response` as the handler has set it, otherwise 204. A response: itself. A string: text/plain. Bytes: themselves. A stream or an
 * async iterable: streamed. A Web `Response`: copied. A promise: what it resolves to. Anything else that has a JSON form: JSON.
 * @param answers what the handler may answer with; null if nothing is declared, and for what others than handlers return
 * @returns a promise only if there is something to wait for
 * @throws WEIR_RESULT_UNSENDABLE for a function, a symbol, a bigint, and objects that would become `{}` in JSON: see `hasNoJson`; in tests and
 * with `debug`, for a GET whose handler returned nothing; WEIR_ANSWER_UNDECLARED
 */
export function reply(
  exchange: Exchange,
  result: unknown,
  answers: DeclaredAnswers | null = null,
): OutgoingResponse | Promise<OutgoingResponse> {
  const { sent } = exchange
  if (sent !== null) return drop(sent, result)
  if (typeof result === 'object' && result !== null) {
    if (isResponse(result)) return settle(exchange, exchange.answerWith(result), answers)
    if (isPromise(result)) return replyLater(exchange, result, answers)
    const own = exchange.answerWithOwn()
    if (own.bodies > 0) refuseReplacement(exchange)
    const set = setBody(exchange, own, result, answers)
    return set instanceof OutgoingResponse ? settle(exchange, set, answers) : settleCopied(exchange, set, answers)
  }
  const response = exchange.answerWithOwn()
  if (response.bodies > 0 && result !== undefined) refuseReplacement(exchange)
  switch (typeof result) {
    case 'string':
      return settle(exchange, response.text(result), answers)
    case 'undefined': {
      if (response.isAnswered) return settle(exchange, response, answers)
      const allows = answers?.allowsNothing ?? null
      if (allows ?? !isForgotten(exchange)) return settle(exchange, response.noContent(), answers)
      if (allows === null) refuseInTests(exchange)
      return settle(exchange, response.noContent(NOTHING_RETURNED), answers)
    }
    case 'number':
    case 'boolean':
    case 'object':
      return settle(exchange, response.json(result), answers)
    default:
      throw new WeirError(
        'WEIR_RESULT_UNSENDABLE',
        `${kindOf(result)} was returned for ${exchange.match.route?.place ?? exchange.head.method}: return a string, an object or a response`,
      )
  }
}

/** A GET should return something, so its handler probably forgot `return`, unless the client has left and no one waits for a value. */
function isForgotten({ head, match, hasReachedRoute, request }: Exchange): boolean {
  return hasReachedRoute && head.method === 'GET' && match.route !== null && !request.signal.aborted
}

/** In production, the dispatcher warns. */
function refuseInTests(exchange: Exchange): void {
  if (!isStrict(exchange)) return
  throw new WeirError(
    'WEIR_RESULT_UNSENDABLE',
    `the handler of ${exchange.match.route!.place} returned nothing: return a value, or say so with response.noContent()`,
  )
}

/** Whether a result is a promise. Never true for a response, to which a program may have added a `then`. */
export function isLater(result: unknown): result is Promise<unknown> {
  return typeof result === 'object' && result !== null && !isResponse(result) && isPromise(result)
}

/** The request was answered without waiting for its handler (`requestTimeout`): closes the source of the late response. */
function drop(sent: OutgoingResponse, result: unknown): OutgoingResponse {
  if (typeof result !== 'object' || result === null) return sent
  if (isResponse(result)) {
    const late = outgoingOf(result)
    if (late !== sent && late.content.kind === 'stream') closeSource(late.content)
  } else if (Symbol.asyncIterator in result) closeSource(takeSource(result as ByteSource))
  else if (isWebResponse(result) && result.body !== null) closeSource(takeSource(result.body as unknown as ByteSource))
  return sent
}

function setBody(
  exchange: Exchange,
  response: OutgoingResponse,
  result: object,
  answers: DeclaredAnswers | null,
): OutgoingResponse | Promise<OutgoingResponse> {
  if (Symbol.asyncIterator in result) return response.stream(result as ByteSource)
  const prototype: unknown = Object.getPrototypeOf(result)
  if (prototype === Object.prototype || prototype === Array.prototype || prototype === null) return response.json(result)
  if (result instanceof Uint8Array) return response.body(result)
  if (result instanceof ArrayBuffer) return response.body(new Uint8Array(result))
  if (ArrayBuffer.isView(result)) return response.body(new Uint8Array(result.buffer, result.byteOffset, result.byteLength))
  if (isWebResponse(result)) return copyWebResponse(response, result, exchange.head.method === 'HEAD', answers === null)
  if (hasNoJson(result))
    throw new WeirError('WEIR_RESULT_UNSENDABLE', `${kindOf(result)} ${result instanceof Error ? 'was returned: throw it' : NO_FORM}`)
  return response.json(result)
}

async function settleCopied(
  exchange: Exchange,
  copied: Promise<OutgoingResponse>,
  answers: DeclaredAnswers | null,
): Promise<OutgoingResponse> {
  return settle(exchange, await copied, answers)
}

/** Uses `await`, not `then` of the result, which may return nothing, and which a program may have replaced. */
async function replyLater(exchange: Exchange, result: Promise<unknown>, answers: DeclaredAnswers | null): Promise<OutgoingResponse> {
  let value: unknown
  try {
    value = await result
  } catch (error) {
    if (exchange.handler === 'at work') exchange.handler = 'settled'
    throw error
  }
  return reply(exchange, value, answers)
}

/** The same for code that may answer a request, but not hand over its connection. @param who names the code, for messages */
export function replyInPlace(exchange: Exchange, result: unknown, who: string): OutgoingResponse | Promise<OutgoingResponse> {
  const response = reply(exchange, result)
  if (response instanceof OutgoingResponse && response.content.kind === 'upgrade') throw unwantedUpgrade(who)
  return response
}

export function unwantedUpgrade(who: string): WeirError {
  return new WeirError('WEIR_RESULT_UNSENDABLE', `${who} cannot answer with an upgrade`)
}

/** Sends the declared part of a handler's result. */
function settle(
  exchange: Exchange,
  response: OutgoingResponse,
  answers: DeclaredAnswers | null,
): OutgoingResponse | Promise<OutgoingResponse> {
  if (response.bodies > 1) refuseReplacement(exchange)
  if (exchange.handler === 'at work') exchange.handler = 'settled'
  const kept = exchange.decision > 200 ? keepDecision(exchange, response) : response
  if (answers !== null) {
    answers.apply(kept)
    exchange.own.releaseAnswer()
  }
  const { kind } = kept.content
  return kind === 'file' || kind === 'upgrade' ? complete(exchange, kept) : kept
}

/**
 * A handler that continues after `precondition` returned true responds as if the condition held. Its client still gets the 304 or the 412, which
 * middleware may replace.
 */
function keepDecision(exchange: Exchange, response: OutgoingResponse): OutgoingResponse {
  const { decision, failure } = exchange
  exchange.decision = 200
  if (failure !== null || isDecided(response, decision)) return response
  const own = exchange.answerWithOwn()
  decideAgain(own, decision)
  reportMistake(
    exchange,
    `precondition() was true, so the response is a ${decision}, and the handler returned another: if (response.precondition(…)) return response`,
  )
  return own
}

/** Code after `response.notFound()`, say, was not to run: only one response of a handler is sent. Middleware and hooks may replace it. */
function refuseReplacement(exchange: Exchange): void {
  // Where precondition() was true, it decides. The rest was settled before, so that this is not the handler.
  if (exchange.handler !== 'at work' || exchange.decision > 200) return
  reportMistake(
    exchange,
    'its handler has set one response and then another, and only the last is sent: return the first, as in return response.json(…)',
  )
}

/** Refuses the result of a hook that returns another response, or a body: a hook can only change the response that it receives. */
export function checkHookResult(exchange: Exchange, response: OutgoingResponse, result: unknown): void {
  const isObject = typeof result === 'object' && result !== null
  const isBody = typeof result === 'string' || ArrayBuffer.isView(result) || (isObject && isWebResponse(result))
  if (isBody || (isObject && isResponse(result) && outgoingOf(result) !== response))
    reportMistake(
      exchange,
      `a beforeSend hook returned ${kindOf(result)}, which is not sent: change the response that it gets, as in response.text(…)`,
    )
}

/** A file is opened before the response begins, so that it can still become a 404. An upgrade that the client did not ask for is refused. */
export function complete(exchange: Exchange, response: OutgoingResponse): OutgoingResponse | Promise<OutgoingResponse> {
  const { content } = response
  if (content.kind === 'file') return openFile(exchange, response, content.file)
  if (content.kind === 'upgrade') checkUpgrade(exchange.head, exchange.own, content.protocol)
  return response
}

/**
 * HTTP/2 has no Upgrade field, which a 426 requires (RFC 9110 §15.5.22). The stream is not reset with HTTP_1_1_REQUIRED (RFC 9113 §7):
 * browsers would then use HTTP/1.1 for the whole origin, because of one resource.
 * @throws WEIR_UPGRADE_REQUIRED if the client has not requested the protocol; WEIR_UPGRADE_OVER_HTTP2 if it cannot
 */
export function checkUpgrade(head: RequestHead, own: OutgoingResponse, protocol: string): void {
  const wanted =
    upgradeOf(head)
      ?.split(',')
      .map((name) => name.trim()) ?? []
  if (wanted.includes(protocol.toLowerCase())) return
  if (head.protocol === 'HTTP/2.0') throw new WeirError('WEIR_UPGRADE_OVER_HTTP2', protocol)
  own.offerUpgrade(protocol)
  throw new WeirError('WEIR_UPGRADE_REQUIRED', protocol)
}

/**
 * Loaded with the first file, so that a program that sends none starts faster. Importing it again each time would cost more than reading the file.
 */
let prepareFile: typeof import('../http/files/file.ts').prepareFile | undefined

async function openFile(exchange: Exchange, response: OutgoingResponse, file: FileContent): Promise<OutgoingResponse> {
  prepareFile ??= (await import('../http/files/file.ts')).prepareFile
  const { head } = exchange
  await prepareFile({ method: head.method, header: (name) => head.get(name) }, response, file, isStrict(exchange))
  return response
}
