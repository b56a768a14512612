// Reads Cache-Control (RFC 9111 §5.2). A doubtful value never makes a response live longer.

/** The directives of a field. */
export interface Directives {
  /** Whether there is a directive of that name. @param name in lower case */
  has(name: string): boolean
  /**
   * The seconds that a directive states: null without it, 0 for a value that is not a number. If it occurs several times, the lowest counts.
   */
  seconds(name: string): number | null
  /** Whether the directive is present and never has a value. @param name in lower case */
  isWithoutValue(name: string): boolean
  /** Whether a part of the field is not a directive, so that anything may have been meant. */
  readonly isMalformed: boolean
}

/** RFC 9111 §1.2.2: a larger number counts as this one. */
const MOST_SECONDS = 2 ** 31
/** A directive, its value, and what precedes the next one: at least a comma. */
const DIRECTIVE = /[ \t,]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?:=(?:([!#$%&'*+\-.^_`|~0-9A-Za-z]+)|"((?:[^"\\]|\\.)*)"))?[ \t]*(?=,|$)/y
const REST = /^[ \t,]*$/

const NONE: Directives = { has: () => false, seconds: () => null, isWithoutValue: () => false, isMalformed: false }

/** @param field the value, or all values joined with commas; null without the field */
export function readCacheControl(field: string | null): Directives {
  if (field === null) return NONE
  const found = new Map<string, string[]>()
  let at = 0
  for (;;) {
    DIRECTIVE.lastIndex = at
    const match = DIRECTIVE.exec(field)
    if (match === null) break
    at = DIRECTIVE.lastIndex
    const name = match[1]!.toLowerCase()
    const value = match[2] ?? match[3] ?? ''
    const values = found.get(name)
    if (values === undefined) found.set(name, [value])
    else values.push(value)
  }
  return {
    has: (name) => found.has(name),
    seconds: (name) => {
      const values = found.get(name)
      return values === undefined ? null : Math.min(...values.map(deltaSeconds))
    },
    isWithoutValue: (name) => found.get(name)?.every((value) => value === '') === true,
    isMalformed: !REST.test(field.slice(at)),
  }
}

/** A part of a field of a response without the SP and HTAB around it. `trim()` would remove more. */
export function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

/** RFC 9111 §1.2.2. */
export function deltaSeconds(text: string): number {
  return /^\d+$/.test(text) ? Math.min(Number(text), MOST_SECONDS) : 0
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
