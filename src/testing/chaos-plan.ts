// What one client will do in one run of chaos: drawn from a seed before anything happens, so that a run can be had again.

import { abortAt, type Behaviour, endAt, inPieces, resetAt } from './behaviours.ts'
import type { SeededRandom } from './seeded-random.ts'

/** How a client goes before it is done. */
export type Departure =
  /** It stays for its answers. */
  | { readonly kind: 'none' }
  /** Between two bytes of what it sends: its behaviour sees to that. */
  | { readonly kind: 'sending' }
  /** It ends its side between two bytes of what it sends, and reads on. */
  | { readonly kind: 'cut' }
  /** So many turns of the event loop after it has begun. */
  | { readonly kind: 'turns'; readonly how: 'abort' | 'reset'; readonly turns: number }
  /** When so many bytes of its answers' bodies have come, or after so many turns. */
  | { readonly kind: 'bytes'; readonly how: 'abort' | 'reset'; readonly bytes: number; readonly turns: number }

/** A request that clients of a run may send. */
export interface Candidate {
  /** Head and body. */
  readonly bytes: number
  readonly isEndless: boolean
}

export interface ClientPlan {
  /** Which requests it sends, in order. */
  readonly requests: readonly number[]
  /** It does not wait for one answer before it sends the next request. */
  readonly isPipelined: boolean
  readonly behaviour: readonly Behaviour[]
  /** At this byte it sends nothing for so many turns, and then until so much time has passed for all clients of the run. */
  readonly stall: { readonly byte: number; readonly turns: number; readonly ms: number } | null
  readonly departure: Departure
  /** For so many turns it does not read. */
  readonly silentTurns: number
  /** All that is unusual about it, for people. */
  readonly habits: readonly string[]
}

const MOST_CLIENTS = 3
const MOST_REQUESTS = 4
const PIECES = [1, 7, 100, 1_000]
/** In so many pieces a client sends at most: each takes a turn. */
const MOST_PIECES = 500
const SOME_TURNS = [0, 1, 2, 5, 20]
const MOST_TURNS = 300
const SOME_BYTES = [1, 100, 10_000]
const SOME_TIMES_MS = [1_000, 6_000, 40_000]

/** Draws one run. */
export function planRun(random: SeededRandom, candidates: readonly Candidate[]): ClientPlan[] {
  const mayStall = random.chance(0.25)
  const count = random.between(1, MOST_CLIENTS)
  return Array.from({ length: count }, () => planClient(random, candidates, mayStall))
}

function planClient(random: SeededRandom, candidates: readonly Candidate[], mayStall: boolean): ClientPlan {
  const requests: number[] = []
  const most = random.between(1, MOST_REQUESTS)
  let isEndless = false
  while (requests.length < most && !isEndless) {
    const chosen = random.below(candidates.length)
    requests.push(chosen)
    isEndless = candidates[chosen]!.isEndless
  }
  const size = requests.reduce((sum, one) => sum + candidates[one]!.bytes, 0)
  const habits: string[] = []
  const behaviour: Behaviour[] = []
  const isPipelined = random.chance(0.4)
  if (isPipelined && requests.length > 1) habits.push('does not wait for answers')
  if (random.chance(0.5)) {
    const piece = Math.max(random.pick(PIECES), Math.ceil(size / MOST_PIECES))
    behaviour.push(inPieces(piece))
    habits.push(`sends ${piece} bytes at a time`)
  }
  const stalls = mayStall && random.chance(0.6)
  const stall = stalls ? { byte: random.between(0, size), turns: random.pick(SOME_TURNS), ms: random.pick(SOME_TIMES_MS) } : null
  if (stall !== null) habits.push(`stalls at byte ${stall.byte} until ${stall.ms} ms have passed`)
  const departure = planDeparture(random, size, isEndless, behaviour, habits)
  const silentTurns = random.chance(0.25) ? 1 + random.pick(SOME_TURNS) : 0
  if (silentTurns > 0) habits.push(`does not read for ${silentTurns} turns`)
  return { requests, isPipelined, behaviour, stall, departure, silentTurns, habits }
}

function planDeparture(random: SeededRandom, size: number, isEndless: boolean, behaviour: Behaviour[], habits: string[]): Departure {
  const dice = random.below(100)
  const how = random.pick(['abort', 'reset'] as const)
  // The moment at which all is sent and nothing has come is the one that handlers meet most often.
  const byte = random.chance(0.3) ? size : random.between(0, size)
  if (dice < 20) {
    behaviour.push(how === 'abort' ? abortAt(byte) : resetAt(byte))
    habits.push(`leaves by ${how} at byte ${byte} of ${size}`)
    return { kind: 'sending' }
  }
  if (dice < 30 && !isEndless) {
    behaviour.push(endAt(byte))
    habits.push(`ends its side at byte ${byte} of ${size}`)
    return { kind: 'cut' }
  }
  if (dice < 45 || (isEndless && dice < 70)) {
    const turns = random.pick(SOME_TURNS)
    habits.push(`leaves by ${how} after ${turns} turns`)
    return { kind: 'turns', how, turns }
  }
  if (dice < 60 || isEndless) {
    const bytes = random.pick(SOME_BYTES)
    // An answer that never ends may never say so much either.
    const turns = isEndless ? MOST_TURNS : Number.POSITIVE_INFINITY
    habits.push(`leaves by ${how} after ${bytes} bytes of answers${isEndless ? ` or ${turns} turns` : ''}`)
    return { kind: 'bytes', how, bytes, turns }
  }
  return { kind: 'none' }
}
