// Path templates: `/users/:id`, `/files/*path`, at run time and in types.
//
// A template is segments between slashes. A segment is text, or a parameter `:name` that matches one whole segment, or, at the
// end, a rest `*name` that matches everything that is left. Text is compared with the decoded path, so `/grüße` and `/gr%C3%BC%C3%9Fe`
// are one template; `%2F` alone stays as it is, as it does in a request's path. A literal `:` or `*` is written `%3A` or `%2A`.

import { WeirError } from '../base/errors.ts'
import { kindOf } from '../base/kind-of.ts'

export type Segment =
  | {
      readonly kind: 'text'
      /** Decoded, but for `%2F`. */
      readonly text: string
      /** As it stands in a URL. */
      readonly encoded: string
    }
  | { readonly kind: 'parameter' | 'rest'; readonly name: string }

export interface Parameter {
  readonly name: string
  /** Which segment it is, counted from 0; a rest begins there. To read the segment of a raw path again, where `%2F` must become a slash. */
  readonly segmentIndex: number
  /** Whether it is a rest, which may hold slashes. */
  readonly rest: boolean
}

/** A parsed path template. */
export class Template<P extends string = string> {
  /** As it was written. */
  readonly text: P
  readonly segments: readonly Segment[]
  /** In the order in which they stand, which is the order of a match's values. */
  readonly parameters: readonly Parameter[]

  /** @throws WEIR_ROUTE_TEMPLATE if `text` is malformed */
  constructor(text: P) {
    checkText(text)
    this.text = text
    this.segments = parseSegments(text)
    this.parameters = parametersOf(text, this.segments)
  }

  /** The only path that it matches, decoded; null when it has parameters. */
  get exactPath(): string | null {
    return this.parameters.length === 0 ? this.segments.map((segment) => `/${segment.kind === 'text' ? segment.text : ''}`).join('') : null
  }
}

/** For callers that no compiler has checked. */
function checkText(text: unknown): void {
  if (typeof text !== 'string') throw new WeirError('WEIR_ROUTE_TEMPLATE', `a path is text such as /users/:id, not ${kindOf(text)}`)
}

function parseSegments(text: string): Segment[] {
  if (!text.startsWith('/')) throw malformed(text, 'it does not begin with a slash')
  const parts = text.slice(1).split('/')
  const last = parts.length - 1
  return parts.map((part, i) => {
    if (part === '' && i < last) throw malformed(text, 'it has an empty segment')
    if (part.startsWith(':')) return { kind: 'parameter', name: nameOf(part, text) }
    if (!part.startsWith('*')) return textSegment(part, text)
    if (i < last) throw malformed(text, `"${part}" matches all that is left, but something follows it`)
    return { kind: 'rest', name: nameOf(part, text) }
  })
}

/** `__proto__` is left out: it would be no property of the object that handlers get. */
const IDENTIFIER = /^(?!__proto__$)[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u

function nameOf(part: string, template: string): string {
  const name = part.slice(1)
  if (!IDENTIFIER.test(name)) {
    const hint = name === '' ? 'a parameter has a name: /:id, /*path' : 'there are no optional parameters and no patterns in a name'
    throw malformed(template, `"${part}" has no name that a variable could have; ${hint}`)
  }
  return name
}

/** What a path cannot hold: it would be the start of a query or a fragment, or is refused in every request. */
const NOT_IN_PATH = /[?#\u0000-\u001f\u007f]/

function textSegment(part: string, template: string): Segment {
  if (/[:*]/.test(part))
    throw malformed(template, `a parameter is a whole segment, "${part}" is not; a literal : is written %3A, a literal * %2A`)
  if (NOT_IN_PATH.test(part)) throw malformed(template, `"${part}" cannot stand in a path`)
  try {
    const text = part.split(/%2f/i).map(decodeURIComponent).join('%2F')
    if (text === '.' || text === '..') throw malformed(template, 'it has a dot segment')
    return { kind: 'text', text, encoded: encodeSegment(decodeURIComponent(part)) }
  } catch (error) {
    throw error instanceof WeirError ? error : malformed(template, `"${part}" is not valid percent-encoded text`)
  }
}

function parametersOf(text: string, segments: readonly Segment[]): Parameter[] {
  const parameters: Parameter[] = []
  segments.forEach((segment, segmentIndex) => {
    if (segment.kind === 'text') return
    const { name } = segment
    if (parameters.some((other) => other.name === name)) throw malformed(text, `it has two parameters "${name}"`)
    parameters.push({ name, segmentIndex, rest: segment.kind === 'rest' })
  })
  return parameters
}

function malformed(template: string, why: string): WeirError {
  return new WeirError('WEIR_ROUTE_TEMPLATE', `${JSON.stringify(template)}: ${why}`)
}

/**
 * `text` as one segment of a URL's path: what RFC 3986 lets stand there is left as it is, everything else is percent-encoded.
 * @throws URIError for half a surrogate pair
 */
export function encodeSegment(text: string): string {
  return encodeURIComponent(text).replace(/%(?:3A|40|24|26|2B|2C|3B|3D)/g, decodeURIComponent)
}

/** Mapping prefix, controller prefix and handler path in one, with exactly one slash between: `/api`, `/user` and `` are `/api/user`. A part that is empty or `/` adds nothing; nothing at all is `/`. */
export function joinPaths(...parts: readonly string[]): string {
  let path = ''
  for (const part of parts) {
    checkText(part)
    if (part === '' || part === '/') continue
    const before = path.endsWith('/') ? path.slice(0, -1) : path
    path = `${before}${part.startsWith('/') ? '' : '/'}${part}`
  }
  return path === '' ? '/' : path
}

/**
 * The parameters of a template, by the same steps as above: `ParamsOf<'/users/:id/files/*path'>` is `{ id: string; path: string }`.
 * A template that is not known when compiling has any.
 */
export type ParamsOf<P extends string> = P extends unknown ? { [Name in NamesOf<P>]: string } : never

type NamesOf<P extends string, Found = never> = string extends P
  ? string
  : P extends `${infer Head}/${infer Tail}`
    ? NamesOf<Tail, Found | NameOf<Head>>
    : Found | NameOf<P>

type NameOf<Part extends string> = string extends Part ? string : Part extends `:${infer Name}` | `*${infer Name}` ? Name : never
