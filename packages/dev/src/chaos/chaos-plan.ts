// Plans what each client does in one run of chaos. The plan is drawn from a seed before the run starts, so that a run can be repeated.

import { abortAt, type Behaviour, endAt, inPieces, resetAt } from 'weirjs/testing'

import type { SeededRandom } from './seeded-random.ts'

/** How a client leaves before it is done. */
type Departure =
  /** It stays until it has its responses. */
  | { readonly kind: 'none' }
  /** It leaves between two bytes of what it sends, as part of its behaviour. */
  | { readonly kind: 'sending' }
  /** It ends its side between two bytes of what it sends, and continues to read. */
  | { readonly kind: 'cut' }
  /** It leaves this many turns of the event loop after it has begun. */
  | { readonly kind: 'turns'; readonly how: 'abort' | 'reset'; readonly turns: number }
  /** It leaves when it has received this many bytes of response bodies, or after this many turns. */
  | { readonly kind: 'bytes'; readonly how: 'abort' | 'reset'; readonly bytes: number; readonly turns: number }

/** A request that the clients of a run may send. */
interface Candidate {
  /** Size of head and body. */
  readonly bytes: number
  readonly isEndless: boolean
  /** Whether it is a WebSocket, which has a connection and a client of its own. */
  readonly isWebSocket: boolean
}

export interface ClientPlan {
  /** Indexes of the requests that it sends, in order. */
  readonly requests: readonly number[]
  /** Whether it sends requests without waiting for the responses to earlier ones. */
  readonly isPipelined: boolean
  readonly behaviour: readonly Behaviour[]
  /** At this byte it sends nothing for this many turns, and then until this much time has passed for all clients of the run. */
  readonly stall: { readonly byte: number; readonly turns: number; readonly ms: number } | null
  readonly departure: Departure
  /** For how many turns it does not read. */
  readonly silentTurns: number
  /** Everything unusual about the client, for people. */
  readonly habits: readonly string[]
}

const MOST_CLIENTS = 3
const MOST_REQUESTS = 4
const PIECES = [1, 7, 100, 1_000]
/** The largest number of pieces in which a client sends. Each piece takes a turn. */
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
    const { isWebSocket } = candidates[chosen]!
    if (isWebSocket && requests.length > 0) break
    requests.push(chosen)
    isEndless = candidates[chosen]!.isEndless
    if (isWebSocket) break
  }
  const size = requests.reduce((sum, one) => sum + candidates[one]!.bytes, 0)
  const habits: string[] = []
  const behaviour: Behaviour[] = []
  const isPipelined = random.chance(0.4)
  if (isPipelined && requests.length > 1) habits.push('does not wait for responses')
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
  // The most common case for handlers: a client leaves after it has sent everything, and before it has received anything.
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
    // A response that never ends may never reach this size either.
    const turns = isEndless ? MOST_TURNS : Number.POSITIVE_INFINITY
    habits.push(`leaves by ${how} after ${bytes} bytes of responses${isEndless ? ` or ${turns} turns` : ''}`)
    return { kind: 'bytes', how, bytes, turns }
  }
  return { kind: 'none' }
}
