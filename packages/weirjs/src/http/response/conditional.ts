// Evaluates the preconditions of RFC 9110 §13, in the order of §13.2.2: whether the client already has the current state, and whether it is
// the state that the client expects.

import { acceptsCoding } from '../../formats/accept.ts'
import { readCodedTag } from '../../formats/coded-tag.ts'
import { parseHttpDate } from '../../formats/http-date.ts'

/** What distinguishes one state of a resource from another (RFC 9110 §8.8). */
export interface Validators {
  /** The value of ETag, or null. */
  readonly etag: string | null
  /** The time in Last-Modified: milliseconds since 1970, in whole seconds; null if there is none. */
  readonly lastModified: number | null
  /** Whether the last change is so long ago that a later one would have a different time (RFC 9110 §8.8.2.2). */
  readonly isSettled: boolean
}

/** The parts of a request that conditions are in. */
export interface ConditionalRequest {
  readonly method: string
  /** Returns the value of a field, or null. @param name in lower case */
  get(name: string): string | null
}

export type Verdict = 'send' | 'not modified' | 'failed'

/** Methods whose response is the selected representation, so that a 304 can stand for it (RFC 9110 §13.1.2, RFC 10008 for QUERY). */
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'QUERY'])
/** Methods that select no representation. Conditions do not apply to them (RFC 9110 §13.2.1). */
const UNCONDITIONAL: ReadonlySet<string> = new Set(['OPTIONS', 'TRACE', 'CONNECT'])

/** Whether the response to this method is the representation that the validators describe. */
export function isReading(method: string): boolean {
  return READING.has(method)
}

/**
 * Returns `not modified` only for a method that reads. For others, such as PUT, a client that must not have the current state has it: `failed`.
 *
 * @param current null if there is no representation
 * @param now milliseconds since 1970
 */
export function evaluatePreconditions(request: ConditionalRequest, current: Validators | null, now: number): Verdict {
  const { method } = request
  if (UNCONDITIONAL.has(method)) return 'send'
  const match = request.get('if-match')
  if (match !== null) {
    if (current === null || !matchesStrongly(match, current.etag)) return 'failed'
  } else if (current !== null && current.lastModified !== null) {
    const unmodifiedSince = readDate(request.get('if-unmodified-since'), now)
    if (unmodifiedSince !== null && current.lastModified > unmodifiedSince) return 'failed'
  }
  if (current === null || !isUnchanged(request, current, now)) return 'send'
  return isReading(method) ? 'not modified' : 'failed'
}

/**
 * Whether If-None-Match or If-Modified-Since names the current state. Cache-Control of the request does not matter: RFC 9110 §13.1.2 has no
 * exception for it.
 */
function isUnchanged(request: ConditionalRequest, { etag, lastModified }: Validators, now: number): boolean {
  const noneMatch = request.get('if-none-match')
  if (noneMatch === '*') return true
  if (noneMatch !== null) {
    const tags = etag === null ? [] : tagsOf(noneMatch)
    // If there are too many tags, any of them may be the current one. A reading client gets the content again, and a writing client is refused.
    return tags === null ? !isReading(request.method) : heldTag(request, tags, etag!) !== null
  }
  if (lastModified === null || !isReading(request.method)) return false
  const modifiedSince = readDate(request.get('if-modified-since'), now)
  return modifiedSince !== null && lastModified <= modifiedSince
}

/**
 * The tag that shows that the client has the current state: the current tag itself, or the first that stands for it in a coding that the client
 * accepts now. A shared cache that keeps several codings may not send each of them to every client.
 */
function heldTag(request: ConditionalRequest, tags: readonly string[], etag: string): string | null {
  if (tags.some((tag) => opaque(tag) === opaque(etag))) return etag
  const answers = new Map<string, boolean>()
  const accepts = (coding: string): boolean => {
    const known = answers.get(coding)
    if (known !== undefined) return known
    const answer = !isReading(request.method) || acceptsCoding(request.get('accept-encoding'), coding)
    answers.set(coding, answer)
    return answer
  }
  const held = tags.map(opaque).find((tag) => {
    const coded = readCodedTag(tag)
    return coded !== null && coded.tag === etag && accepts(coded.coding)
  })
  return held ?? null
}

/** The ETag of a 304: the tag of the response that the client has (RFC 9110 §15.4.5). */
export function tagOfUnchanged(request: ConditionalRequest, etag: string): string {
  const noneMatch = request.get('if-none-match')
  return heldTag(request, (noneMatch === null ? null : tagsOf(noneMatch)) ?? [], etag) ?? etag
}

/** Explains to the client why the verdict is `failed`. It does not show the tag, because a client that may write may not be allowed to read. */
export function failureOf(request: ConditionalRequest, current: Validators | null): string {
  const match = request.get('if-match')
  if (current === null && match !== null) return 'If-Match needs a current state, and there is none'
  if (match !== null && !matchesStrongly(match, current!.etag)) {
    if (!match.includes(QUOTE)) return 'no tag in If-Match is in double quotes: send If-Match: "v1", as in ETag'
    if (current!.etag === null) return 'If-Match names a tag, and the current state has none'
    return isWeak(current!.etag)
      ? 'If-Match never matches a weak tag, and that of the current state is weak'
      : 'no tag in If-Match is that of the current state'
  }
  if (request.get('if-none-match') !== null) return 'the current state is one that If-None-Match excludes'
  return 'the current state is newer than If-Unmodified-Since'
}

/**
 * Whether a Range field applies: there is no If-Range, or it names the current state by a strong validator (RFC 9110 §13.1.5). A date must
 * be exactly that of Last-Modified, and is strong only once the file is settled.
 *
 * @param now milliseconds since 1970
 */
export function rangeApplies(request: ConditionalRequest, current: Validators, now: number): boolean {
  const condition = request.get('if-range')
  if (condition === null) return true
  if (condition.endsWith('"')) return condition.startsWith('"') && condition === current.etag
  return current.isSettled && current.lastModified !== null && readDate(condition, now) === current.lastModified
}

/** RFC 9110 §13.1.1: the list is `*`, or one of its tags is the current one, or stands for it in a coding, and neither is weak. */
function matchesStrongly(list: string, etag: string | null): boolean {
  if (list === '*') return true
  return etag !== null && !isWeak(etag) && tagsOf(list)?.some((tag) => tag === etag || readCodedTag(tag)?.tag === etag) === true
}

function isWeak(tag: string): boolean {
  return tag.startsWith('W/')
}

/** Every tag has a quote. A list without one has no tags. */
const QUOTE = '"'

/** Caches and browsers send one or a few. */
export const MOST_TAGS = 256
/** One tag, and what precedes the next one: at least a comma. */
const LISTED_TAG = /((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?:,[ \t,]*|$)/y

/**
 * The tags of a list (RFC 9110 §8.8.3, §5.6.1.2: elements may be empty). A list with any invalid element has none, because its meaning is
 * unknown.
 * @returns null if there are more than `MOST_TAGS`
 */
function tagsOf(list: string): string[] | null {
  const tags: string[] = []
  LISTED_TAG.lastIndex = /^[ \t,]*/.exec(list)![0].length
  while (LISTED_TAG.lastIndex < list.length) {
    const tag = LISTED_TAG.exec(list)?.[1]
    if (tag === undefined) return []
    if (tags.push(tag) > MOST_TAGS) return null
  }
  return tags
}

/** The tag without its weakness, for the weak comparison (RFC 9110 §8.8.3.2). */
function opaque(tag: string): string {
  return isWeak(tag) ? tag.slice(2) : tag
}

/** An invalid date counts as absent (RFC 9110 §13.1.3, §13.1.4). */
function readDate(text: string | null, now: number): number | null {
  return text === null ? null : parseHttpDate(text, now)
}
