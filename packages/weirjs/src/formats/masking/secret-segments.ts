// Where the secret parameters of a path are.

import { decodePercent } from '../percent.ts'
import type { Range } from './ranges.ts'

export class SecretSegments {
  readonly #templates: { readonly segments: readonly string[]; readonly secret: ReadonlySet<string> }[] = []

  /** @param names of its secret parameters */
  add(template: string, names: readonly string[]): void {
    if (names.length > 0) this.#templates.push({ segments: template.split('/').map(comparable), secret: new Set(names) })
  }

  /** Of a request target, whichever route would match it. */
  in(target: string): Range[] {
    if (this.#templates.length === 0) return []
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
        if (isParameter && secret.has(wanted.slice(1))) found.push([at, at + segment.length])
        at += segment.length + 1
      }
    }
    return found
  }
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
