// Bounds how much of all streamed responses is read in one turn of the event loop. Clients take turns, so that none waits for all that another reads.

import process from 'node:process'

import { FairQueue } from '../../base/fair-queue.ts'
import { networkOf } from '../../formats/client-network.ts'

/** After this much, the event loop gets a turn: a source that never really waits would keep all other connections waiting. */
const TURN_BYTES = 256 * 1024
const TURN_PIECES = 64
/** The same for all responses together: a client may ask for a hundred at once, on each of its connections. */
const TURN_BYTES_OF_ALL = 512 * 1024
/** The same in milliseconds: only the source knows how long it takes to make a piece, and a program that has just started is slow. */
const TURN_MS_OF_ALL = 10
/** A piece counts as at least so many bytes, however small it is. */
const BYTES_OF_ANY_PIECE = 512
/** The least size that a first piece is expected to have. Many responses may ask for their first piece before any of them has one. */
const FEWEST_EXPECTED_BYTES = 8 * 1024

let bytesOfAll = 0
/** The size of the last first piece of any response. */
let lastFirstBytes = 0
let isTurnPlanned = false
/** When the first piece of this turn was asked for, if a turn is planned. */
let turnStart = 0
/** The responses that wait for a turn. */
const waiting = new FairQueue<() => void>()

function countForAll(bytes: number): void {
  bytesOfAll += bytes
  planTurn()
}

function planTurn(): void {
  if (isTurnPlanned) return
  isTurnPlanned = true
  turnStart = performance.now()
  setImmediate(() => void beginTurn())
}

function isTurnOver(): boolean {
  return bytesOfAll >= TURN_BYTES_OF_ALL || (isTurnPlanned && performance.now() - turnStart >= TURN_MS_OF_ALL)
}

/**
 * Lets waiting responses continue, one after the other, until they have used up the turn. A response that waits again meanwhile waits for a later
 * turn.
 */
async function beginTurn(): Promise<void> {
  bytesOfAll = 0
  isTurnPlanned = false
  for (let most = waiting.length; most > 0 && !isTurnOver(); most--) {
    waiting.next()!()
    await allMicrotasks()
  }
  if (waiting.length > 0) planTurn()
}

/** Resolves when all ready microtasks have run: a tick that a microtask plans comes after them. */
function allMicrotasks(): Promise<void> {
  return new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)))
}

/** What one response has read of its source in this turn. */
export class SourceTurns {
  readonly #client: { readonly clientAddress: string }
  #bytes = 0
  #pieces = 0
  #expected = Math.max(lastFirstBytes, FEWEST_EXPECTED_BYTES)
  #isFirst = true

  constructor(client: { readonly clientAddress: string }) {
    this.#client = client
  }

  /** Whether other responses come first. */
  get isOver(): boolean {
    return this.#pieces >= TURN_PIECES || this.#bytes >= TURN_BYTES || isTurnOver()
  }

  /** Resolves when the event loop has run everything that was due, and it is the turn of this response. */
  next(): Promise<void> {
    this.#bytes = this.#pieces = 0
    return new Promise((resolve) => {
      waiting.add(networkOf(this.#client.clientAddress), resolve)
      planTurn()
    })
  }

  /** The next piece is asked for. It counts from now on. */
  ask(): void {
    this.#pieces++
    countForAll(this.#expected + BYTES_OF_ANY_PIECE)
  }

  got(bytes: number): void {
    this.#bytes += bytes
    if (bytes > this.#expected) countForAll(bytes - this.#expected)
    this.#expected = bytes
    if (this.#isFirst) lastFirstBytes = bytes
    this.#isFirst = false
  }
}
