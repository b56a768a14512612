// Sends a streamed body, no faster than the client reads.

import process from 'node:process'

import { bytesOf, HEAD_ONLY, lengthError, type SourceReader, type SourceResult } from '../../http/response/byte-source.ts'

/** Where the pieces go. */
export interface PumpTarget {
  /** The client is gone, so the rest is not needed. */
  readonly isGone: boolean
  /** How large the next piece should be at most, if the memory of those before it is not read any more. */
  readonly mostPieceBytes?: number | undefined
  /** Sends the head, if it has not been sent. */
  sendHead(): void
  /**
   * Passes on one piece.
   * @param isLast whether it completes the promised length; always false if no length was promised
   * @returns null, or a promise that resolves when the client has read enough for the next piece
   */
  write(piece: Uint8Array, isLast: boolean): Promise<void> | null
}

/** After this much, the event loop gets a turn: a source that never really waits would keep all other connections waiting. */
const TURN_BYTES = 256 * 1024
const TURN_PIECES = 64
/** The same for all responses together: a client may ask for a hundred at once, on each of its connections. */
const TURN_BYTES_OF_ALL = 512 * 1024
/** What a piece costs, however small it is, as much as so many bytes. */
const BYTES_OF_ANY_PIECE = 512
/** What the first piece is expected to have at least. Many responses may ask for it before any of them has it. */
const FEWEST_EXPECTED_BYTES = 8 * 1024

let bytesOfAll = 0
/** Of the first piece of any response, lately. */
let lastFirstBytes = 0
let isTurnPlanned = false
/** The responses that wait for a turn, the one that waits longest at `next`, and those that came after all of these. */
let waiting: (() => void)[] = []
let next = 0
let later: (() => void)[] = []

function countForAll(bytes: number): void {
  bytesOfAll += bytes
  planTurn()
}

function planTurn(): void {
  if (isTurnPlanned) return
  isTurnPlanned = true
  setImmediate(() => void beginTurn())
}

/** Lets those that wait go on, one after the other, until they have used up the turn. Whoever waits again meanwhile does so for a later one. */
async function beginTurn(): Promise<void> {
  bytesOfAll = 0
  isTurnPlanned = false
  for (let most = countWaiting(); most > 0 && bytesOfAll < TURN_BYTES_OF_ALL; most--) {
    takeNext()()
    await allMicrotasks()
  }
  if (countWaiting() > 0) planTurn()
}

function countWaiting(): number {
  return waiting.length - next + later.length
}

function takeNext(): () => void {
  if (next === waiting.length) {
    waiting = later
    later = []
    next = 0
  }
  return waiting[next++]!
}

/** Resolves when all that is ready has run: ticks come after microtasks, if a microtask plans them. */
function allMicrotasks(): Promise<void> {
  return new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)))
}

/** Lets the event loop run everything that is due, and those that have waited longer. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    later.push(resolve)
    planTurn()
  })
}

/**
 * Reads `source` to its end. The source is closed in every case.
 * @param length that was promised, or -1
 * @throws what the source throws; WEIR_RESPONSE_LENGTH if it yields more or fewer bytes than were promised
 */
export async function pump(source: SourceReader, length: number, target: PumpTarget): Promise<void> {
  let rest = length
  let bytes = 0
  let pieces = 0
  let expected = Math.max(lastFirstBytes, FEWEST_EXPECTED_BYTES)
  let isFirst = true
  const pass = ({ value }: SourceResult): Promise<void> | null => {
    if (value === HEAD_ONLY) {
      target.sendHead()
      return null
    }
    const piece = bytesOf(value)
    if (length !== -1 && (rest -= piece.length) < 0) throw lengthError(length, rest)
    bytes += piece.length
    if (piece.length > expected) countForAll(piece.length - expected)
    expected = piece.length
    if (isFirst) lastFirstBytes = piece.length
    isFirst = false
    return piece.length === 0 ? null : target.write(piece, rest === 0)
  }
  try {
    for (;;) {
      if (pieces >= TURN_PIECES || bytes >= TURN_BYTES || bytesOfAll >= TURN_BYTES_OF_ALL) {
        bytes = pieces = 0
        await turn()
        if (target.isGone) return
      }
      countForAll(expected + BYTES_OF_ANY_PIECE)
      let result: SourceResult | null = await source.next(target.mostPieceBytes)
      if (target.isGone) return
      if (result.done === true) break
      const drained = pass(result)
      // While it waits for the client, an async function keeps all its variables in memory, and so the piece.
      result = null
      if (drained !== null) await drained
      if (target.isGone) return
      pieces++
    }
  } finally {
    source.close()
  }
  if (length !== -1 && rest > 0) throw lengthError(length, rest)
}
