// Takes turns between clients whose work costs them little and the server much: a thousand bytes may decompress to a mebibyte, and one byte may be
// sent to everyone in a room.

import { FairQueue } from '../base/fair-queue.ts'
import { networkOf } from '../formats/client-network.ts'

/**
 * How much all connections together read in one turn, and what is done in the same turns. With less, each turn of a busy server would wait for the
 * next: 64 connections that pipeline 16 requests each ask for a MiB. Requests whose handlers and policies take long end a turn by the time.
 */
export const requestTurns: ReturnType<typeof FairQueue.turns> = FairQueue.turns(1536 * 1024, 0, 25)
/** Work that `requestTurns` do not know of yet: to tell them of each request would plan a callback in each turn of the event loop. */
export const untold = { work: 0 }
/** From so much on, each connection asks for each request whether it may read on. */
export const MOST_UNTOLD: number = 64 * 1024

/**
 * Does work in the turns in which requests are read, because responses that wait for it would otherwise take the memory of all requests that clients
 * have sent. While one waits, each connection asks before each request whether it may read on.
 * @param session whose client it is for
 * @param work returns how much it was
 * @returns null: it is done
 */
export function workWhileReading(session: { readonly clientAddress: string }, work: () => number): Promise<void> | null {
  if (!requestTurns.isOver) {
    requestTurns.spend(work())
    return null
  }
  untold.work = MOST_UNTOLD
  return new Promise((resolve, reject) => {
    requestTurns.wait(networkOf(session.clientAddress), () => {
      try {
        requestTurns.spend(work())
        resolve()
      } catch (error) {
        reject(error)
      }
    })
  })
}

/** In KiB of decompressed data. Other work counts in the same unit. */
const WORK_PER_TURN = 1024
/** A message of a WebSocket counts a quarter, and most turns of the event loop have one or two. */
const WORK_GRAIN = 32

export const workTurns: ReturnType<typeof FairQueue.turns> = FairQueue.turns(WORK_PER_TURN, WORK_GRAIN)

/** What one response costs that many requests have waited for, in the same unit. It takes about 40 µs. */
const WORK_OF_RESPONSE = 8

/**
 * For a request that has waited for what others wait for, too: when it may go on. If all of them went on at once, their responses would be made in one
 * turn of the event loop, and clients decide how many there are.
 *
 * @param from the network of its client
 * @returns null: now
 */
export function turnAfterWait(from: string): Promise<void> | null {
  return workTurns.take(from, WORK_OF_RESPONSE)
}

/** A gathered body is parsed as a whole, which takes several times as long as handling a message: a list of 64 KiB may have 20,000 empty objects. */
export const BYTES_OF_WORK = 256

/** Bytes of complete bodies that `workTurns` do not know of yet. Most bodies are small: to ask for each of them costs as much as a part of a request. */
let untoldBytes = 0
const MOST_UNTOLD_BYTES = WORK_GRAIN * BYTES_OF_WORK

/**
 * For a request whose body is complete: when its handler may be called. Many clients may each hold back the last byte of a body.
 * @returns null: now
 */
export function turnOfBody(client: { readonly clientAddress: string }, bytes: number): Promise<void> | null {
  untoldBytes += bytes
  if (untoldBytes < MOST_UNTOLD_BYTES) return null
  if (!workTurns.isOver) {
    workTurns.spend(untoldBytes / BYTES_OF_WORK)
    untoldBytes = 0
    return null
  }
  untoldBytes = MOST_UNTOLD_BYTES // the next one asks, too
  return workTurns.take(networkOf(client.clientAddress), bytes / BYTES_OF_WORK)
}
