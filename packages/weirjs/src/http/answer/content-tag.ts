// `etag: true`: a response gets an ETag that is made of its bytes, and a client that has them gets 304.

import { parseHttpDate } from '../../formats/http-date.ts'
import type { ConditionalRequest } from './conditional.ts'
import type { OutgoingResponse } from './outgoing-response.ts'
import { settlePreconditions } from './precondition.ts'

/** 132 bits of the hash: no two contents that a program sends have the same. */
const TAG_CHARACTERS = 22

/** Changes responses with status 200 to GET and HEAD. A tag and a date that the handler has set count in place of those made here. */
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
