// Finds the secret parameters in paths.

import { decodePercent } from '../percent.ts'
import { decodings } from './pairs.ts'
import type { Range } from './ranges.ts'

/** One segment of a path. */
interface Segment {
  readonly text: string
  readonly range: Range
  /** The texts of templates that it is, or may be meant as; null: any. */
  readonly names: readonly string[] | null
}

/** What other servers and clients take for a slash, however often it is encoded. */
const SLASHES = /[/\\]|%(?:25)*(?:2f|5c)/gi
const VALUES = /=[^&#]*/g
const IS_URL = /^(?:[a-z][a-z0-9+.-]*:)?\/./i
/** What may hide the route that a path was meant for. */
const UNUSUAL = /[\\;%]|\/\/|\/\.\.?(?:\/|$)/

/** A template up to its last secret. */
interface SecretTemplate {
  /** After the slash at the beginning of the path. */
  readonly segments: readonly string[]
  readonly secret: ReadonlySet<string>
  /** Where the first secret is. */
  readonly place: number
}

const NONE: readonly SecretTemplate[] = []

export class SecretSegments {
  readonly #templates: SecretTemplate[] = []
  /** Templates that a link may have anywhere, by the text that they begin with. Without a text before the secret, it would be found everywhere. */
  readonly #byFirst = new Map<string, SecretTemplate[]>()
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
      const segments = `${base}${template}`.split('/').slice(1).map(comparable)
      const isPlace = (wanted: string): boolean => isSecretPlace(wanted, secret)
      const place = segments.findIndex(isPlace)
      if (place !== -1) this.#add({ segments: segments.slice(0, segments.findLastIndex(isPlace) + 1), secret, place })
    }
  }

  #add(template: SecretTemplate): void {
    this.#templates.push(template)
    const first = template.segments[0]!
    if (isParameter(first)) return
    const others = this.#byFirst.get(first)
    if (others === undefined) this.#byFirst.set(first, [template])
    else others.push(template)
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
    const found: Range[] = []
    const [before, ...segments] = literalSegments(path, start)
    const matchAt = (template: SecretTemplate, at: number): boolean => addMatched(template, segments, at, found)
    this.#match(segments, before!.text === '', isLink, matchAt)
    if (UNUSUAL.test(path)) this.#addMeant(segmentsIn(path, start), path.startsWith('//'), isLink, found)
    return found
  }

  /**
   * Passes on templates with the places at which they may begin, from the first one on. A link has thousands of segments, and a server hundreds of
   * templates, so not each is compared with each.
   * @param isWhole whether a path begins with the segments
   * @param match returns whether the template is not to be looked for further on
   */
  #match(segments: readonly Segment[], isWhole: boolean, isLink: boolean, match: (template: SecretTemplate, at: number) => boolean): void {
    let done: Set<SecretTemplate> | null = null
    const tryAt = (templates: Iterable<SecretTemplate>, at: number): void => {
      for (const one of templates) if (done?.has(one) !== true && match(one, at)) done = (done ?? new Set()).add(one)
    }
    if (isWhole) tryAt(this.#templates, 0)
    for (let at = 1; isLink && at < segments.length; at++) {
      const { names } = segments[at]!
      if (names === null) for (const templates of this.#byFirst.values()) tryAt(templates, at)
      else for (const name of names) tryAt(this.#byFirst.get(name) ?? NONE, at)
    }
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
    let from = Number.POSITIVE_INFINITY
    const lists = literal.length === sent.length ? [meant] : [meant, literal]
    if (hasHost) lists.push(meant.slice(1))
    for (const segments of lists)
      this.#match(segments, true, isLink, ({ segments: wanted, place }, at) => {
        if (at + place >= segments.length) return true
        for (let i = 0; i < place; i++) if (!isNamed(segments[at + i]!, wanted[i]!)) return false
        from = Math.min(from, segments[at + place]!.range[0])
        return true
      })
    for (const { text, range } of sent) if (range[0] >= from && !isDots(text)) found.push(range)
  }
}

function isParameter(wanted: string): boolean {
  return wanted.startsWith(':') || wanted.startsWith('*')
}

function isSecretPlace(wanted: string, secret: ReadonlySet<string>): boolean {
  return isParameter(wanted) && secret.has(wanted.slice(1))
}

function isNamed({ names }: Segment, wanted: string): boolean {
  return names === null || names.includes(wanted) || isParameter(wanted)
}

/** The segments as the router sees them; the first one is empty. A segment that cannot be decoded may stand for anything. */
function literalSegments(path: string, start: number): Segment[] {
  let at = start
  return path.split('/').map((text): Segment => {
    const from = at
    at += text.length + 1
    const name = text.includes('%') ? decodedSegment(text) : text
    return { text, range: [from, from + text.length], names: name === null ? null : [name.toLowerCase()] }
  })
}

/**
 * Adds the secrets of a path that a template matches, as far as it does.
 * @param at the segment with which the template begins
 * @returns whether all that follows is secret
 */
function addMatched({ segments: template, secret }: SecretTemplate, segments: readonly Segment[], at: number, found: Range[]): boolean {
  const isRest = template.at(-1)!.startsWith('*')
  for (let i = 0; at + i < segments.length && (i < template.length || isRest); i++) {
    const wanted = template[Math.min(i, template.length - 1)]!
    const segment = segments[at + i]!
    if (!isNamed(segment, wanted)) return false
    if (segment.text !== '' && isSecretPlace(wanted, secret)) found.push(segment.range)
  }
  return isRest
}

function segmentsIn(path: string, start: number): Segment[] {
  const segments: Segment[] = []
  let at = 0
  const add = (end: number): void => {
    if (end === at) return
    const text = path.slice(at, end)
    segments.push({ text, range: [start + at, start + end], names: meaningsOf(text) })
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

/** The texts that a segment may stand for. @param sent perhaps with parameters: `reset;a=b` */
function meaningsOf(sent: string): string[] {
  return decodings(sent).map((text) => text.split(';', 1)[0]!.toLowerCase())
}

/** Decoded as the router does it: `%2F` keeps its three characters. */
function comparable(segment: string): string {
  return /^[:*]/.test(segment) ? segment : (decodedSegment(segment) ?? segment).toLowerCase()
}

function decodedSegment(segment: string): string | null {
  return decodePercent(segment.replace(/%2f/gi, '%252F'))
}
