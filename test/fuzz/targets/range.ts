// What a client requests of a file: ranges and conditions. The input is lines of `name: value`; `size`, `etag` and `modified` are those of
// the file.

import assert from 'node:assert/strict'

import { formatHttpDate, parseHttpDate } from '../../../packages/weirjs/src/formats/http-date.ts'
import { MAX_RANGES, selectRanges } from '../../../packages/weirjs/src/http/files/byte-ranges.ts'
import {
  type ConditionalRequest,
  evaluatePreconditions,
  rangeApplies,
  type Validators,
} from '../../../packages/weirjs/src/http/response/conditional.ts'
import type { Random } from '../random.ts'
import { assertSameWords, type Target } from '../target.ts'

const NOW = Date.UTC(2026, 0, 1)
/** Fields for which it matters whether they are present, and whether they contain weak tags. */
const CONDITIONS = ['etag', 'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since']
const DATE = 'Sun, 06 Nov 1994 08:49:37 GMT'

export const rangeTarget: Target = {
  name: 'range',
  promise: 'ranges are in the file, do not overlap and cover what was requested; conditions are evaluated as in RFC 9110 §13.2.2',
  dictionary: [
    ...[
      'range: ',
      'if-match: ',
      'if-none-match: ',
      'if-modified-since: ',
      'if-unmodified-since: ',
      'if-range: ',
      'size: ',
      'etag: ',
      'modified: ',
    ],
    ...[
      'bytes=',
      'bytes=0-',
      'bytes=-5',
      'bytes=0-0,-1',
      '-',
      ',',
      ', ',
      '0-4',
      '5-3',
      '99999999999999999999',
      '\n',
      '*',
      '"a"',
      'W/"a"',
      '"',
      'W/',
      ' ',
    ],
    ...[
      DATE,
      'Sunday, 06-Nov-94 08:49:37 GMT',
      'Sun Nov  6 08:49:37 1994',
      '784111777000',
      '23:59:60',
      '29 Feb 2000',
      'GMT',
      'items=0-1',
      'etag: W/"a"\n',
      'if-match: W/"a"\n',
      'if-none-match: "a"\n',
      '\t',
      'BYTES=',
    ],
  ],
  maxBytes: 400,
  seeds: () =>
    [
      'size: 100\nrange: bytes=0-9,20-29,-5\netag: "a"\nif-range: "a"',
      `size: 10\netag: W/"a"\nif-none-match: "b", W/"a"\nmodified: ${DATE}\nif-modified-since: ${DATE}`,
      `size: 10\netag: "a"\nif-match: "b", "a"\nif-unmodified-since: ${DATE}\nmodified: ${DATE}`,
      `size: 10\nrange: bytes=-20\nif-range: ${DATE}\nmodified: ${DATE}\nif-none-match: *`,
    ].map((text) => Buffer.from(text, 'latin1')),
  async quickCheck(bytes, choices) {
    const fields = fieldsOf(bytes)
    const request = requestOf(fields)
    const range = request.get('range') ?? ''
    const size = sizeOf(fields)
    const ranges = await selectRanges(range, size)
    const again = await selectRanges(range.replaceAll(',', ' ,\t'), size)
    assertSameWords(wordsOf(again), wordsOf(ranges), 'with blanks around the commas')
    const current = validatorsOf(fields, choices)
    const verdict = evaluatePreconditions(request, current, NOW)
    const kind = Array.isArray(ranges) ? `${Math.min(ranges.length, 4)} of ${Math.min(range.split(',').length, 4)}` : ranges
    const applies = rangeApplies(request, current, NOW)
    if (range !== '') return `${kind} ${applies}`
    const conditions = CONDITIONS.map((name) => (fields.has(name) ? (fields.get(name)!.startsWith('W/') ? 'W' : '+') : '-')).join('')
    return `${verdict} ${conditions}`
  },
  fullCheckOneIn: 8,
  async fullCheck(bytes, choices) {
    const fields = fieldsOf(bytes)
    const request = requestOf(fields)
    const current = validatorsOf(fields, choices)
    const { etag } = current
    for (const [, value] of fields) checkDate(value)
    await checkRanges(request.get('range') ?? '', sizeOf(fields))
    const verdict = evaluatePreconditions(request, current, NOW)
    if (isList(request.get('if-match')) && isList(request.get('if-none-match'))) {
      const odd = `${/"[^"]*,[^"]*"/.test(current.etag ?? '') ? ' with a comma in the tag' : ''}${/\t/.test(request.get('if-none-match') ?? '') ? ' with a tab in the list' : ''}`
      assert.equal(verdict, verdictOf(fields, current), `conditions are evaluated in another way${odd}`)
    }
    const applies = rangeApplies(request, current, NOW)
    const condition = request.get('if-range')
    if (condition !== null && applies) assert.ok(condition === etag || parseHttpDate(condition, NOW) === current.lastModified)
  },
}

/** A field without a value does not count. */
function fieldsOf(bytes: Buffer): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (const line of bytes.toString('latin1').split('\n')) {
    const [, name, value] = /^([a-z-]+): *([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/.exec(line) ?? []
    if (name !== undefined && value !== '') fields.set(name, value!)
  }
  return fields
}

function requestOf(fields: ReadonlyMap<string, string>): ConditionalRequest {
  return { method: 'GET', get: (name) => fields.get(name) ?? null }
}

function validatorsOf(fields: ReadonlyMap<string, string>, choices: Random): Validators {
  const etag = fields.get('etag') ?? ''
  return {
    etag: /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/.test(etag) ? etag : null,
    lastModified: parseHttpDate(fields.get('modified') ?? '', NOW),
    isSettled: choices.oneIn(2),
  }
}

function sizeOf(fields: ReadonlyMap<string, string>): number {
  const size = Number(fields.get('size') ?? 0)
  return Number.isSafeInteger(size) && size >= 0 ? size : 100
}

/** Where each begins and ends. */
function wordsOf(ranges: Awaited<ReturnType<typeof selectRanges>>): readonly (string | number | null)[] {
  return Array.isArray(ranges) ? ranges.flatMap(({ start, end }) => [start, end]) : [ranges as string | null]
}

/** The written form means the time that was read. */
function checkDate(text: string): void {
  const time = parseHttpDate(text, NOW)
  if (time === null) return
  assert.ok(Number.isInteger(time / 1000))
  const year = new Date(time).getUTCFullYear()
  if (year <= 9999) assert.equal(parseHttpDate(formatHttpDate(time), NOW), time)
}

async function checkRanges(text: string, size: number): Promise<void> {
  const ranges = await selectRanges(text, size)
  const asked = askedOf(text, BigInt(size))
  if (ranges === null || ranges === 'unsatisfiable') {
    assert.equal(asked, size === 0 ? asked : ranges)
    return
  }
  assert.ok(Array.isArray(asked), 'sent, but it cannot be satisfied')
  assert.ok(ranges.length > 0 && ranges.length <= MAX_RANGES)
  const sorted = [...ranges].sort((a, b) => a.start - b.start)
  for (const [i, { start, end }] of sorted.entries()) {
    assert.ok(Number.isInteger(start) && start >= 0 && start <= end && end < size, `from ${start} to ${end} of ${size}`)
    if (i > 0) assert.ok(sorted[i - 1]!.end + 1 < start, 'ranges overlap or touch')
    assert.ok(
      asked.some((one) => one[0] === BigInt(start)) && asked.some((one) => one[1] === BigInt(end)),
      'ends where nothing was requested',
    )
  }
  for (const [start, end] of asked)
    assert.ok(
      sorted.some((one) => BigInt(one.start) <= start && end <= BigInt(one.end)),
      'requested, but not sent',
    )
}

type Asked = readonly (readonly [start: bigint, end: bigint])[]

/** RFC 9110 §14.1.1, §14.1.2, with numbers of any size. */
function askedOf(text: string, size: bigint): Asked | 'unsatisfiable' | null {
  const [, list] = /^bytes=(.*)$/is.exec(text) ?? []
  if (list === undefined) return null
  const specs = list.split(',').map((spec) => /^[ \t]*(\d*)-(\d*)[ \t]*$/.exec(spec))
  if (specs.length > MAX_RANGES) return null
  const asked: [bigint, bigint][] = []
  for (const spec of specs) {
    if (spec === null || (spec[1] === '' && spec[2] === '')) return null
    const last = size - 1n
    if (spec[1] === '') {
      const suffix = BigInt(spec[2]!)
      if (suffix > 0n) asked.push([suffix > size ? 0n : size - suffix, last])
    } else {
      const start = BigInt(spec[1]!)
      const end = spec[2] === '' ? last : BigInt(spec[2]!)
      if (spec[2] !== '' && end < start) return null
      if (start <= last) asked.push([start, end < last ? end : last])
    }
  }
  return asked.length === 0 || size === 0n ? 'unsatisfiable' : asked
}

/** RFC 9110 §13.2.2. */
function verdictOf(fields: ReadonlyMap<string, string>, { etag, lastModified }: Validators): string {
  const dateOf = (name: string): number | null => parseHttpDate(fields.get(name) ?? '', NOW)
  const match = fields.get('if-match')
  const unmodified = dateOf('if-unmodified-since')
  if (match !== undefined) {
    if (match !== '*' && !(etag?.startsWith('"') && tagsOf(match).includes(etag))) return 'failed'
  } else if (unmodified !== null && lastModified !== null && lastModified > unmodified) return 'failed'
  const noneMatch = fields.get('if-none-match')
  const modified = dateOf('if-modified-since')
  if (noneMatch !== undefined) {
    const opaque = (tag: string): string => tag.replace(/^W\//, '')
    if (noneMatch === '*') return 'not modified'
    return etag !== null && tagsOf(noneMatch).some((tag) => opaque(tag) === opaque(etag)) ? 'not modified' : 'send'
  }
  return modified !== null && lastModified !== null && lastModified <= modified ? 'not modified' : 'send'
}

/** Anything but a list of tags has no meaning, and may be read in any way. */
function isList(text: string | null): boolean {
  return text === null || text === '*' || /^(?:[ \t]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[ \t]*(?:,|$))+$/.test(text)
}

function tagsOf(list: string): string[] {
  return [...list.matchAll(/(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g)].map(([tag]) => tag)
}
