// Whose message is decompressed next. zlib works through a message in many steps, in turn with all others that have begun, so a thousand that begin
// at the same time are all in memory before the first one is whole.

import type { HttpSession } from 'weirjs'
import { networkOf } from 'weirjs/kit'

import { RpcError } from './rpc-error.ts'

/** Fewer than the pool has threads: files and names are looked up there, too. */
const MOST_AT_WORK = 2

/** What waits, by client. */
const waiting = new Map<string, (() => void)[]>()
let atWork = 0

/** Clients take turns, so that none waits for all that another one has sent. @throws (rejects) RpcError if the client has left meanwhile */
export async function inTurn<T>({ clientAddress, signal }: HttpSession, work: () => Promise<T>): Promise<T> {
  if (atWork < MOST_AT_WORK) atWork++
  else await turnOf(networkOf(clientAddress))
  try {
    if (signal.aborted) throw new RpcError('canceled', 'the client has left')
    return await work()
  } finally {
    passOn()
  }
}

function turnOf(client: string): Promise<void> {
  return new Promise((resolve) => {
    const queue = waiting.get(client)
    if (queue === undefined) waiting.set(client, [resolve])
    else queue.push(resolve)
  })
}

function passOn(): void {
  for (const [client, queue] of waiting) {
    const next = queue.shift()!
    waiting.delete(client)
    if (queue.length > 0) waiting.set(client, queue)
    next()
    return
  }
  atWork--
}
