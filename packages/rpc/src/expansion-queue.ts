// Decides whose message is decompressed next. zlib processes a message in many steps, in turn with all others that have begun. A thousand messages
// that begin together would all be in memory before the first one is complete.

import { exchange, FairQueue, networkOf } from 'weirjs/kit'

import type { RpcCall } from './call.ts'

/** The call whose message waits. */
export type Sender = Pick<RpcCall, 'session' | 'signal'>

/** Fewer than the pool has threads, because files and DNS names use it too. */
const MOST_AT_WORK = 2

const semaphore = FairQueue.semaphore(MOST_AT_WORK)

/**
 * Clients take turns, so that none waits for everything that another one has sent. @throws (rejects) the reason why the call has ended meanwhile:
 * its client has left, or its deadline has passed. Its message is then dropped
 */
export function inTurn<T>({ session, signal }: Sender, work: () => Promise<T>): Promise<T> {
  return semaphore(networkOf(exchange(session).clientAddress), signal, work)
}
