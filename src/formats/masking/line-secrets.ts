// Where the secrets of a line are that belongs to a head, possibly to one that is refused because it is malformed.

import { bodySecrets } from './body-secrets.ts'
import { fieldSecrets, type Range, urlSecrets, wordsIn } from './ranges.ts'
import type { SecretNames } from './secret-words.ts'

/** The first line of a request. It may be the rest of a body that was longer than its client had announced. */
export function requestLineSecrets(line: string, names: SecretNames): Range[] {
  const [start = '', before = '', target = ''] = /^(\S*\s+)(\S*)/.exec(line) ?? []
  if (start === '') return bodySecrets(line, null, names)
  return [...shifted(urlSecrets(target, names), before.length), ...bodySecrets(line, null, names)]
}

const FIELD = /^([^\s:]+)[ \t]*:[ \t]*/

/** Any other line, without its end. What is not a field is secret but for its first word: it may be the rest of one, or lack its colon. */
export function fieldLineSecrets(line: string, names: SecretNames): Range[] {
  const [before = '', name = ''] = FIELD.exec(line) ?? []
  if (before !== '') return shifted(fieldSecrets(name, line.slice(before.length), names), before.length)
  return wordsIn(line, /^(?:[ \t]+|\S*)/.exec(line)![0].length, line.length)
}

export function isField(line: string): boolean {
  return FIELD.test(line)
}

export function shifted(ranges: readonly Range[], by: number): Range[] {
  return ranges.map(([start, end]): Range => [start + by, end + by])
}
