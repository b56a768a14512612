// One timer for everything that lives long, instead of one for each: all members of a beat are asked in turn.

import { type Clock, systemClock } from '../base/clock.ts'

/** Something that wants to know how time goes by. */
export interface Beaten {
  /** @param now milliseconds on the clock that `Beats.now` reads too */
  beat(now: number): void
}

const PERIOD_MS = 1_000
const SHORTEST_PERIOD_MS = 10

/** Runs only while it has members, and never keeps the process alive. */
export class Beats {
  readonly #clock: Clock
  readonly intervalMs: number
  readonly #periodMs: number
  readonly #members = new Set<Beaten>()
  #stop: (() => void) | null = null

  /** @param intervalMs what the members measure: they are asked ten times as often, but not more than once a second */
  constructor(intervalMs: number, clock: Clock = systemClock) {
    this.#clock = clock
    this.intervalMs = intervalMs
    this.#periodMs = Math.min(PERIOD_MS, Math.max(SHORTEST_PERIOD_MS, intervalMs / 10))
  }

  get isEmpty(): boolean {
    return this.#members.size === 0
  }

  get now(): number {
    return this.#clock.now()
  }

  add(member: Beaten): void {
    this.#members.add(member)
    this.#stop ??= this.#clock.every(this.#periodMs, () => {
      const now = this.now
      for (const one of this.#members) one.beat(now)
    })
  }

  delete(member: Beaten): void {
    this.#members.delete(member)
    if (this.#members.size > 0) return
    this.#stop?.()
    this.#stop = null
  }
}

/** Those that have members. Intervals may differ from one member to the next: none is kept behind its last. */
const shared = new Map<number, Beats>()

/** Adds a member to the beats that all members with this interval have in common. */
export function joinBeats(intervalMs: number, member: Beaten): Beats {
  let beats = shared.get(intervalMs)
  if (beats === undefined) {
    beats = new Beats(intervalMs)
    shared.set(intervalMs, beats)
  }
  beats.add(member)
  return beats
}

/** What `joinBeats` has begun ends. */
export function leaveBeats(beats: Beats, member: Beaten): void {
  beats.delete(member)
  if (beats.isEmpty) shared.delete(beats.intervalMs)
}
