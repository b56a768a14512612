// Decides when messages are decoded. Two bytes of a message may become an object: 60 KB take 10 ms, and may be compressed to 100 bytes. So all
// clients of the process share the decoding of one turn of the event loop.

import { FairQueue, networkOf } from 'weirjs/kit'

const TURN_MS = 10
/** Decoding a message up to this size takes no longer than the rest of its call. */
const SMALL_BYTES = 1024

const turns = FairQueue.turns(TURN_MS)

/** Decodes now, or in a later turn if this one is used up, for which clients take turns. @param bytes number of bytes to decode */
export function inDecodingTurn<T>(clientAddress: string, bytes: number, decode: () => T): T | Promise<T> {
  if (bytes < SMALL_BYTES) return decode()
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
    turns.spend(performance.now() - start)
  }
}
