// X-Forwarded-For and Forwarded: a second reader from left to right, and anything that a client may put in front.

import assert from 'node:assert/strict'
import { isIP } from 'node:net'

import {
  type ForwardedElement,
  type ForwardedNode,
  type Judge,
  MAX_HOPS,
  readForwarded,
  readXForwardedFor,
} from '../../../packages/weirjs/src/formats/forwarded.ts'
import { FORWARDED, X_FORWARDED_FOR } from '../../../packages/weirjs/test/support/forwarded-values.ts'
import { assertSameWords, type Target } from '../target.ts'

const NAME = "[!#$%&'*+.^_`|~\\w-]+"
const PAIR = `${NAME}=(?:${NAME}|"(?:[\\t !#-\\[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*")`
const ELEMENT = `[ \\t]*(?:${PAIR}[ \\t]*)?(?:;[ \\t]*(?:${PAIR}[ \\t]*)?)*`
const WELL_FORMED = new RegExp(`^(?:${ELEMENT})(?:,(?:${ELEMENT}))*$`)
const PORT = '(?:\\d{1,4}|[1-5]\\d{4}|0\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5]|_[\\w.-]+)'
const NODE = new RegExp(`^(?:\\[([^\\]]*:[^\\]]*)\\](?::(${PORT}))?|([^:[]*):(${PORT})|([^:[]*|(?!\\[)[^:]*:[^:]*:.*))$`, 's')

const judge: Judge = (address) => {
  if (isIP(address) === 0 || address.includes('%')) return 'none'
  return address.startsWith('10.') || address.startsWith('fd') ? 'trusted' : 'other'
}

export const forwardedTarget: Target = {
  name: 'forwarded',
  promise: 'the client is what a second reader finds, its address is valid, and nothing in front of it changes it',
  dictionary: [
    ...['for=', 'For=', 'proto=https', 'host=a', 'by=_x', 'for=10.0.0.1', 'for=203.0.113.7', 'for="[fd00::1]:80"', 'for=unknown', 'for=_x'],
    ...[
      ',',
      ', ',
      ';',
      '; ',
      '=',
      '"',
      '\\',
      '\\"',
      ' ',
      '\t',
      ':',
      '[',
      ']',
      '10.0.0.1',
      '203.0.113.7',
      '2001:db8::1',
      '[fd00::1]',
      'fd00::1',
    ],
    ...[
      '::ffff:10.0.0.1',
      '010.0.0.1',
      '10.1',
      ':80',
      ':65536',
      '_x',
      'unknown',
      '%eth0',
      '\xa0',
      '\xff',
      'for=10.0.0.1, '.repeat(MAX_HOPS),
    ],
  ],
  maxBytes: 700,
  seeds: () =>
    [...X_FORWARDED_FOR, ...FORWARDED].filter(({ value }) => value.length < 700).map(({ value }) => Buffer.from(value, 'latin1')),
  quickCheck(bytes, choices) {
    const value = bytes.toString('latin1')
    const list = readXForwardedFor(value, judge)
    const element = readForwarded(value, judge)
    const before = value.slice(0, choices.below(value.length + 1))
    checkInFront(before, value, list, readXForwardedFor)
    // An element that a trusted proxy has not closed is closed by whatever is in front.
    if (element?.address !== 'unknown') checkInFront(before, value, element, readForwarded)
    return `${kindOf(list)} ${kindOf(element)} ${element?.proto != null} ${element?.host != null}`
  },
  fullCheckOneIn: 4,
  fullCheck(bytes) {
    const value = bytes.toString('latin1')
    const list = readXForwardedFor(value, judge)
    assert.deepEqual(list, firstFrom(value.split(',').map((entry) => ({ ...nodeOf(trim(entry)), isEmpty: trim(entry) === '' }))))
    const element = readForwarded(value, judge)
    for (const node of [list, element]) {
      if (node !== null && isIP(node.address) === 0) assert.match(node.address, /^(?:unknown|_[\w.-]+)$/)
    }
    if (!WELL_FORMED.test(value)) return
    checkInFront('for="', value, element, readForwarded)
    assert.deepEqual(element, firstFrom(splitOutsideQuotes(value).map(elementOf)), 'from left to right, it is another one')
  },
}

/** An entry that is not trusted hides everything before it. */
function checkInFront<T extends ForwardedNode>(
  before: string,
  value: string,
  found: T | null,
  read: (value: string, judge: Judge) => T | null,
): void {
  if (found === null || judge(found.address) === 'trusted') return
  assertSameWords(Object.values(read(`${before},${value}`, judge) ?? {}), Object.values(found), 'with something in front')
}

function kindOf(node: ForwardedNode | null): string {
  if (node === null) return 'none'
  return `${judge(node.address)}${node.address.startsWith('_') ? '_' : ''}${node.address.includes(':') ? 6 : ''}${node.port > 0 ? ':' : ''}`
}

function trim(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, '')
}

function nodeOf(text: string): ForwardedNode {
  const [, bracketed, bracketedPort, host, hostPort, plain] = NODE.exec(text) ?? []
  const address = bracketed ?? host ?? plain ?? ''
  const port = Number(bracketedPort ?? hostPort ?? 0)
  return { address, port: Number.isNaN(port) ? 0 : port }
}

interface Entry extends ForwardedNode {
  readonly isEmpty: boolean
}

/** The last that is not trusted, or the first. */
function firstFrom<T extends Entry>(entries: readonly T[]): object | null {
  const full = entries.filter(({ isEmpty }) => !isEmpty)
  const at = full.findLastIndex(({ address }) => judge(address) !== 'trusted')
  if (full.length === 0) return null
  const last = full.length - 1
  const rest = Object.keys(full[0]!).length > 3 ? { proto: null, host: null } : {}
  if (last - Math.max(at, 0) + 1 > MAX_HOPS) return { address: 'unknown', port: 0, ...rest }
  const { isEmpty: _, ...found } = full[Math.max(at, 0)]!
  if (at === -1 || judge(found.address) === 'other') return found
  return { ...found, address: /^_[\w.-]+$/.test(found.address) ? found.address : 'unknown', port: 0 }
}

function splitOutsideQuotes(value: string): string[] {
  return value.match(/(?:[^",]|"(?:[^"\\]|\\.)*")+/gs) ?? []
}

/** An element that repeats a parameter is invalid. */
function elementOf(text: string): ForwardedElement & Entry {
  const pairs = [...text.matchAll(new RegExp(PAIR, 'g'))].map(([pair]): [string, string] => {
    const equals = pair.indexOf('=')
    const value = pair.slice(equals + 1)
    return [pair.slice(0, equals).toLowerCase(), value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/gs, '$1') : value]
  })
  const known = new Map(pairs)
  const isEmpty = trim(text) === ''
  if (known.size < pairs.length) return { address: '', port: 0, proto: null, host: null, isEmpty }
  return { ...nodeOf(known.get('for') ?? ''), proto: known.get('proto')?.toLowerCase() ?? null, host: known.get('host') ?? null, isEmpty }
}
