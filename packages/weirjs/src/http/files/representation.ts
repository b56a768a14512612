// Decides what is sent of a representation: all of it, the ranges that the client requests, or nothing if the client already has it (RFC
// 9110 §13, §14). The bytes may be in a file or in memory; this module only needs their description.

import { entityTag } from '../../formats/etag.ts'
import { parseHttpDate } from '../../formats/http-date.ts'
import { BYTES_TYPE } from '../../formats/media-type.ts'
import type { HttpRequest } from '../request/request.ts'
import { type ConditionalRequest, rangeApplies, type Validators } from '../response/conditional.ts'
import type { FileOptions } from '../response/file-options.ts'
import type { OutgoingResponse } from '../response/outgoing-response.ts'
import { refuse, settlePreconditions } from '../response/precondition.ts'
import { contentRange, multipartRanges, selectRanges } from './byte-ranges.ts'
import type { ByteRange, FilePiece } from './file-source.ts'

/** The state of a file. */
export interface FileState {
  /** In bytes. */
  readonly size: number
  /** Time of the last change, in milliseconds since 1970. */
  readonly changedMs: number
  /** The part of the ETag that identifies this state. Two states have the same tag only if both changes fall within the resolution of the clock. */
  readonly tag: string
}

/** The parts of a request that matter. */
export type Asking = Pick<HttpRequest, 'method' | 'header'>

/**
 * Milliseconds after which a changed file counts as settled: a second change would have a different time. The clocks of file systems have a
 * resolution of up to 2 s (FAT).
 */
const SETTLED_AFTER = 2_000

/** No ranges: the whole file. */
const WHOLE: readonly ByteRange[] = []

/** @param now milliseconds since 1970 */
function isSettled(state: FileState, now: number): boolean {
  return now >= settledAt(state)
}

/** Milliseconds since 1970. */
export function settledAt({ changedMs }: FileState): number {
  return changedMs + SETTLED_AFTER
}

/**
 * The ETag of a state. It is weak as long as a second change might go unnoticed (RFC 9110 §8.8.1). Versions of a file in different codings
 * may have the same size and time, but must not have the same ETag (§8.8.3.3), so it contains the coding.
 *
 * @param coding Content-Encoding of the bytes, or null
 */
export function tagOf(state: FileState, coding: string | null, now: number): string {
  const form = coding === null ? '' : `-${coding.toLowerCase().replace(/[^\w-]+/g, '+')}`
  return entityTag(state.tag + form, !isSettled(state, now))
}

/** The time for Last-Modified, in whole seconds. A time in the future or before 1970 comes from a wrong clock. */
export function lastModifiedOf(state: FileState, now: number): number {
  const changed = Math.max(0, Math.min(state.changedMs, now))
  return changed - (changed % 1_000)
}

/**
 * Evaluates the client's conditions and ranges, and sets the status and fields that follow from them. Conditions count for GET and HEAD,
 * ranges for GET, and neither counts if the handler has set a status other than 200.
 *
 * @param describe sets the fields about the whole file, above all Content-Type
 * @returns the pieces to send, in order; null if the response is complete without the file
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

/** @returns the ranges to send, none for the whole file; null if the response is complete without the file */
async function negotiate(
  request: Asking,
  response: OutgoingResponse,
  state: FileState,
  options: FileOptions,
): Promise<readonly ByteRange[] | null> {
  setUnlessSet(response, 'Cache-Control', options.cacheControl)
  // The file is the representation of the URL only in a normal response to GET or HEAD. Only then do these fields describe it.
  const isGet = request.method === 'GET'
  if (response.statusCode !== 200 || !(isGet || request.method === 'HEAD')) return WHOLE
  const now = Date.now()
  const current = validatorsOf(response, options, state, now)
  const asked: ConditionalRequest = { method: request.method, get: (name) => request.header(name) }
  if (settlePreconditions(asked, response, current, now)) return null
  if (options.acceptRanges === false) return WHOLE
  response.header('Accept-Ranges', 'bytes')
  const range = isGet ? request.header('range') : null
  if (range === null || !rangeApplies(asked, current, now)) return WHOLE
  const ranges = await selectRanges(range, state.size)
  if (ranges !== 'unsatisfiable') return ranges ?? WHOLE
  refuse(response, 416)
  response.header('Content-Range', `bytes */${state.size}`)
  return null
}

/** Validators that the handler has set take the place of the file's own. */
function validatorsOf(response: OutgoingResponse, options: FileOptions, state: FileState, now: number): Validators {
  const ownTag = response.getHeader('ETag')
  const ownDate = response.getHeader('Last-Modified')
  return {
    etag: ownTag ?? (options.etag === false ? null : tagOf(state, response.listHeader('Content-Encoding'), now)),
    lastModified: ownDate !== null ? parseHttpDate(ownDate, now) : options.lastModified === false ? null : lastModifiedOf(state, now),
    isSettled: isSettled(state, now),
  }
}

/** Returns the pieces to send, in order, and sets the fields of a partial response. */
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

function setUnlessSet(response: OutgoingResponse, name: string, value: string | undefined): void {
  if (value !== undefined && response.getHeader(name) === null) response.header(name, value)
}
