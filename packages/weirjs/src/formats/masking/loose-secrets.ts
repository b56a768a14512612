// Where the secrets of a text are whose form nobody has stated: `name=value`, `name: value` and `<name>value</name>`, also inside the
// strings of JSON. Each character is looked at a limited number of times.

import { pairName } from './pairs.ts'
import type { Range } from './ranges.ts'
import type { SecretNames } from './secret-words.ts'

/** What a name is made of, as forms write it. */
const NAME = /[\w.%+[\]$~-]/
const MOST_NAME_CHARS = 128
const SEPARATOR = /[=:>]/g
/** What may stand between a name and its separator, or between that and the value. */
const AROUND = /[\s"'\\]/
const MOST_AROUND = 16
const MOST_BLANKS = 1_024
const BLANKS = /^\s*/
const EMPTY = /^/
/** A quote, which is escaped in a text within another one. */
const OPENING = /^\\*(["'])/
const VALUE_END = /[\s&;,"'<>{}[\]()|]|$/g
/** After a colon, a value may have blanks: `Authorization: Bearer a`. */
const LINE_END = /[\r\n&;,"'<>{}[\]|]|$/g
/** Begins a text of several lines in YAML, each of which is indented. */
const BLOCK = /^[>|][-+\d]{0,2}[ \t]*\r?\n(?=[ \t])/
const BLOCK_END = /\n(?![ \t\r\n])|$/g
const QUOTED_END = { '"': /["\r\n]|$/g, "'": /['\r\n]|$/g } as const

export function looseSecrets(text: string, names: SecretNames): Range[] {
  const found: Range[] = []
  SEPARATOR.lastIndex = 0
  for (let match = SEPARATOR.exec(text); match !== null; match = SEPARATOR.exec(text)) {
    const at = match.index
    const name = match[0] === '>' ? elementBefore(text, at) : nameBefore(text, at)
    if (name === '' || !(match[0] === '=' ? names.hasInQuery(name) : names.has(name))) continue
    const range = valueAfter(text, at + 1, match[0])
    if (range[1] <= range[0]) continue
    found.push(range)
    SEPARATOR.lastIndex = range[1]
  }
  return found
}

function nameBefore(text: string, at: number): string {
  let end = at
  while (end > 0 && at - end < MOST_AROUND && AROUND.test(text[end - 1]!)) end--
  let start = end
  while (start > 0 && end - start < MOST_NAME_CHARS && NAME.test(text[start - 1]!)) start--
  return start === end ? '' : pairName(text.slice(start, end))
}

/** The name of the element whose tag ends at `at`. */
function elementBefore(text: string, at: number): string {
  const tag = text.slice(Math.max(0, at - MOST_NAME_CHARS), at)
  const open = tag.lastIndexOf('<')
  return open === -1 ? '' : (/^<(?:\w+:)?([\w.-]+)/.exec(tag.slice(open))?.[1] ?? '')
}

function valueAfter(text: string, from: number, separator: string): Range {
  const [blanks] = (separator === '>' ? EMPTY : BLANKS).exec(text.slice(from, from + MOST_BLANKS))!
  let start = from + blanks.length
  const [block = ''] = separator === ':' ? (BLOCK.exec(text.slice(start, start + MOST_AROUND)) ?? []) : []
  if (block !== '') {
    BLOCK_END.lastIndex = start + block.length
    return [start + block.length, BLOCK_END.exec(text)!.index]
  }
  const [opening = '', quote] = separator === '>' ? [] : (OPENING.exec(text.slice(start, start + MOST_AROUND)) ?? [])
  start += opening.length
  const end = separator === '>' ? /<|$/g : quote !== undefined ? QUOTED_END[quote as '"' | "'"] : separator === '=' ? VALUE_END : LINE_END
  end.lastIndex = start
  let last = end.exec(text)!.index
  while (last > start && /[\s\\]/.test(text[last - 1]!)) last--
  return [start, last]
}
