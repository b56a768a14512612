// A channel has one token of a subject: its name, with everything that NATS could read otherwise escaped.

import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'

/** A server ends the connection of a client whose line is longer than 4096 bytes: the whole program would be away because of one name. */
const LONGEST_TOKEN = 256

/**
 * Returns the token for a channel: letters, digits, `-`, `_` and escapes such as `%3A`. Two channels never have the same, but names that would
 * take more than 256 bytes are known by their SHA-256.
 */
export function subjectToken(channel: string): string {
  const token = channel === '' ? '%' : channel.replace(/[^A-Za-z0-9_-]/gu, escaped)
  return token.length <= LONGEST_TOKEN ? token : `%-${createHash('sha256').update(token).digest('hex')}`
}

/** Half of a surrogate pair has no bytes in UTF-8. */
function escaped(character: string): string {
  if (/\p{Surrogate}/u.test(character)) return `%u${character.charCodeAt(0).toString(16).toUpperCase()}`
  let all = ''
  for (const byte of Buffer.from(character)) all += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  return all
}
