// What is sent of bytes that are known: all of them, the parts that the client asks for, or nothing where it has them already
// (RFC 9110 §13, §14). The bytes may lie in a file or in memory: only what describes them counts here.

import { entityTag } from '../../formats/etag.ts'
import { formatHttpDate, parseHttpDate } from '../../formats/http-date.ts'
import { BYTES_TYPE } from '../../formats/media-type.ts'
import type { FileOptions } from '../answer/file-options.ts'
import type { OutgoingResponse } from '../answer/outgoing-response.ts'
import { problemOf } from '../answer/problem.ts'
import type { HttpRequest } from '../request/request.ts'
import { contentRange, multipartRanges, selectRanges } from './byte-ranges.ts'
import { evaluatePreconditions, type ReadField, rangeApplies, type Validators } from './conditional.ts'
import type { ByteRange, FilePiece } from './file-source.ts'

/** What tells one state of a file from another. */
export interface FileState {
  /** In bytes. */
  readonly size: number
  /** Time of the last change, in milliseconds since 1970. */
  readonly changedMs: number
  /** What goes into the ETag: no other state of the file has it, unless two follow within the grain of the clock. */
  readonly tag: string
}

/** What of a request decides. */
export type Asking = Pick<HttpRequest, 'method' | 'header'>

/**
 * Milliseconds after which a changed file counts as settled: a second change would have another time. Clocks of file systems have grains
 * of up to 2 s (FAT).
 */
const SETTLED_AFTER = 2_000

/** No ranges: all of the file. */
const WHOLE: readonly ByteRange[] = []

/** @param now milliseconds since 1970 */
export function isSettled(state: FileState, now: number): boolean {
  return now - state.changedMs >= SETTLED_AFTER
}

/**
 * The ETag of a state; weak as long as a second change would not show (RFC 9110 §8.8.1). Forms of one file in different codings may have
 * one size and one time of change, and yet must not have one tag (§8.8.3.3): so it names the coding.
 *
 * @param coding Content-Encoding of the bytes, or null
 */
export function tagOf(state: FileState, coding: string | null, now: number): string {
  const form = coding === null ? '' : `-${coding.toLowerCase().replace(/[^\w-]+/g, '+')}`
  return entityTag(state.tag + form, !isSettled(state, now))
}

/** What Last-Modified says: whole seconds. A time that lies ahead, or before 1970, is a clock that was wrong. */
export function lastModifiedOf(state: FileState, now: number): number {
  const changed = Math.max(0, Math.min(state.changedMs, now))
  return changed - (changed % 1_000)
}

/**
 * Settles what the client's conditions and ranges ask for, and sets status and fields that belong to it. GET and HEAD are judged, and ranges
 * of GET, unless the handler has set a status other than 200.
 *
 * @param describe sets the fields about the whole, Content-Type first of all
 * @returns what goes out, in order; null when the response is complete without it
 */
export async function selectPieces(
  request: Asking,
  response: OutgoingResponse,
  state: FileState,
  options: FileOptions,
  describe: () => void | Promise<void>,
): Promise<readonly FilePiece[] | null> {
  const ranges = await negotiate(request, response, state, options)
  if (ranges === null) return null
  await describe()
  return divide(response, ranges, state.size)
}

/** @returns the ranges to send, none for the whole file; null when the response is complete without it */
async function negotiate(
  request: Asking,
  response: OutgoingResponse,
  state: FileState,
  options: FileOptions,
): Promise<readonly ByteRange[] | null> {
  setUnlessSet(response, 'Cache-Control', options.cacheControl)
  // The file is what the URL stands for only in an ordinary answer to GET or HEAD, and only then do these fields say something about it.
  const isGet = request.method === 'GET'
  if (response.statusCode !== 200 || !(isGet || request.method === 'HEAD')) return WHOLE
  const now = Date.now()
  const field: ReadField = (name) => request.header(name)
  const current = validatorsOf(response, options, state, now)
  const verdict = await evaluatePreconditions(field, current, now)
  if (verdict === 'failed') {
    refuse(response, 412)
    return null
  }
  if (current.etag !== null) setUnlessSet(response, 'ETag', current.etag)
  if (verdict === 'not modified') {
    // Last-Modified would say nothing beside an ETag (RFC 9110 §15.4.5).
    if (current.etag === null) setUnlessSet(response, 'Last-Modified', formatDate(current.lastModified))
    response.noContent().status(304).removeHeader('Content-Type').removeHeader('Content-Encoding')
    return null
  }
  setUnlessSet(response, 'Last-Modified', formatDate(current.lastModified))
  if (options.acceptRanges === false) return WHOLE
  response.header('Accept-Ranges', 'bytes')
  const range = isGet ? field('range') : null
  if (range === null || !rangeApplies(field, current, now)) return WHOLE
  const ranges = await selectRanges(range, state.size)
  if (ranges !== 'unsatisfiable') return ranges ?? WHOLE
  refuse(response, 416)
  response.header('Content-Range', `bytes */${state.size}`)
  return null
}

/** What the handler has set itself stands for the file. */
function validatorsOf(response: OutgoingResponse, options: FileOptions, state: FileState, now: number): Validators {
  const ownTag = response.getHeader('ETag')
  const ownDate = response.getHeader('Last-Modified')
  return {
    etag: ownTag ?? (options.etag === false ? null : tagOf(state, response.listHeader('Content-Encoding'), now)),
    lastModified: ownDate !== null ? parseHttpDate(ownDate, now) : options.lastModified === false ? null : lastModifiedOf(state, now),
    isSettled: isSettled(state, now),
  }
}

/** What goes out, in order; sets what is different when it is not all of the file. */
function divide(response: OutgoingResponse, ranges: readonly ByteRange[], size: number): readonly FilePiece[] {
  const [range] = ranges
  if (range === undefined) return [{ start: 0, end: size - 1 }]
  response.status(206)
  if (ranges.length === 1) {
    response.header('Content-Range', contentRange(range, size))
    return [range]
  }
  const body = multipartRanges(ranges, size, response.type ?? BYTES_TYPE)
  response.contentType(body.contentType)
  return body.pieces
}

function formatDate(time: number | null): string | undefined {
  return time === null ? undefined : formatHttpDate(time)
}

function setUnlessSet(response: OutgoingResponse, name: string, value: string | undefined): void {
  if (value !== undefined && response.getHeader(name) === null) response.header(name, value)
}

/** A problem document. It never names the path, and what described the file (a year of Cache-Control, say) does not go with it. */
export function refuse(response: OutgoingResponse, status: number): void {
  response.clearRepresentation()
  response.sendProblem(problemOf(status))
}
