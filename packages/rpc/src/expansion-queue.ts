// Decides whose message is decompressed next. zlib processes a message in many steps, in turn with all others that have begun. A thousand messages
// that begin together would all be in memory before the first one is complete.

import { exchange, FairQueue, networkOf } from 'weirjs/kit'

import type { RpcCall } from './call.ts'

/** The call whose message waits. */
export type Sender = Pick<RpcCall, 'session' | 'signal'>

/** Fewer than the pool has threads, because files and DNS names use it too. */
const MOST_AT_WORK = 2

const waiting = new FairQueue<() => void>()
let atWork = 0

/**
 * Clients take turns, so that none waits for everything that another one has sent. @throws (rejects) the reason why the call has ended meanwhile:
 * its client has left, or its deadline has passed. Its message is then dropped
 */
export async function inTurn<T>(sender: Sender, work: () => Promise<T>): Promise<T> {
  const { signal } = sender
  signal.throwIfAborted()
  if (atWork < MOST_AT_WORK) atWork++
  else await turnOf(sender)
  try {
    signal.throwIfAborted()
    return await work()
  } finally {
    passOn()
  }
}

function turnOf({ session, signal }: Sender): Promise<void> {
  const client = networkOf(exchange(session).clientAddress)
  return new Promise((resolve, reject) => {
    const begin = (): void => {
      signal.removeEventListener('abort', leave)
      resolve()
    }
    const leave = (): void => {
      waiting.delete(client, begin)
      reject(signal.reason)
    }
    waiting.add(client, begin)
    signal.addEventListener('abort', leave, { once: true })
  })
}

function passOn(): void {
  const next = waiting.next()
  if (next === null) atWork--
  else next()
}
