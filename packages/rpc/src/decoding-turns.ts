// When messages are decoded. Two bytes of a message may become an object: 60 KB take 10 ms, and are 100 bytes when they are compressed. So all clients
// of the process share what is decoded in one turn of the event loop.

import { FairQueue, networkOf } from 'weirjs/kit'

const TURN_MS = 10
/** What takes no longer than the rest of its call. */
const SMALL_BYTES = 1024

const waiting = new FairQueue<() => void>()
let spentMs = 0
let isTurnPlanned = false

/**
 * Decodes now, or in a later turn if this one is used up. Clients take turns then.
 * @param bytes how many there are to decode
 */
export function inDecodingTurn<T>(clientAddress: string, bytes: number, decode: () => T): T | Promise<T> {
  if (bytes < SMALL_BYTES) return decode()
  if (spentMs < TURN_MS) return measured(decode)
  return new Promise((resolve, reject) => {
    const begin = (): void => {
      try {
        resolve(measured(decode))
      } catch (error) {
        reject(error)
      }
    }
    waiting.add(networkOf(clientAddress), begin)
    planTurn()
  })
}

function measured<T>(decode: () => T): T {
  const start = performance.now()
  try {
    return decode()
  } finally {
    spentMs += performance.now() - start
    planTurn()
  }
}

function planTurn(): void {
  if (isTurnPlanned) return
  isTurnPlanned = true
  setImmediate(beginTurn)
}

function beginTurn(): void {
  isTurnPlanned = false
  spentMs = 0
  for (let most = waiting.length; most > 0 && spentMs < TURN_MS; most--) waiting.next()!()
  if (waiting.length > 0) planTurn()
}
