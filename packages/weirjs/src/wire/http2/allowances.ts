// Limits on what a client may do often, but not endlessly: it may send frames that are allowed and useless, and that cost the server something.
//
// Each kind has an allowance. A frame of that kind spends one unit. Time restores the allowance slowly, and so does useful work: requests that are
// answered, and frames of responses. A client that has spent all of an allowance loses its connection (ENHANCE_YOUR_CALM). There is no clock here:
// the owner reports how much time has passed.

import { type FaultName, Http2Error } from './errors.ts'

/** Requests that the client has cancelled before they were answered (CVE-2023-44487). */
export const RESETS = 0
/** Streams above SETTINGS_MAX_CONCURRENT_STREAMS. */
export const REFUSALS = 1
/** Streams that we had to reset for a fault of the client (CVE-2025-8671). */
export const FAULTY = 2
export const SETTINGS_FRAMES = 3
export const PINGS = 4
/** PRIORITY and PRIORITY_UPDATE. */
export const PRIORITIES = 5
/** DATA without data that ends nothing, frames of unknown types, acknowledgements of nothing. */
export const EMPTY_FRAMES = 6
export const WINDOW_UPDATES = 7
/** Frames on streams that we have reset. */
export const LATE_FRAMES = 8
/** Bytes of fields, as they are after decompression: a reference of one byte may stand for 4 KiB. */
export const HEAD_BYTES = 9

interface Allowance {
  readonly fault: FaultName
  /** The most that can be left: what a client may spend in a burst. */
  readonly most: number
  readonly perSecond: number
  /** Restored by each request that is answered completely. */
  readonly perRequest: number
  /** Restored by each DATA frame that is sent; in part, if the client's windows left it less than `FAIR_FRAME_BYTES`. */
  readonly perFrame: number
}

/**
 * A client that opens its windows by a few bytes at a time makes frames that are hardly worth the WINDOW_UPDATE (CVE-2019-9511). One that has
 * small windows because it has little memory sends up to two of them for each frame: it is served down to windows of 32 bytes.
 */
const FAIR_FRAME_BYTES = 128

/** By kind. */
export const ALLOWANCES: readonly Allowance[] = [
  { fault: 'FLOOD_RESETS', most: 1000, perSecond: 33, perRequest: 1, perFrame: 0 }, // nghttp2
  { fault: 'FLOOD_REFUSALS', most: 1000, perSecond: 33, perRequest: 1, perFrame: 0 },
  { fault: 'FLOOD_FAULTS', most: 100, perSecond: 1, perRequest: 0, perFrame: 0 },
  { fault: 'FLOOD_SETTINGS', most: 100, perSecond: 1, perRequest: 0, perFrame: 0 },
  { fault: 'FLOOD_PINGS', most: 1000, perSecond: 50, perRequest: 1, perFrame: 1 },
  { fault: 'FLOOD_PRIORITIES', most: 1000, perSecond: 100, perRequest: 10, perFrame: 0 },
  { fault: 'FLOOD_EMPTY', most: 1000, perSecond: 10, perRequest: 1, perFrame: 0 },
  { fault: 'FLOOD_WINDOWS', most: 2000, perSecond: 100, perRequest: 4, perFrame: 16 },
  { fault: 'FLOOD_LATE', most: 10_000, perSecond: 100, perRequest: 0, perFrame: 0 },
  { fault: 'FLOOD_HEAD_BYTES', most: 32 * 1024 * 1024, perSecond: 16 * 1024 * 1024, perRequest: 0, perFrame: 0 },
]

export class Allowances {
  readonly #left: number[] = ALLOWANCES.map(({ most }) => most)
  // Earned since `#left` was last updated.
  #requests = 0
  #frames = 0

  /** @throws Http2Error when less than `units` of the allowance is left */
  spend(kind: number, units = 1): void {
    if (this.#left[kind]! < units) {
      this.#addUp(0)
      if (this.#left[kind]! < units) throw new Http2Error(ALLOWANCES[kind]!.fault)
    }
    this.#left[kind]! -= units
  }

  /** Time has passed. */
  earnTime(elapsedMs: number): void {
    this.#addUp(elapsedMs)
  }

  /** A request was answered completely. */
  earnRequest(): void {
    this.#requests++
  }

  /** A frame of a response was sent. */
  earnFrame(): void {
    this.#frames++
  }

  /** A frame of a response was sent, which is smaller than it would be with larger windows. */
  earnPart(bytes: number): void {
    this.#frames += bytes >= FAIR_FRAME_BYTES ? 1 : bytes / FAIR_FRAME_BYTES
  }

  #addUp(elapsedMs: number): void {
    for (let kind = 0; kind < ALLOWANCES.length; kind++) {
      const { most, perSecond, perRequest, perFrame } = ALLOWANCES[kind]!
      const earned = (perSecond * elapsedMs) / 1000 + perRequest * this.#requests + perFrame * this.#frames
      this.#left[kind] = Math.min(most, this.#left[kind]! + earned)
    }
    this.#requests = this.#frames = 0
  }
}
