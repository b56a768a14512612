// How is the body of a request taken in: how much of it, and before the handler starts or while it runs?

import { LOWER } from '../../base/ascii.ts'
import type { Limits } from '../../base/limits.ts'
import { parseMediaType } from '../../formats/media-type.ts'
import type { Head } from '../../wire/head/head.ts'
import type { RouteMatch } from '../route-info.ts'
import { RequestBody } from './body.ts'

const LETTER_M = 0x6d

/** Most bytes that the body may have, null for no limit. The route has the last word. */
export function bodyLimit({ route }: RouteMatch, limits: Limits): number | null {
  return route?.maxRequestBodySize === undefined ? limits.maxRequestBodySize : route.maxRequestBodySize
}

/** Whether the declared length alone is beyond `limit`. */
export function isTooLarge({ contentLength }: Head, limit: number | null): limit is number {
  return limit !== null && contentLength > limit
}

/**
 * Whether the handler starts before the body is there. A form with files may be large and is read as it comes; all else is gathered first. What
 * no route wants, or is too large, is not gathered at all.
 */
export function streamsBody(head: Head, { route }: RouteMatch, limit: number | null): boolean {
  if (head.contentLength === 0) return false
  if (route === null || isTooLarge(head, limit)) return true
  if (route.bodyMode !== 'auto') return route.bodyMode === 'stream'
  const type = head.contentType
  // Almost every other type can be told from a form by its first letter.
  return type !== null && (type.charCodeAt(0) | LOWER) === LETTER_M && parseMediaType(type)?.type === 'multipart/form-data'
}

/** @param demand called when a reader wants (more) of it; null when it is gathered first. @returns null where there is no body */
export function bodyFor({ contentLength }: Head, { route }: RouteMatch, demand: (() => void) | null): RequestBody | null {
  return contentLength === 0 ? null : new RequestBody(contentLength, demand, route?.bodyMode === 'auto')
}
