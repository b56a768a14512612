// Conditional requests (RFC 9110 §13) for all kinds of responses: files, computed ones, and routes with `etag: true`.

import { invalid } from '../../base/options.ts'
import { asEntityTag } from '../../formats/etag.ts'
import { formatHttpDate, parseHttpDate } from '../../formats/http-date.ts'
import { type ConditionalRequest, evaluatePreconditions, failureOf, isReading, tagOfUnchanged, type Validators } from './conditional.ts'
import { NO_JSON, type OutgoingResponse } from './outgoing-response.ts'
import { problemOf } from './problem.ts'

/** 132 bits of the hash: no two contents that a program sends have the same. */
const TAG_CHARACTERS = 22

/** The current state of a resource: what distinguishes it from earlier and later states. */
export interface ResourceState {
  /**
   * An entity tag (`"v7"`, or `W/"v7"` if it is weak), or its text without quotes (`v7`), which makes it strong. It may not contain blanks,
   * control characters and, apart from those around it, quotes.
   */
  readonly etag?: string | undefined
  /** The time of the last change. Fractions of a second are dropped. */
  readonly lastModified?: Date | undefined
}

/** The part of an exchange that conditions need. */
export interface DecidedRequest {
  readonly head: ConditionalRequest
  /** What `precondition` has decided: 0 if it was not called, 200 if the handler does its work, otherwise 304 or 412. */
  decision: number
}

/**
 * Evaluates the client's conditions against the current state. If the method reads, it also sets ETag and Last-Modified.
 *
 * @param state null if the resource does not exist
 * @returns whether the response is complete: 304 or 412
 * @throws WEIR_RESPONSE_HEADER_SYNTAX for an `etag` that cannot be one; WEIR_OPTION_INVALID for an invalid `lastModified`
 */
export function applyPrecondition(exchange: DecidedRequest, response: OutgoingResponse, state: ResourceState | null): boolean {
  const now = Date.now()
  const isComplete = settlePreconditions(exchange.head, response, state === null ? null : validatorsOf(state, now), now)
  exchange.decision = isComplete ? response.statusCode : 200
  return isComplete
}

/** Whether a response is the one that `precondition` has decided on. */
export function isDecided({ statusCode, content, jsonValue }: OutgoingResponse, decision: number): boolean {
  const isEmpty = content.kind === 'none' && jsonValue === NO_JSON
  return statusCode === decision && (decision === 304 ? isEmpty : content.kind === 'text' && content.problem !== undefined)
}

/** Sends the response that `precondition` has decided on, and drops what has been set since. */
export function decideAgain(response: OutgoingResponse, decision: number): void {
  if (decision === 304) sendUnchanged(response)
  else refuse(response, decision)
}

function validatorsOf({ etag, lastModified }: ResourceState, now: number): Validators {
  const time = lastModified === undefined ? null : lastModified instanceof Date ? lastModified.getTime() : Number.NaN
  if (Number.isNaN(time)) throw invalid('precondition()', 'lastModified is not a valid Date')
  // A server must not send a time in the future (RFC 9110 §8.8.2.1).
  const changed = time === null ? null : Math.max(0, Math.min(time, now))
  return {
    etag: etag === undefined ? null : asEntityTag(etag),
    lastModified: changed === null ? null : changed - (changed % 1_000),
    isSettled: false,
  }
}

/** The same with validators. Those that the response has already stay. */
export function settlePreconditions(
  request: ConditionalRequest,
  response: OutgoingResponse,
  current: Validators | null,
  now: number,
): boolean {
  const verdict = evaluatePreconditions(request, current, now)
  if (verdict === 'failed') {
    refuse(response, 412, failureOf(request, current))
    return true
  }
  if (current === null || !isReading(request.method)) return false
  const { etag, lastModified } = current
  if (etag !== null && response.getHeader('ETag') === null) response.header('ETag', etag)
  const isUnchanged = verdict === 'not modified'
  if (isUnchanged && etag !== null) response.header('ETag', tagOfUnchanged(request, response.getHeader('ETag')!))
  // With an ETag, Last-Modified is of no use in a 304 (RFC 9110 §15.4.5).
  const needsDate = lastModified !== null && !(isUnchanged && etag !== null)
  if (needsDate && response.getHeader('Last-Modified') === null) response.header('Last-Modified', formatHttpDate(lastModified))
  if (isUnchanged) sendUnchanged(response)
  return isUnchanged
}

function sendUnchanged(response: OutgoingResponse): void {
  response.noContent().status(304).removeHeader('Content-Type').removeHeader('Content-Encoding')
}

/** Responds with a problem document. The fields that described another body (a year of Cache-Control, say) are removed. */
export function refuse(response: OutgoingResponse, status: number, detail?: string): void {
  response.status(status) // throws if it has been sent
  response.clearRepresentation()
  const problem = problemOf(status, detail)
  response.sendProblem(status === 412 ? { ...problem, code: 'WEIR_CONDITION_FAILED' } : problem)
}

/**
 * `etag: true`: an ETag is made of the bytes, and a client that has them gets 304. Changes responses with status 200 to GET and HEAD. A tag
 * and a date that the handler has set count in place of those made here.
 */
export function applyContentTag(request: ConditionalRequest, response: OutgoingResponse): void {
  if (response.statusCode !== 200 || (request.method !== 'GET' && request.method !== 'HEAD')) return
  const now = Date.now()
  const etag = response.getHeader('ETag') ?? tagOf(response)
  const changed = response.getHeader('Last-Modified')
  const lastModified = changed === null ? null : parseHttpDate(changed, now)
  settlePreconditions(request, response, { etag, lastModified, isSettled: false }, now)
}

/** Strong: two responses with the same tag have the same bytes. Null for a stream. */
function tagOf({ content }: OutgoingResponse): string | null {
  const bytes = content.kind === 'text' ? content.text : content.kind === 'bytes' ? content.bytes : null
  if (bytes === null) return null
  // Not imported above, because loading it takes longer than starting a whole server.
  const digest = process.getBuiltinModule('node:crypto').hash('sha256', bytes, 'base64url')
  return `"${digest.slice(0, TAG_CHARACTERS)}"`
}
