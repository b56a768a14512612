// Describes why a template does not match a path. Only the matcher decides which route answers. A property test compares the two.

import type { Template } from './template.ts'

/** The first difference between a path and a template. */
export interface Miss {
  /**
   * - `text`: a segment differs.
   * - `case`: the segment differs only in upper and lower case.
   * - `slash`: the path has a slash at its end and the template has not, or the other way round.
   * - `empty`: a parameter would be empty.
   * - `short`: the path ends before the template does.
   * - `long`: the path has segments after the end of the template.
   */
  readonly kind: 'text' | 'case' | 'slash' | 'empty' | 'short' | 'long'
  /** The index of the segment, counted from 0. Those before it match. */
  readonly segmentIndex: number
  /** How many letters of this segment differ, if they are so few that this template was probably meant; null otherwise. */
  readonly edits: number | null
  /** Whether the template matches what follows. */
  readonly fits: boolean
}

/** The segments of a path, as `missOf` takes them: decoded except `%2F`. */
export function segmentsOf(path: string): readonly string[] {
  return path.split('/').slice(1)
}

/**
 * @param segments of the path, by `segmentsOf`
 * @returns null if the template matches the path
 */
export function missOf({ segments: wanted }: Pick<Template, 'segments'>, segments: readonly string[]): Miss | null {
  const at = wanted.findIndex((segment, i) => {
    const text = segments[i]
    if (text === undefined || segment.kind !== 'text') return text === undefined || text === ''
    return text !== segment.text
  })
  const last = wanted.length - 1
  if (at === -1) {
    if (segments.length === wanted.length || wanted[last]?.kind === 'rest') return null
    const isSlash = segments.length === wanted.length + 1 && segments[wanted.length] === ''
    return { kind: isSlash ? 'slash' : 'long', segmentIndex: wanted.length, edits: isSlash ? 0 : null, fits: isSlash }
  }
  const text = segments[at]
  const segment = wanted[at]!
  const fits = missOf({ segments: wanted.slice(at + 1) }, segments.slice(at + 1, wanted.length + 1)) === null // a path may have thousands
  const miss = (kind: Miss['kind'], edits: number | null): Miss => ({ kind, segmentIndex: at, edits, fits })
  if (text === undefined) {
    const isSlash = at === last && segment.kind === 'text' && segment.text === ''
    return miss(isSlash ? 'slash' : 'short', isSlash ? 0 : null)
  }
  if (segment.kind !== 'text') return miss('empty', at === last ? 0 : null)
  if (segment.text.length === text.length && segment.text.toLowerCase() === text.toLowerCase()) return miss('case', 0)
  return miss('text', editsBetween(text, segment.text))
}

/** The longest text that is compared letter by letter. */
const MAX_COMPARED = 40

/** How many letters are added, left out or replaced; null if there are more than two, or more than one in a short word. */
function editsBetween(text: string, word: string): number | null {
  const most = Math.min(text.length, word.length) > 4 ? 2 : 1
  if (text.length > MAX_COMPARED || Math.abs(text.length - word.length) > most || word.length < 3) return null
  let row = Array.from({ length: word.length + 1 }, (_, i) => i)
  for (let i = 0; i < text.length; i++) {
    const next = [i + 1]
    let least = i + 1
    for (let j = 0; j < word.length; j++) {
      const edits = Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + (text[i] === word[j] ? 0 : 1))
      next.push(edits)
      least = Math.min(least, edits)
    }
    if (least > most) return null // it can only grow
    row = next
  }
  const edits = row[word.length]!
  return edits <= most ? edits : null
}
