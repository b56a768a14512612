// Finds the secrets in a text whose form is not stated: `name=value`, `name: value` and `<name>value</name>`, also inside the
// strings of JSON. Each character is looked at a limited number of times.

import { pairName, type Range } from './pairs.ts'
import type { SecretNames } from './secret-words.ts'

/** What a name is made of, as forms write it. */
const NAME = /[\w.%+[\]$~-]/
const MOST_NAME_CHARS = 128
/** An equals sign may be encoded. */
const SEPARATOR = /[=:>]|%(?:25)*3d|\\u003d/gi
/** Attributes and elements that contain a name: `name="password" value="a"`, `<key>password</key><string>a</string>`. */
const NAMING = /^(?:name|key|field|header|param|parameter|property|path)$/i
const VALUE = /^(?:value|val|content|text)$/i
/** How far the value may be from the name. */
const MOST_APART = 256
/** What may stand between a name and its separator, or between that and the value. */
const AROUND = /[\s"'\\\u00c2]/
const MOST_AROUND = 16
const MOST_BLANKS = 1_024
const BLANKS = /^\s*/
const EMPTY = /^/
const TRIPLE = /^(?:'''|"""|\\"\\"\\")/
/** A quote, which is escaped in a text within another one. */
const OPENING = /^\\*(["'])/
const VALUE_END = /[\s&;,"'<>{}[\]()|]|$/g
/** After a colon, a value may have blanks: `Authorization: Bearer a`. */
const LINE_END = /[\r\n&;,"'<>{}[\]|]|$/g
/** Begins a text of several lines in YAML, each of which is indented. */
const BLOCK = /^[>|][-+\d]{0,2}[ \t]*\r?\n(?=[ \t\r\n])/
const BLOCK_END = /\n(?![ \t\r\n])|$/g
const QUOTED_END = { '"': /["\r\n]|$/g, "'": /['\r\n]|$/g } as const

export function looseSecrets(text: string, names: SecretNames): Range[] {
  const found: Range[] = []
  /** Where the last name is whose secret value is elsewhere. */
  let namedAt = Number.NEGATIVE_INFINITY
  /** Where the last text is that may be a value. */
  let value: { readonly at: number; readonly sign: string } | null = null
  let coveredTo = 0
  /** Where the last separator ends. */
  let floor = 0
  SEPARATOR.lastIndex = 0
  for (let match = SEPARATOR.exec(text); match !== null; match = SEPARATOR.exec(text)) {
    const at = match.index
    const sign = match[0] === '>' || match[0] === ':' ? match[0] : '='
    const name = sign === '>' ? elementBefore(text, at) : nameBefore(text, at, floor)
    const after = at + match[0].length
    floor = after
    const isValue = VALUE.test(name)
    const isNamed = at - namedAt <= MOST_APART && (isValue || (sign === '>' && text[at - 1] !== '/'))
    if (!isNamed && (name === '' || !(sign === '=' ? names.hasInQuery(name) : names.has(name)))) {
      if (isValue) value = { at: after, sign }
      else if (NAMING.test(name) && names.has(named(text, after, sign))) {
        namedAt = at
        if (value !== null && at - value.at <= MOST_APART && value.at >= coveredTo) {
          found.push(valueAfter(text, value.at, value.sign))
          coveredTo = found.at(-1)![1]
        }
        value = null
      }
      continue
    }
    const range = sign === '>' ? contentAfter(text, after, name) : valueAfter(text, after, sign)
    if (range[1] <= range[0]) continue
    if (isNamed) namedAt = Number.NEGATIVE_INFINITY
    found.push(range)
    SEPARATOR.lastIndex = range[1]
  }
  return found
}

/** What is named: the beginning of a value. */
function named(text: string, from: number, sign: string): string {
  const beginning = text.slice(from, from + MOST_NAME_CHARS)
  return beginning.slice(...valueAfter(beginning, 0, sign))
}

const CDATA = '<![CDATA['
const MOST_CONTENT_CHARS = 512

/** The content of an element, with the elements in it if it is short. */
function contentAfter(text: string, from: number, name: string): Range {
  if (text.startsWith(CDATA, from)) {
    const end = text.indexOf(']]>', from)
    return [from + CDATA.length, end === -1 ? text.length : end]
  }
  const close =
    text[from] === '<' && text[from + 1] !== '/' && name !== '' ? text.slice(from, from + MOST_CONTENT_CHARS).indexOf(`/${name}`) : -1
  return close === -1 ? valueAfter(text, from, '>') : [from, from + close]
}

/** @param floor where it begins at the earliest */
function nameBefore(text: string, at: number, floor: number): string {
  let end = at
  while (end > floor && at - end < MOST_AROUND && AROUND.test(text[end - 1]!)) end--
  let start = end
  while (start > floor && end - start < MOST_NAME_CHARS && NAME.test(text[start - 1]!)) start--
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
  const [triple = ''] = separator === '>' ? [] : (TRIPLE.exec(text.slice(start, start + 6)) ?? [])
  if (triple !== '') {
    start += triple.length
    const close = text.indexOf(triple, start)
    return [start, close === -1 ? text.length : close]
  }
  const [opening = '', quote] = separator === '>' ? [] : (OPENING.exec(text.slice(start, start + MOST_AROUND)) ?? [])
  start += opening.length
  const end = separator === '>' ? /<|$/g : quote !== undefined ? QUOTED_END[quote as '"' | "'"] : separator === '=' ? VALUE_END : LINE_END
  end.lastIndex = start
  let last = end.exec(text)!.index
  while (last > start && /[\s\\]/.test(text[last - 1]!)) last--
  return [start, last]
}
