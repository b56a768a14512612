import type { Buffer } from 'node:buffer'

import type { Masking } from './masking.ts'

/**
 * A body without secrets, one character for each byte.
 * @param secrets of the exchange, which the body may repeat
 */
export function maskedBody(body: Buffer, contentType: string | null, masking: Masking, secrets: readonly string[]): string {
  // Text in another encoding than UTF-8 has the same names.
  return masking.body(body.toString('latin1'), contentType, secrets)
}
