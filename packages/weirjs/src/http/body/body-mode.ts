// Decides how the body of a request is read: how much of it, and whether before the handler starts or while it runs.

import { LOWER } from '../../base/ascii.ts'
import type { Limits } from '../../base/limits.ts'
import { parseMediaType } from '../../formats/media-type.ts'
import type { Head } from '../../wire/head/head.ts'
import type { RouteMatch } from '../route-info.ts'
import { type BodyEngine, FORM, GATHERED, RequestBody, STREAMED } from './body.ts'

const LETTER_M = 0x6d

/** Largest body in bytes; null for no limit. The limit of the route takes precedence over the server's. */
export function bodyLimit({ route }: RouteMatch, limits: Limits): number | null {
  return route?.maxRequestBodySize === undefined ? limits.maxRequestBodySize : route.maxRequestBodySize
}

/** Whether the declared length exceeds `limit`. */
export function isTooLarge({ contentLength }: Head, limit: number | null): limit is number {
  return limit !== null && contentLength > limit
}

/**
 * Whether the handler starts before the body has arrived. By default a multipart form, which may be large, is streamed, and any other body
 * is gathered first. A body that no route needs, or that is too large, is not gathered at all.
 */
export function streamsBody(head: Head, { route }: RouteMatch, limit: number | null): boolean {
  if (head.contentLength === 0) return false
  if (route === null || isTooLarge(head, limit)) return true
  if (route.bodyMode !== 'auto') return route.bodyMode === 'stream'
  const type = head.contentType
  // The first letter rules out almost every other type.
  return type !== null && (type.charCodeAt(0) | LOWER) === LETTER_M && parseMediaType(type)?.type === 'multipart/form-data'
}

/** @returns null when there is no body */
export function bodyFor(head: Head, match: RouteMatch, limit: number | null, engine: BodyEngine): RequestBody | null {
  if (head.contentLength === 0) return null
  const mode = !streamsBody(head, match, limit) ? GATHERED : match.route?.bodyMode === 'auto' ? FORM : STREAMED
  return new RequestBody(head.contentLength, engine, mode)
}
