// Sends the messages of a streamed response from their handler to the client.
//
// A handler may yield several messages at once. They are gathered until the handler waits for something, and sent as one piece, because each piece
// has its cost. A stream whose handler waits keeps only this object, two functions and a few promises in memory.

import type { Call } from './call.ts'
import { compressed } from './compression.ts'
import { COMPRESSED, FrameList } from './frames.ts'
import { countLeftOver } from './left-over.ts'
import { asSent, lastFrame } from './response-messages.ts'
import type { RpcError } from './rpc-error.ts'
import type { Wire } from './wire.ts'

/** The method that a stream belongs to. */
export interface StreamOwner {
  encode(value: unknown, wire: Wire): Uint8Array
  /** The error that the client receives for a failure. */
  failed(error: unknown): RpcError
}

type Result = IteratorResult<Uint8Array, undefined>

/** How much may be gathered before the client has to read. */
const MOST_BYTES = 16 * 1024
/** How many messages are made in a row before other connections have their turn. */
const IN_A_ROW = 64
const DONE: Result = Object.freeze({ done: true, value: undefined })

/**
 * Tells a handler that no more messages are needed. It may be waiting for something that never happens. @returns a promise of its end, if it
 * returns one
 */
export function closeValues(values: AsyncIterator<unknown>): unknown {
  try {
    return Promise.resolve(values.return?.()).catch(() => {})
  } catch {
    return null // the call fails anyway, or its client has left
  }
}

export class MessageSource implements AsyncIterableIterator<Uint8Array, undefined, undefined> {
  readonly #call: Call
  readonly #owner: StreamOwner
  readonly #values: AsyncIterator<unknown>
  readonly #compressAbove: number | null
  readonly #onValue = (result: IteratorResult<unknown>): void => this.#accept(result)
  readonly #onError = (error: unknown): void => this.#fail(error)
  readonly #list = new FrameList()
  /** The frame after all messages; null if trailers have the outcome. */
  #last: Buffer | null = null
  failure: RpcError | null = null
  /** The handler makes a message, or it is being compressed. */
  #isMaking = false
  #isDone = false
  #inARow = 0
  #isFlushDue = false
  /** Resolves the promise of `next`. */
  #resolve: ((result: Result) => void) | null = null

  constructor(call: Call, owner: StreamOwner, values: AsyncIterator<unknown>, compressAbove: number | null) {
    this.#call = call
    this.#owner = owner
    this.#values = values
    this.#compressAbove = compressAbove
  }

  /** @param first the first message; null: there is none */
  begin(first: Uint8Array | null): void {
    if (first === null) this.#end(null)
    else this.#pack(first)
    if (!this.#isDone) this.#call.onEnd(this.#onError)
  }

  // From the handler.

  #make(): void {
    if (this.#isMaking || this.#isDone || this.#inARow >= IN_A_ROW || this.#list.size >= MOST_BYTES) return
    this.#isMaking = true
    try {
      Promise.resolve(this.#values.next()).then(this.#onValue, this.#onError)
    } catch (error) {
      this.#fail(error)
    }
  }

  #accept({ done, value }: IteratorResult<unknown>): void {
    if (this.#isDone) return
    try {
      if (done === true) this.#end(null)
      else this.#pack(this.#owner.encode(value, this.#call.wire))
    } catch (error) {
      this.#fail(error)
    }
  }

  #pack(bytes: Uint8Array): void {
    if (this.#compressAbove === null || bytes.length <= this.#compressAbove) {
      this.#add(0, bytes)
      return
    }
    this.#isMaking = true
    const sent = compressed(bytes)
    if (sent instanceof Promise) sent.then((later) => this.#add(COMPRESSED, later)).catch(this.#onError)
    else this.#add(COMPRESSED, sent)
  }

  #add(flags: number, bytes: Uint8Array): void {
    if (this.#isDone) return
    this.#isMaking = false
    this.#inARow++
    this.#list.add(flags, bytes)
    this.#flushSoon()
    this.#make()
  }

  #fail(error: unknown): void {
    if (this.#isDone) return
    this.#leave()
    this.#end(this.#owner.failed(error))
  }

  #leave(): void {
    countLeftOver(this.#call.session, closeValues(this.#values))
  }

  #end(failure: RpcError | null): void {
    const { wire } = this.#call
    this.failure = failure
    this.#isDone = true
    this.#call.finish()
    this.#call.tell(failure)
    this.#last = lastFrame(wire, failure, this.#call.sentTrailers)
    this.#flushSoon()
  }

  // To the client.

  /** Once the handler waits for something. */
  #flushSoon(): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    process.nextTick(flush, this)
  }

  flush(): void {
    if (this.#inARow >= IN_A_ROW) setImmediate(flushTurn, this)
    else this.#deliver()
  }

  flushTurn(): void {
    this.#inARow = 0
    this.#deliver()
  }

  #deliver(): void {
    this.#isFlushDue = false
    const resolve = this.#resolve
    if (resolve === null) return
    this.#resolve = null
    resolve(this.#take())
  }

  #take(): Result {
    const last = this.#last
    if (this.#list.size === 0 && last === null) return DONE
    const bytes = this.#list.take()
    this.#last = null
    return { done: false, value: asSent(this.#call.wire, last === null ? bytes : Buffer.concat([bytes, last])) }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Result> {
    if (!this.#isFlushDue && (this.#isDone || this.#list.size > 0)) {
      const result = this.#take()
      this.#make()
      return Promise.resolve(result)
    }
    this.#make()
    return new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** The client has left, or all has been sent. */
  return(): Promise<Result> {
    if (!this.#isDone) {
      this.#isDone = true
      this.#call.finish()
      this.#leave()
    }
    this.#list.take()
    this.#last = null
    this.#deliver()
    return Promise.resolve(DONE)
  }
}

function flush(source: MessageSource): void {
  source.flush()
}

function flushTurn(source: MessageSource): void {
  source.flushTurn()
}
