// Does the handler start before the body is in? The route decides; where it says nothing, what the client sends does.

import { parseMediaType } from '../formats/media-type.ts'

import type { RequestHead, RouteMatch } from './application.ts'

/** A form with files may be large and is read as it comes; all else is gathered first. What no route wants is not gathered at all. */
export function streamsBody(head: RequestHead, { route }: RouteMatch): boolean {
  if (route === null) return true
  if (route.bodyMode !== 'auto') return route.bodyMode === 'stream'
  const type = head.get('content-type')
  // Almost every other type can be told from a form by its first letter.
  return type !== null && (type.charCodeAt(0) | 0x20) === LETTER_M && parseMediaType(type)?.type === 'multipart/form-data'
}

const LETTER_M = 0x6d
