// Finds the secrets in a head that was refused. The meaning of its bytes is not known, so everything is secret except what is known to be harmless.

import { addAll, type Range, shifted, urlSecrets } from './ranges.ts'
import type { SecretSegments } from './secret-segments.ts'
import type { SecretNames } from './secret-words.ts'

const METHOD = '(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|TRACE|CONNECT|QUERY)'
/** A first line that is valid as far as it was received. */
const REQUEST_LINE = new RegExp(
  `^(${METHOD} )((?:/|https?://)[!-[\\]-~]*)(?: (?:H|HT|HTT|HTTP|HTTP/|HTTP/\\d|HTTP/\\d\\.|HTTP/\\d\\.\\d)?)?$`,
)
const START = new RegExp(`^${METHOD}(?=[ \\t]|$)`)
const VERSION = / HTTP\/\d\.\d$/
const FIELD = /^([!#-'*+.^-z|~\w-]+)([ \t]*:[ \t]*)/

/** Fields whose names say nothing about a client, with the words that their values may have. A host is harmless, and so is a length. */
const KNOWN = new Map<string, RegExp | null>([
  ['host', /^[\w.:[\]-]{0,255}$/],
  ['content-length', /^[\d, ]*$/],
  ['transfer-encoding', /^(?:chunked|gzip|deflate|identity|compress|br)$/i],
  ['content-encoding', /^(?:gzip|deflate|identity|br|zstd|compress)$/i],
  ['connection', /^(?:close|keep-alive|upgrade|te|http2-settings)$/i],
  ['upgrade', /^(?:websocket|h2c)$/i],
  ['expect', /^100-continue$/i],
  ['te', /^trailers$/i],
  ['content-type', /^(?:text|plain|application|json|octet-stream|x-www-form-urlencoded|charset|utf-8)$/i],
  ...['accept', 'authorization', 'proxy-authorization', 'cookie', 'user-agent', 'referer', 'origin', 'date', 'range'].map(
    (name): [string, null] => [name, null],
  ),
])
/** Fields whose whole value is checked. */
const WHOLE: ReadonlySet<string> = new Set(['host', 'content-length'])
const WORD = /[\w-]+/g

/** Whether the target of the first line can be read, and so has secrets of its own only. */
export function isRequestLine(line: string): boolean {
  return REQUEST_LINE.test(line)
}

/** @param isEscaped whether the text is an excerpt, in which all but printable characters are escaped */
export function refusedHeadSecrets(text: string, names: SecretNames, segments: SecretSegments, isEscaped = false): Range[] {
  const found: Range[] = []
  let isFirst = true
  let at = 0
  const read = (end: number): void => {
    const line = text.slice(at, blanksBefore(text, at, end))
    if (line !== '') {
      const ranges = isFirst ? requestLine(line, names, segments) : fieldLine(line)
      addAll(found, shifted(isEscaped ? ranges.filter((range) => !isEscape(line, range)) : ranges, at))
      isFirst = false
    }
  }
  for (const match of text.matchAll(isEscaped ? /\\[rn]/g : /[\r\n]/g)) {
    read(match.index)
    at = match.index + match[0].length
  }
  read(text.length)
  return found
}

function blanksBefore(text: string, from: number, end: number): number {
  let at = end
  while (at > from && (text[at - 1] === ' ' || text[at - 1] === '\t')) at--
  return at
}

function requestLine(line: string, names: SecretNames, segments: SecretSegments): Range[] {
  const [whole, before = '', target = ''] = REQUEST_LINE.exec(line) ?? []
  if (whole !== undefined) return shifted([...urlSecrets(target, names), ...segments.in(target)], before.length)
  return lettersIn(line, START.exec(line)?.[0].length ?? 0, VERSION.exec(line)?.index ?? line.length)
}

/** A line that is not a field may be the rest of one, or lack its colon. */
function fieldLine(line: string): Range[] {
  const [before = '', name = ''] = FIELD.exec(line) ?? []
  const known = KNOWN.get(name.toLowerCase())
  if (before === '' || known === undefined) {
    const word = /^[\w-]+(?=[ \t])/.exec(line)?.[0] ?? ''
    return lettersIn(line, KNOWN.has(word.toLowerCase()) ? word.length : 0, line.length)
  }
  const value = line.slice(before.length)
  if (known === null || WHOLE.has(name.toLowerCase())) return known?.test(value) === true ? [] : lettersIn(line, before.length, line.length)
  return [...value.matchAll(WORD)].flatMap(({ index, 0: word }) =>
    known.test(word) ? [] : lettersIn(line, before.length + index, before.length + index + word.length),
  )
}

/** All letters and digits. What is between them stays: a masked head is refused for the same reason. */
function lettersIn(line: string, from: number, to: number): Range[] {
  return [...line.slice(from, to).matchAll(/[A-Za-z0-9]+/g)].map(({ index, 0: word }): Range => [from + index, from + index + word.length])
}

/** Whether it stands for a byte: `\\x1b`. */
function isEscape(line: string, [start, end]: Range): boolean {
  return line[start - 1] === '\\' && /^x[0-9a-f]{2}$/.test(line.slice(start, end))
}
