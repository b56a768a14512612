// Where the secrets of a line are that belongs to a head, or to the trailers of a body.

import { fieldSecrets, type Range, shifted, wordsIn } from './ranges.ts'
import type { SecretSegments } from './secret-segments.ts'
import type { SecretNames } from './secret-words.ts'

const FIELD = /^([^\s:]+)[ \t]*:[ \t]*/

/** Any other line, without its end. What is not a field is secret: it may be the rest of one, or lack its colon. */
export function fieldLineSecrets(line: string, names: SecretNames, segments: SecretSegments): Range[] {
  const [before = '', name = ''] = FIELD.exec(line) ?? []
  if (before !== '') return shifted(fieldSecrets(name, line.slice(before.length), names, segments), before.length)
  return wordsIn(line, 0, line.length)
}
