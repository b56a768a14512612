// Where the secret parameters of a path are.

import { decodePercent } from '../percent.ts'
import { decodings } from './pairs.ts'
import type { Range } from './ranges.ts'

/** One segment of a path. */
interface Segment {
  readonly text: string
  readonly range: Range
}

/** What other servers and clients take for a slash, however often it is encoded. */
const SLASHES = /[/\\]|%(?:25)*(?:2f|5c)/gi
const VALUES = /=[^&#]*/g
const IS_URL = /^(?:[a-z][a-z0-9+.-]*:)?\/./i
/** What may hide which route a path was meant for. */
const UNUSUAL = /[\\;%]|\/\/|\/\.\.?(?:\/|$)/

export class SecretSegments {
  readonly #templates: { readonly segments: readonly string[]; readonly secret: ReadonlySet<string> }[] = []

  /** @param names of its secret parameters */
  add(template: string, names: readonly string[]): void {
    if (names.length > 0) this.#templates.push({ segments: template.split('/').map(comparable), secret: new Set(names) })
  }

  /** Of a request target, whichever route would match it. */
  in(target: string): Range[] {
    return this.#templates.length === 0 ? [] : [...this.#inPath(target), ...this.inQuery(target)]
  }

  #inPath(target: string): Range[] {
    const start = target.startsWith('/') ? 0 : Math.max(0, target.indexOf('/', target.indexOf('//') + 2))
    const end = target.search(/[?#]/)
    const segments = target.slice(start, end === -1 ? undefined : end).split('/')
    const found: Range[] = []
    for (const { segments: template, secret } of this.#templates) {
      let at = start
      for (const [i, segment] of segments.entries()) {
        const wanted = template[Math.min(i, template.length - 1)]!
        const isRest = wanted.startsWith('*')
        const isParameter = isRest || wanted.startsWith(':')
        if (i >= template.length && !isRest) break
        if (!isParameter && !isSame(wanted, segment)) break
        if (isParameter && segment !== '' && secret.has(wanted.slice(1))) found.push([at, at + segment.length])
        at += segment.length + 1
      }
    }
    const path = target.slice(start, end === -1 ? undefined : end)
    if (UNUSUAL.test(path)) this.#addMeant(segmentsIn(path, start), path.startsWith('//'), found)
    return found
  }

  /** The values of parameters of a URL that are URLs with secrets themselves, such as that of the page to return to. */
  inQuery(target: string): Range[] {
    const found: Range[] = []
    const start = this.#templates.length === 0 ? -1 : target.search(/[?#]/)
    if (start === -1) return found
    for (const { index, 0: value } of target.slice(start).matchAll(VALUES)) {
      const from = start + index + 1
      if (value.length > 1 && decodings(value.slice(1)).some((url) => IS_URL.test(url) && this.#inPath(url).length > 0))
        found.push([from, from + value.length - 1])
    }
    return found
  }

  /**
   * What a path may have been meant as whose slashes are doubled or encoded, or that has dot segments or parameters: no route of this server
   * matches it, but that of another one would. All after the place of a secret is one.
   * @param hasHost whether the first segment may be a host
   */
  #addMeant(sent: readonly Segment[], hasHost: boolean, found: Range[]): void {
    const meant = withoutDots(sent)
    const literal = sent.filter(({ text }) => !isDots(text)) // whose dots mean nothing
    for (const segments of hasHost ? [meant, meant.slice(1), literal] : [meant, literal])
      for (const { segments: template, secret } of this.#templates) {
        const wanted = template.slice(1)
        const place = wanted.findIndex((name) => /^[:*]/.test(name) && secret.has(name.slice(1)))
        if (place >= segments.length || !wanted.slice(0, place).every((name, i) => /^[:*]/.test(name) || isMeant(name, segments[i]!.text)))
          continue
        const from = segments[place]!.range[0]
        for (const { text, range } of sent) if (range[0] >= from && !isDots(text)) found.push(range)
      }
  }
}

function segmentsIn(path: string, start: number): Segment[] {
  const segments: Segment[] = []
  let at = 0
  const add = (end: number): void => {
    if (end > at) segments.push({ text: path.slice(at, end), range: [start + at, start + end] })
  }
  for (const { index, 0: slash } of path.matchAll(SLASHES)) {
    add(index)
    at = index + slash.length
  }
  add(path.length)
  return segments
}

function withoutDots(segments: readonly Segment[]): Segment[] {
  const meant: Segment[] = []
  for (const segment of segments) {
    if (!isDots(segment.text)) meant.push(segment)
    else if (decodings(segment.text).includes('..')) meant.pop()
  }
  return meant
}

function isDots(text: string): boolean {
  return decodings(text).some((one) => one === '.' || one === '..')
}

/** @param sent perhaps with parameters: `reset;a=b` */
function isMeant(wanted: string, sent: string): boolean {
  return decodings(sent).some((text) => text.split(';', 1)[0]!.toLowerCase() === wanted)
}

/** Decoded as the router does it: `%2F` keeps its three characters. */
function comparable(segment: string): string {
  return /^[:*]/.test(segment) ? segment : (decodedSegment(segment) ?? segment).toLowerCase()
}

function decodedSegment(segment: string): string | null {
  const parts = segment.split(/%2f/i).map(decodePercent)
  return parts.includes(null) ? null : parts.join('%2F')
}

/** What cannot be decoded may have been meant as anything. */
function isSame(wanted: string, segment: string): boolean {
  const text = segment.includes('%') ? decodedSegment(segment) : segment
  return text === null || text.toLowerCase() === wanted
}
