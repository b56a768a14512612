// Text of TypeScript declarations. Whatever a document contains, it stays inside a literal, a property name or a comment.

const NAME = /^[A-Za-z_$][\w$]*$/
const STATUS = /^[1-5]\d\d$/
const INDENT = '  '

/** One property of an object type, or an index signature. */
export interface Member {
  /** Null: an index signature for all names. */
  readonly name: string | null
  readonly type: string
  readonly isOptional?: boolean
  readonly isReadonly?: boolean
  /** Lines of a comment. */
  readonly comment?: readonly string[]
}

/** A string, a number, a boolean or null as a literal type. */
export function literal(value: unknown): string {
  if (typeof value === 'string') return quoted(value)
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'number' // JSON reads 1e999 as Infinity
  return typeof value === 'boolean' || value === null ? String(value) : 'unknown'
}

function propertyName(name: string): string {
  return NAME.test(name) || STATUS.test(name) ? name : quoted(name)
}

/** A string literal of one line. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(/[\u2028\u2029]/g, (separator) => `\\u${separator.charCodeAt(0).toString(16)}`)
}

export function union(types: readonly string[]): string {
  const distinct = [...new Set(types)]
  if (distinct.includes('unknown')) return 'unknown'
  const possible = distinct.filter((type) => type !== 'never')
  if (possible.length === 0) return 'never'
  return possible.length === 1 ? possible[0]! : possible.join(' | ')
}

export function intersection(types: readonly string[]): string {
  const distinct = [...new Set(types)].filter((type) => type !== 'unknown')
  if (distinct.length === 0) return 'unknown'
  return distinct.length === 1 ? distinct[0]! : distinct.map(part).join(' & ')
}

export function arrayOf(type: string): string {
  return `${part(type)}[]`
}

/** A type in a place where `|` and `&` of its own would be misread. */
function part(type: string): string {
  return hasOperator(type) ? `(${type})` : type
}

/** Whether there is `|` or `&` outside of brackets, strings and comments. */
function hasOperator(type: string): boolean {
  const outside = type.replace(/"(?:[^"\\]|\\.)*(?:"|$)|\/\*[\s\S]*?(?:\*\/|$)/g, '')
  let depth = 0
  for (const character of outside) {
    if ('{[('.includes(character)) depth++
    else if ('}])'.includes(character)) depth--
    else if (depth === 0 && (character === '|' || character === '&')) return true
  }
  return false
}

/** @param level of the line on which the type begins */
export function objectType(members: readonly Member[], level: number): string {
  if (members.length === 0) return '{}'
  const pad = INDENT.repeat(level + 1)
  const lines = members.map(({ name, type, isOptional, isReadonly, comment = [] }) => {
    const key = name === null ? '[name: string]' : `${propertyName(name)}${isOptional === true ? '?' : ''}`
    return `${commentText(comment, pad)}${pad}${isReadonly === true ? 'readonly ' : ''}${key}: ${type};\n`
  })
  return `{\n${lines.join('')}${INDENT.repeat(level)}}`
}

/** @param lines from an untrusted document @returns empty for an empty comment, otherwise ending in a line break */
export function commentText(lines: readonly string[], pad: string): string {
  const texts = lines.flatMap((line) => line.split(/\r\n|[\r\n\u2028\u2029]/)).map(commentLine)
  while (texts.at(-1) === '') texts.pop()
  if (texts.length === 0) return ''
  if (texts.length === 1) return `${pad}/** ${texts[0]} */\n`
  return `${pad}/**\n${texts.map((text) => `${pad} *${text === '' ? '' : ` ${text}`}\n`).join('')}${pad} */\n`
}

function commentLine(text: string): string {
  return text
    .replace(/[\0-\x08\x0b-\x1f\x7f]/g, '')
    .replaceAll('*/', '*\\/')
    .trimEnd()
}
