// Recent invalidations, for running handlers whose response may be out of date by now. There is one list for all runs, with a fixed bound, because
// clients choose which paths they change and how long a run takes.

import { createHash } from 'node:crypto'

import { keepNewest } from '../../base/keep-newest.ts'

/** They take about 1.5 MB. A run that began before the oldest of them may be out of date. */
const MOST = 10_000

export class Invalidations {
  /** By digest: a tag may be as long as a head. The number of each is from its last time; the latest come last. */
  readonly #numbers = new Map<string, number>()
  #last = 0
  /** Those up to here may be forgotten. */
  #forgotten = 0

  /** The moment, for `areSince`. */
  get now(): number {
    return this.#last
  }

  add(tag: string): void {
    const digest = digestOf(tag)
    this.#numbers.delete(digest)
    this.#numbers.set(digest, ++this.#last)
    if (this.#numbers.size <= MOST) return
    this.#forgotten = this.#numbers.values().next().value!
    keepNewest(this.#numbers, MOST)
  }

  /** Whether one of `tags` has been invalidated since a moment, or may have been. */
  areSince(moment: number, tags: readonly string[]): boolean {
    if (moment === this.#last) return false
    return moment < this.#forgotten || tags.some((tag) => (this.#numbers.get(digestOf(tag)) ?? 0) > moment)
  }
}

function digestOf(tag: string): string {
  return createHash('sha256').update(tag, 'utf16le').digest('base64url')
}
