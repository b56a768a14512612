import { type Buffer, isUtf8 } from 'node:buffer'

import type { Masking } from './masking.ts'

/**
 * A body without secrets, one character for each byte. Bytes that are not text have no names, and so no secrets that could be found.
 * @param secrets of the request, which the body may repeat
 */
export function maskedBody(body: Buffer, contentType: string | null, masking: Masking, secrets: readonly string[]): string {
  const bytes = body.toString('latin1')
  return isUtf8(body) ? masking.body(bytes, contentType, secrets) : bytes
}
