// Decides when messages are decoded. Two bytes of a message may become an object: 60 KB take 10 ms, and may be compressed to 100 bytes. A client may
// have many streams, each with many small messages that wait. So all clients of the process share the decoding of one turn of the event loop.

import { FairQueue, networkOf } from 'weirjs/kit'

const TURN_MS = 10
/** What a message counts in addition to the time of decoding it, because a handler receives it. At most 1,000 messages share a turn. */
const HANDLING_MS = 0.01

const turns = FairQueue.turns(TURN_MS)

/** Decodes now, or in a later turn if this one is used up, for which clients take turns. */
export function inDecodingTurn<T>(clientAddress: string, decode: () => T): T | Promise<T> {
  if (!turns.isOver) return measured(decode)
  return new Promise((resolve, reject) => {
    turns.wait(networkOf(clientAddress), () => {
      try {
        resolve(measured(decode))
      } catch (error) {
        reject(error)
      }
    })
  })
}

function measured<T>(decode: () => T): T {
  const start = performance.now()
  try {
    return decode()
  } finally {
    turns.spend(performance.now() - start + HANDLING_MS)
  }
}
