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

/** A template up to its last secret. */
interface SecretTemplate {
  /** The first one is empty: the path begins with a slash. */
  readonly segments: readonly string[]
  readonly secret: ReadonlySet<string>
}

export class SecretSegments {
  readonly #templates: SecretTemplate[] = []
  readonly #basePath: string

  /** @param basePath the path below which the application is; empty at the root */
  constructor(basePath: string) {
    this.#basePath = basePath
  }

  /** @param names of its secret parameters */
  add(template: string, names: readonly string[]): void {
    if (names.length === 0) return
    const secret = new Set(names)
    // A client that has left the path of the application out has sent the secret anyway.
    for (const base of new Set(['', this.#basePath])) {
      const segments = `${base}${template}`.split('/').map(comparable)
      const last = segments.findLastIndex((wanted) => isSecretPlace(wanted, secret))
      if (last !== -1) this.#templates.push({ segments: segments.slice(0, last + 1), secret })
    }
  }

  /** Of a request target, whichever route would match it. */
  in(target: string): Range[] {
    return this.#templates.length === 0 ? [] : [...this.#inPath(target, false), ...this.inQuery(target)]
  }

  /** Of a URL in a field or a parameter: a proxy may know the application below any path. */
  inLink(url: string): Range[] {
    return this.#templates.length === 0 ? [] : [...this.#inPath(url, true), ...this.inQuery(url)]
  }

  #inPath(target: string, isLink: boolean): Range[] {
    const start = target.startsWith('/') ? 0 : Math.max(0, target.indexOf('/', target.indexOf('//') + 2))
    const end = target.search(/[?#]/)
    const path = target.slice(start, end === -1 ? undefined : end)
    const segments = literalSegments(path, start)
    const found: Range[] = []
    for (const template of this.#templates)
      for (let from = 0; from < offsetsOf(template, segments.length, isLink); from++) if (addMatched(template, segments, from, found)) break
    if (UNUSUAL.test(path)) this.#addMeant(segmentsIn(path, start), path.startsWith('//'), isLink, found)
    return found
  }

  /** The values of parameters of a URL that are URLs with secrets themselves, such as the URL of the page to return to. */
  inQuery(target: string): Range[] {
    const found: Range[] = []
    const start = this.#templates.length === 0 ? -1 : target.search(/[?#]/)
    if (start === -1) return found
    for (const { index, 0: value } of target.slice(start).matchAll(VALUES)) {
      const from = start + index + 1
      if (value.length > 1 && decodings(value.slice(1)).some((url) => IS_URL.test(url) && this.#inPath(url, true).length > 0))
        found.push([from, from + value.length - 1])
    }
    return found
  }

  /**
   * What a path may have been meant as whose slashes are doubled or encoded, or that has dot segments or parameters: no route of this server
   * matches it, but that of another one would. All after the place of a secret is one.
   * @param hasHost whether the first segment may be a host
   */
  #addMeant(sent: readonly Segment[], hasHost: boolean, isLink: boolean, found: Range[]): void {
    const meant = withoutDots(sent)
    const literal = sent.filter(({ text }) => !isDots(text)) // whose dots mean nothing
    for (const segments of hasHost ? [meant, meant.slice(1), literal] : [meant, literal]) {
      const meanings = segments.map(({ text }) => meaningsOf(text))
      for (const template of this.#templates) {
        const wanted = template.segments.slice(1)
        const place = wanted.findIndex((name) => isSecretPlace(name, template.secret))
        for (let at = 0; at < offsetsOf(template, segments.length, isLink) && at + place < segments.length; at++) {
          if (!wanted.slice(0, place).every((name, i) => isParameter(name) || meanings[at + i]!.includes(name))) continue
          const from = segments[at + place]!.range[0]
          for (const { text, range } of sent) if (range[0] >= from && !isDots(text)) found.push(range)
          break
        }
      }
    }
  }
}

function isParameter(wanted: string): boolean {
  return wanted.startsWith(':') || wanted.startsWith('*')
}

function isSecretPlace(wanted: string, secret: ReadonlySet<string>): boolean {
  return isParameter(wanted) && secret.has(wanted.slice(1))
}

/** At how many segments of a path a template may begin. Without a text before the secret, it would be found everywhere. */
function offsetsOf({ segments: [, first = ''] }: SecretTemplate, length: number, isLink: boolean): number {
  return isLink && !isParameter(first) ? Math.max(1, length) : 1
}

/** As the router sees them. The first one is empty. */
function literalSegments(path: string, start: number): Segment[] {
  let at = start
  return path.split('/').map((text): Segment => {
    const from = at
    at += text.length + 1
    return { text, range: [from, from + text.length] }
  })
}

/**
 * Adds the secrets of a path that a template matches, as far as it does.
 * @param from the segment before the first one of the template
 * @returns whether all that follows is secret
 */
function addMatched({ segments: template, secret }: SecretTemplate, segments: readonly Segment[], from: number, found: Range[]): boolean {
  if (from === 0 && segments[0]!.text !== '') return false
  const isRest = template.at(-1)!.startsWith('*')
  for (let i = 1; from + i < segments.length && (i < template.length || isRest); i++) {
    const wanted = template[Math.min(i, template.length - 1)]!
    const { text, range } = segments[from + i]!
    if (!isParameter(wanted) && !isSame(wanted, text)) return false
    if (text !== '' && isSecretPlace(wanted, secret)) found.push(range)
  }
  return isRest
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

/** What a segment may be meant as. @param sent perhaps with parameters: `reset;a=b` */
function meaningsOf(sent: string): string[] {
  return decodings(sent).map((text) => text.split(';', 1)[0]!.toLowerCase())
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
