// Path templates such as `/users/:id` and `/files/*path`, at run time and in types.
//
// A template consists of segments between slashes. A segment is text, a parameter `:name` that matches one whole segment, or at the end a
// rest `*name` that matches the rest of the path. A rest that begins with a slash, as in `//a`, is matched by `**name` only. Text is compared
// with the decoded path, so `/grüße` and `/gr%C3%BC%C3%9Fe` are the same template. Only `%2F` is kept, as in the path of a request. Write a
// literal `:` or `*` as `%3A` or `%2A`.

import { WeirError } from '../base/errors.ts'
import { kindOf } from '../base/kind-of.ts'

type Segment =
  | {
      readonly kind: 'text'
      /** Decoded, except for `%2F`. */
      readonly text: string
      /** The text as it is written in a URL. */
      readonly encoded: string
    }
  | { readonly kind: 'parameter'; readonly name: string }
  | {
      readonly kind: 'rest'
      readonly name: string
      /** Whether it may begin with a slash. */
      readonly takesSlashes: boolean
    }

interface Parameter {
  readonly name: string
  /**
   * The index of its segment, counted from 0; a rest begins there. It finds the segment in the raw path, where `%2F` has to become a slash.
   */
  readonly segmentIndex: number
  /** Whether it is a rest, which may contain slashes. */
  readonly rest: boolean
}

/** A parsed path template. */
export class Template<P extends string = string> {
  /** The template as it was written. */
  readonly text: P
  readonly segments: readonly Segment[]
  /** In the order of the template, which is also the order of a match's values. */
  readonly parameters: readonly Parameter[]

  /** @throws WEIR_ROUTE_TEMPLATE if `text` is malformed */
  constructor(text: P) {
    checkText(text)
    this.text = text
    this.segments = parseSegments(text)
    this.parameters = parametersOf(text, this.segments)
  }

  /** Whether it ends in a rest that may begin with a slash. */
  get takesSlashes(): boolean {
    const last = this.segments.at(-1)!
    return last.kind === 'rest' && last.takesSlashes
  }

  /** The only path that the template matches, decoded; null if it has parameters. */
  get exactPath(): string | null {
    return this.parameters.length === 0 ? this.segments.map((segment) => `/${segment.kind === 'text' ? segment.text : ''}`).join('') : null
  }
}

/** Checks callers that no compiler has checked. */
function checkText(text: unknown): void {
  if (typeof text !== 'string') throw new WeirError('WEIR_ROUTE_TEMPLATE', `a path is a string such as /users/:id, not ${kindOf(text)}`)
}

function parseSegments(text: string): Segment[] {
  if (!text.startsWith('/')) {
    const hint = text.includes('://') ? 'leave the origin out' : `write ${JSON.stringify(`/${text}`)}`
    throw malformed(text, `it does not begin with a slash: ${hint}`)
  }
  const parts = text.slice(1).split('/')
  const last = parts.length - 1
  return parts.map((part, i) => {
    if (part === '' && i < last) throw malformed(text, 'it has an empty segment: write one slash in place of two')
    if (part.startsWith(':')) return { kind: 'parameter', name: nameOf(part, text) }
    if (!part.startsWith('*')) return textSegment(part, text)
    if (i < last) throw malformed(text, `"${part}" matches the rest of the path, but something follows it`)
    const takesSlashes = part.startsWith('**')
    return { kind: 'rest', name: nameOf(takesSlashes ? part.slice(1) : part, text), takesSlashes }
  })
}

/** `__proto__` is excluded: it would not become a property of the object that handlers get. */
const IDENTIFIER = /^(?!__proto__$)[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u

function nameOf(part: string, template: string): string {
  const name = part.slice(1)
  if (!IDENTIFIER.test(name)) {
    const hint =
      name === ''
        ? 'write a parameter as /:id or /*path'
        : name.endsWith('?')
          ? 'no parameter is optional: map the path without it, too'
          : 'a name is a JavaScript identifier, without patterns'
    throw malformed(template, `"${part}" has no valid name; ${hint}`)
  }
  return name
}

/** Characters that a path cannot contain: they would begin a query or a fragment, or are refused in every request. */
const NOT_IN_PATH = /[?#\u0000-\u001f\u007f]/

function textSegment(part: string, template: string): Segment {
  if (part.includes('?')) throw malformed(template, `"${part}" has a query: declare its parameters, as in { page: t.int }`)
  if (/[:*]/.test(part))
    throw malformed(
      template,
      `a parameter must be a whole segment, which "${part}" is not; write a literal : as %3A and a literal * as %2A`,
    )
  if (NOT_IN_PATH.test(part)) throw malformed(template, `"${part}" is not allowed in a path: write "${encodeURIComponent(part)}"`)
  try {
    const text = part.split(/%2f/i).map(decodeURIComponent).join('%2F')
    if (text === '.' || text === '..') throw malformed(template, 'it has a dot segment: leave it out')
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
    if (parameters.some((other) => other.name === name))
      throw malformed(text, `it has two parameters "${name}": rename one, yours if the other is a module's`)
    parameters.push({ name, segmentIndex, rest: segment.kind === 'rest' })
  })
  return parameters
}

function malformed(template: string, why: string): WeirError {
  return new WeirError('WEIR_ROUTE_TEMPLATE', `${JSON.stringify(template)}: ${why}`)
}

/**
 * Encodes `text` as one segment of a URL's path. Characters that RFC 3986 allows there are kept; all others are percent-encoded.
 *
 * @throws URIError for half a surrogate pair
 */
export function encodeSegment(text: string): string {
  return encodeURIComponent(text).replace(/%(?:3A|40|24|26|2B|2C|3B|3D)/g, decodeURIComponent)
}

/**
 * Joins mapping prefix, controller prefix and method path with exactly one slash between them: `/api`, `/user` and an empty string become
 * `/api/user`. A part that is empty or `/` adds nothing; if nothing is left, the path is `/`.
 */
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
 * The parameters of a template, found by the same steps as at run time: `ParamsOf<'/users/:id/files/*path'>` is `{ id: string; path: string
 * }`. A template that is not known at compile time may have any parameters.
 */
export type ParamsOf<P extends string> = P extends unknown ? { [Name in NamesOf<P>]: string } : never

type NamesOf<P extends string, Found = never> = string extends P
  ? string
  : P extends `${infer Head}/${infer Tail}`
    ? NamesOf<Tail, Found | NameOf<Head>>
    : Found | NameOf<P>

type NameOf<Part extends string> = string extends Part
  ? string
  : Part extends `**${infer Name}`
    ? Name
    : Part extends `:${infer Name}` | `*${infer Name}`
      ? Name
      : never
