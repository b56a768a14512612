// Which stream sends next (RFC 9218 §10).
//
// The most urgent streams go first. Among streams of one urgency, incremental ones, whose parts are useful before the rest, take turns, one frame
// each. The others are sent one after another, in the order in which they were opened; as a group they take every second turn. A stream for which
// the client has given no priority counts as incremental, so that one large response does not block all others.
//
// Only streams that can send are here: they have bytes, and their windows are open.

import type { Http2Stream } from './stream.ts'

const URGENCIES = 8

export class Scheduler<T> {
  /** For each place the stream that is next; the others follow in a ring. A place is twice the urgency, and one more for incremental streams. */
  readonly #first: (Http2Stream<T> | null)[] = new Array(2 * URGENCIES).fill(null)
  /** A bit for each place that is not empty: 0 if no stream waits. Only the methods change it. */
  mask = 0
  /** Whether an incremental stream had the last turn. */
  #wasIncremental = false

  add(stream: Http2Stream<T>): void {
    if (stream.place !== -1) return
    const place = 2 * stream.urgency + (stream.isIncremental ? 1 : 0)
    const first = this.#first[place]!
    stream.place = place
    this.mask |= 1 << place
    if (first === null) {
      stream.previous = stream.next = stream
      this.#first[place] = stream
      return
    }
    let before = first.previous!
    if (!stream.isIncremental) {
      while (before.id > stream.id && before !== first) before = before.previous!
      if (before === first && before.id > stream.id) {
        before = first.previous!
        this.#first[place] = stream
      }
    }
    const after = before.next!
    stream.previous = before
    stream.next = after
    before.next = stream
    after.previous = stream
  }

  remove(stream: Http2Stream<T>): void {
    const { place } = stream
    if (place === -1) return
    if (stream.next === stream) {
      this.#first[place] = null
      this.mask &= ~(1 << place)
    } else {
      stream.previous!.next = stream.next
      stream.next!.previous = stream.previous
      if (this.#first[place] === stream) this.#first[place] = stream.next
    }
    stream.place = -1
    stream.previous = stream.next = null
  }

  /** The stream that sends the next frame. It stays here until it is removed. */
  next(): Http2Stream<T> | null {
    const mask = this.mask
    if (mask === 0) return null
    const lowest = 31 - Math.clz32(mask & -mask)
    let place = lowest
    // Both kinds have this urgency: they alternate.
    if ((lowest & 1) === 0 && (mask & (1 << (lowest + 1))) !== 0 && !this.#wasIncremental) place = lowest + 1
    this.#wasIncremental = (place & 1) === 1
    const stream = this.#first[place]!
    if (this.#wasIncremental) this.#first[place] = stream.next
    return stream
  }

  /** Changes the priority of a stream, wherever it is. */
  prioritize(stream: Http2Stream<T>, urgency: number, isIncremental: boolean): void {
    const isWaiting = stream.place !== -1
    this.remove(stream)
    stream.urgency = urgency
    stream.isIncremental = isIncremental
    if (isWaiting) this.add(stream)
  }
}
