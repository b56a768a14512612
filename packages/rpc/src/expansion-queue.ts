// Whose message is decompressed next. zlib works through a message in many steps, in turn with all others that have begun, so a thousand that begin
// at the same time are all in memory before the first one is whole.

import { FairQueue, networkOf } from 'weirjs/kit'

import type { RpcCall } from './call.ts'

/** The call whose message waits. */
export type Sender = Pick<RpcCall, 'session' | 'signal'>

/** Fewer than the pool has threads: files and names are looked up there, too. */
const MOST_AT_WORK = 2

const waiting = new FairQueue<() => void>()
let atWork = 0

/**
 * Clients take turns, so that none waits for all that another one has sent.
 * @throws (rejects) why the call has ended meanwhile: its client has left, or its deadline has passed. Its message is kept no longer then
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
  const client = networkOf(session.clientAddress)
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
