// Where the secret parameters of a path are.

import type { Range } from './ranges.ts'

export class SecretSegments {
  readonly #templates: { readonly segments: readonly string[]; readonly secret: ReadonlySet<string> }[] = []

  /** @param names of its secret parameters */
  add(template: string, names: readonly string[]): void {
    if (names.length > 0) this.#templates.push({ segments: template.split('/'), secret: new Set(names) })
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
        if (!isParameter && wanted.toLowerCase() !== segment.toLowerCase()) break
        if (isParameter && secret.has(wanted.slice(1))) found.push([at, at + segment.length])
        at += segment.length + 1
      }
    }
    return found
  }
}
