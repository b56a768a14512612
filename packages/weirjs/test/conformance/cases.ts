// The conformance table: what HTTP requires of a server that reads requests, as bytes and the required outcome.
//
// Files of test/conformance/*.http are written like those of packages/weirjs/test/wire (see support/wire-cases.ts). Here a heading has a permanent id, what
// must hold, the source of the rule, and how it binds: MUST, SHOULD, or MAY where a server is free and weir has chosen.
//
//   === LEN-07 two lengths -- RFC 9112 §6.3 MUST
//   >>>
//   POST / HTTP/1.1
//   ...
//   <<<
//   as framing: refuses two lengths        instead of bytes: those of a fixture of packages/weirjs/test/wire, with its limits and half-close
//   200 POST /a "hello"                    a response, and the request that the handler saw
//   ~ x-id: 1, 2                           a field of that request; `~ x-id` without a colon: the handler saw none. `:path` is the path
//   + Allow: GET                           a field of that response; `+ Allow`: with any value
//   - Content-Length                       a field that it must not have. `:body` is its body
//   400 WEIR_HOST_MISSING                  a refusal: one response, then the connection closes
//   open | closed                          whether a request after all this is answered. Required, except after a refusal that closes
//
// What is not listed must never happen: no further response, and no handled request that has no line, whether smuggled or after a refusal.

import { ERRORS, type ErrorCode } from '../../src/base/error-codes.ts'
import type { Limits } from '../../src/base/limits.ts'
import { loadWireCases, type WireCase, wireTopics } from '../support/wire-cases.ts'

export const FOLDER = 'packages/weirjs/test/conformance'
const WIRE_FOLDER = 'packages/weirjs/test/wire'

export type Level = 'MUST' | 'SHOULD' | 'MAY'

/** One expected response, and the request that must have been handled for it. */
export interface Expected {
  readonly status: number
  /** The code of a refusal. */
  readonly code: ErrorCode | null
  /** Method, url and body that the handler must have seen; null if no handler may have seen anything. */
  readonly handled: string | null
  /** Fields of the request. null: the field must be absent. */
  readonly sees: readonly (readonly [name: string, value: string | null])[]
  /** Fields of the response. null: the field may have any value. */
  readonly has: readonly (readonly [name: string, value: string | null])[]
  readonly lacks: readonly string[]
}

export interface ConformanceCase {
  readonly id: string
  readonly title: string
  readonly section: string
  readonly level: Level
  readonly bytes: Buffer
  readonly limits: Limits
  readonly halfClose: boolean
  /** What must be done before the case can pass, or null. */
  readonly todo: string | null
  readonly expected: readonly Expected[]
  /** Whether a request after it is answered. */
  readonly isOpen: boolean
  /** The code of its refusal, or null. */
  readonly refusal: ErrorCode | null
}

/** All cases, in the order of files and lines. */
export function loadConformanceCases(): ConformanceCase[] {
  const fixtures = loadFixtures()
  const cases = wireTopics(FOLDER).flatMap((topic) => loadWireCases(`${FOLDER}/${topic}.http`).map((one) => readCase(one, fixtures)))
  const ids = cases.map(({ id }) => id)
  const repeated = ids.filter((id, i) => ids.indexOf(id) !== i)
  if (repeated.length > 0) throw new Error(`ids are used twice: ${repeated.join(', ')}`)
  return cases
}

/** Fixtures of packages/weirjs/test/wire by `topic: name`; null if two have the same name. */
function loadFixtures(): Map<string, WireCase | null> {
  const fixtures = new Map<string, WireCase | null>()
  for (const topic of wireTopics(WIRE_FOLDER)) {
    for (const fixture of loadWireCases(`${WIRE_FOLDER}/${topic}.http`)) {
      const key = `${topic}: ${fixture.name}`
      fixtures.set(key, fixtures.has(key) ? null : fixture)
    }
  }
  return fixtures
}

function readCase(written: WireCase, fixtures: ReadonlyMap<string, WireCase | null>): ConformanceCase {
  const { where } = written
  const [, id, title] = /^([A-Z]+-\d\d) (.+)$/.exec(written.name) ?? fail(where, 'a heading begins with an id such as LEN-07')
  const [, section, level] = /^(.+) (MUST|SHOULD|MAY)$/.exec(written.see) ?? fail(where, 'a heading ends with MUST, SHOULD or MAY')
  const lines = written.log.split('\n')
  let source = written
  if (lines[0]!.startsWith('as ')) {
    const name = lines.shift()!.slice('as '.length)
    if (written.bytes.length > 0) fail(where, 'a case has bytes or a fixture, not both')
    source = fixtures.get(name) ?? fail(where, `no such fixture, or more than one: ${name}`)
  }
  const { expected, end } = readOutcome(lines, where)
  const refusal = expected.at(-1)?.code ?? null
  if (refusal === null && end === null) fail(where, 'the last line must be "open" or "closed"')
  if (refusal !== null && ERRORS[refusal].closes && end !== null) fail(where, 'this refusal always closes: leave out the last line')
  const { bytes, limits, halfClose } = source
  if (end === 'open' && halfClose) fail(where, 'after a half-close, nothing shows whether the connection is open')
  return {
    id: id!,
    title: title!,
    section: section!,
    level: level as Level,
    bytes,
    limits,
    halfClose,
    todo: written.todo,
    expected,
    isOpen: end === 'open',
    refusal,
  }
}

function readOutcome(lines: readonly string[], where: string): { expected: Expected[]; end: 'open' | 'closed' | null } {
  const expected: { -readonly [K in keyof Expected]: Expected[K] }[] = []
  let end: 'open' | 'closed' | null = null
  for (const line of lines) {
    if (end !== null) fail(where, `"${end}" must be the last line`)
    const response = /^([1-5]\d\d)(?: (?:(WEIR_\w+)|(\S+ \S+(?: ".*")?)))?$/.exec(line)
    const field = /^([~+-]) ([^\s:]+|:path|:body)(?:: (.*))?$/.exec(line)
    if (line === 'open' || line === 'closed') end = line
    else if (response !== null) {
      const [, status, code, handled] = response
      if (code !== undefined && !Object.hasOwn(ERRORS, code)) fail(where, `no such code: ${code}`)
      expected.push({ status: Number(status), code: (code as ErrorCode) ?? null, handled: handled ?? null, sees: [], has: [], lacks: [] })
    } else if (field !== null && expected.length > 0) {
      const [, sign, name, value] = field
      const last = expected.at(-1)!
      if (sign === '~') last.sees = [...last.sees, [name!, value ?? null]]
      else if (sign === '+') last.has = [...last.has, [name!, value ?? null]]
      else last.lacks = [...last.lacks, name!]
    } else fail(where, `not a line of an outcome: ${line}`)
  }
  return { expected, end }
}

function fail(where: string, why: string): never {
  throw new Error(`${where}: ${why}`)
}
