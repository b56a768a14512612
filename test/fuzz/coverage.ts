// Which pieces of packages/weirjs/src/ have run? V8 counts blocks; the inspector in the process itself returns the counts, and nothing is instrumented.
// Reading them costs about half a millisecond, so the fuzzer reads them once for many inputs, and again only for inputs that found
// something.

import { type Profiler, Session } from 'node:inspector'

/** What ran since they were last read. */
export type Look = readonly Profiler.ScriptCoverage[]

export class Coverage {
  readonly #session = new Session()
  readonly #seen = new Map<string, Uint8Array>()
  /** Characters of compiled source that have run. */
  covered = 0

  constructor() {
    this.#session.connect()
    this.#session.post('Profiler.enable')
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** What ran since they were last read, in weir's own sources. */
  look(): Look {
    let look: Look = []
    this.#session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error !== null) throw error
      look = result.filter(({ url }) => url.startsWith('file:') && url.includes('/src/') && !url.includes('/node_modules/'))
    })
    return look
  }

  /** How much of it had not run before. @param remembers whether it counts as seen from now on */
  newIn(look: Look, remembers: boolean): number {
    let fresh = 0
    for (const { url, functions } of look) {
      for (const { ranges } of functions) {
        const { startOffset, endOffset } = ranges[0]!
        const seen = this.#seenOf(url, endOffset)
        const ran = new Uint8Array(endOffset - startOffset)
        // Ranges are nested, the outer one first.
        for (const range of ranges) ran.fill(range.count > 0 ? 1 : 0, range.startOffset - startOffset, range.endOffset - startOffset)
        for (let at = 0; at < ran.length; at++) {
          if (ran[at] === 0 || seen[startOffset + at] === 1) continue
          fresh++
          if (remembers) seen[startOffset + at] = 1
        }
      }
    }
    if (remembers) this.covered += fresh
    return fresh
  }

  close(): void {
    this.#session.post('Profiler.stopPreciseCoverage')
    this.#session.disconnect()
  }

  #seenOf(url: string, size: number): Uint8Array {
    let seen = this.#seen.get(url)
    if (seen === undefined || seen.length < size) {
      const larger = new Uint8Array(size)
      if (seen !== undefined) larger.set(seen)
      this.#seen.set(url, (seen = larger))
    }
    return seen
  }
}
