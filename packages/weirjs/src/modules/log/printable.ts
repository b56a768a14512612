// Makes text of clients safe for a line: printable ASCII stays, and everything else is escaped. No line can end inside it, no terminal obeys it,
// and nothing in it is invisible.

const NOT_PRINTABLE = /[^\x20-\x5b\x5d-\x7e]/
const NOT_QUOTABLE = /[^\x20\x21\x23-\x5b\x5d-\x7e]/

/** Escapes what is not printable ASCII, and backslashes: `\n`, `\x1b`, `\u2028`, `\\`. */
export function printable(text: string): string {
  return NOT_PRINTABLE.test(text) ? escapeIn(text, /[^\x20-\x5b\x5d-\x7e]/g) : text
}

/** The same, and double quotes, for text between them. */
export function quotable(text: string): string {
  return NOT_QUOTABLE.test(text) ? escapeIn(text, /[^\x20\x21\x23-\x5b\x5d-\x7e]/g) : text
}

/** The same, and blanks, for a word between blanks. */
export function wordOf(text: string): string {
  return quotable(text).replaceAll(' ', '\\x20')
}

/** A member of a JSON object, of ASCII characters only. @param name in JSON, with what is around it: `,"url":` */
export function jsonMember(name: string, text: string): string {
  return NOT_QUOTABLE.test(text) ? name + jsonAscii(text) : `${name}"${text}"`
}

/** JSON of ASCII characters only. JSON itself allows U+2028 and C1 controls in strings, but some readers end a line there. */
export function jsonAscii(value: unknown): string {
  return JSON.stringify(value).replace(/[\x7f-\uffff]/g, (char) => `\\u${hex(char, 4)}`)
}

/** One line out of what a program has formatted: it may have tabs and any visible character. */
export function oneLine(text: string): string {
  return escapeIn(text, /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Cs}/gu)
}

function escapeIn(text: string, what: RegExp): string {
  return text.replace(what, escaped)
}

function escaped(char: string): string {
  if (char === '\\' || char === '"') return `\\${char}`
  if (char === '\n') return '\\n'
  if (char === '\r') return '\\r'
  if (char === '\t') return '\\t'
  return char.charCodeAt(0) < 0x100 ? `\\x${hex(char, 2)}` : `\\u${hex(char, 4)}`
}

function hex(char: string, digits: number): string {
  return char.charCodeAt(0).toString(16).padStart(digits, '0')
}
