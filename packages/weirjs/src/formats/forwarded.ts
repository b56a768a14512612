// The client of a forwarded request: `X-Forwarded-For`, and `Forwarded` (RFC 7239).
//
// Every proxy adds an entry at the right end. So both fields are read from the right, one entry at a time, past the addresses of trusted
// proxies. The first other address is the client's. What is to the left of it was sent by that client. It can be anything, such as a quotation
// mark that is never closed, and is not looked at.

import { COMMA, DQUOTE, isDigit, trimBlanks } from '../base/ascii.ts'

import { parseParameters } from './parameters.ts'

/** The address of a client that no proxy has named. */
export const UNKNOWN_ADDRESS = 'unknown'

/** If more trusted proxies than this are in a row, the client is unknown. */
export const MAX_HOPS = 32

/** Classifies a text: the address of a trusted proxy, another IP address, or not an IP address. */
export type Judge = (address: string) => 'trusted' | 'other' | 'none'

/** One end of a connection, as a proxy names it (RFC 7239 §6). */
export interface ForwardedNode {
  /** An IP address without brackets, `unknown`, or a name that a proxy uses in place of an address and that begins with `_`. */
  readonly address: string
  /** 0 if there is none, or a name instead. */
  readonly port: number
}

/** What an element of Forwarded states about the request that a proxy received. */
export interface ForwardedElement extends ForwardedNode {
  /** In lower case; null if it is not stated. */
  readonly proto: string | null
  /** As sent; null if it is not stated. */
  readonly host: string | null
}

const UNKNOWN: ForwardedNode = Object.freeze({ address: UNKNOWN_ADDRESS, port: 0 })
const UNKNOWN_ELEMENT: ForwardedElement = Object.freeze({ ...UNKNOWN, proto: null, host: null })

const OBFUSCATED = /^_[\w.-]+$/

/**
 * The client in X-Forwarded-For: the first address from the right that is not trusted, or the leftmost one if all are.
 * @returns null if the list is empty
 */
export function readXForwardedFor(value: string, judge: Judge): ForwardedNode | null {
  let node: ForwardedNode | null = null
  let hops = 0
  for (let end = value.length; end > 0; ) {
    const start = value.lastIndexOf(',', end - 1) + 1
    const entry = trimBlanks(value, start, end)
    end = start - 1
    if (entry === '') continue
    if (++hops > MAX_HOPS) return UNKNOWN
    node = readNode(entry)
    const verdict = node === null ? 'none' : judge(node.address)
    if (verdict === 'none') return { address: nameOf(node), port: 0 }
    if (verdict === 'other') return node
  }
  return node
}

/**
 * The element of the client in Forwarded, found in the same way. Its `proto` and `host` come from the proxy next to the client.
 * @returns null if the list is empty
 */
export function readForwarded(value: string, judge: Judge): ForwardedElement | null {
  let element: ForwardedElement | null = null
  let hops = 0
  for (let end = value.length; end > 0; ) {
    const start = elementStart(value, end)
    if (start === -1) return UNKNOWN_ELEMENT
    const text = trimBlanks(value, start, end)
    end = start - 1
    if (text === '') continue
    const pairs = parseParameters(`;${text}`, 0)
    if (pairs === null || ++hops > MAX_HOPS) return UNKNOWN_ELEMENT
    const node = readNode(pairs.get('for') ?? '')
    const proto = pairs.get('proto')?.toLowerCase() ?? null
    const host = pairs.get('host') ?? null
    const verdict = node === null ? 'none' : judge(node.address)
    if (verdict === 'none') return { address: nameOf(node), port: 0, proto, host }
    element = { ...node!, proto, host }
    if (verdict === 'other') return element
  }
  return element
}

/** The last entry of a list, which the nearest proxy wrote. */
export function lastEntry(value: string): string {
  return trimBlanks(value, value.lastIndexOf(',') + 1)
}

/** The name that a proxy uses instead of an address, or `unknown`. */
function nameOf(node: ForwardedNode | null): string {
  return node !== null && OBFUSCATED.test(node.address) ? node.address : UNKNOWN_ADDRESS
}

/**
 * Reads a `node` with its optional port, and an IPv6 address without brackets, as X-Forwarded-For has it. The judge decides whether it is an
 * address. @returns null for text of another form
 */
function readNode(text: string): ForwardedNode | null {
  if (text.startsWith('[')) {
    const close = text.indexOf(']')
    const address = text.slice(1, close)
    if (close === -1 || !address.includes(':')) return null // brackets are for IPv6 alone
    if (close === text.length - 1) return { address, port: 0 }
    return text[close + 1] === ':' ? withPort(address, text.slice(close + 2)) : null
  }
  const colon = text.indexOf(':')
  if (colon === -1 || text.includes(':', colon + 1)) return { address: text, port: 0 }
  return withPort(text.slice(0, colon), text.slice(colon + 1))
}

function withPort(address: string, text: string): ForwardedNode | null {
  if (OBFUSCATED.test(text)) return { address, port: 0 }
  if (text.length === 0 || text.length > 5) return null
  for (let i = 0; i < text.length; i++) if (!isDigit(text.charCodeAt(i))) return null
  const port = Number(text)
  return port > 65535 ? null : { address, port }
}

/**
 * The start of the element that ends at `end`: after the last comma outside quotation marks. @returns -1 if a quotation mark is not closed
 */
function elementStart(value: string, end: number): number {
  for (let at = end - 1; at >= 0; at--) {
    const code = value.charCodeAt(at)
    if (code === COMMA) return at + 1
    if (code === DQUOTE && (at = openingQuote(value, at)) === -1) return -1
  }
  return 0
}

/** The next quotation mark before `close` that is not escaped, or -1. */
function openingQuote(value: string, close: number): number {
  for (let at = close - 1; at >= 0; at--) if (value.charCodeAt(at) === DQUOTE && !isEscaped(value, at)) return at
  return -1
}

function isEscaped(value: string, at: number): boolean {
  let backslashes = 0
  while (value[at - 1 - backslashes] === '\\') backslashes++
  return backslashes % 2 === 1
}
