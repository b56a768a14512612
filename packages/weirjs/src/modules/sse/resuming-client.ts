// A client that continues after the last id that it saw, on any machine: it first reads what the relay has kept, page by page, and then the same
// events as all clients of this process.

import type { ClientQueue } from './client-queue.ts'
import type { EncodedEvent } from './event.ts'
import type { PageRequest } from './page-request.ts'

/** The channel, as a resuming client sees it. */
export interface ResumingHost {
  /** Lets it listen with the others, from the event after this id on; null if this process does not know the id. */
  join(after: string): ClientQueue | null
  requestPage(after: string, clientAddress: string): PageRequest
  leave(client: ResumingClient): void
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** It has one reader, which waits for each event before it requests the next. */
export class ResumingClient implements AsyncIterableIterator<EncodedEvent> {
  readonly #host: ResumingHost
  readonly #clientAddress: string
  /** The id of the last event in `#page`, or before it. */
  #position: string
  #page: readonly EncodedEvent[] = []
  #next = 0
  /** While it waits for a page. */
  #request: PageRequest | null = null
  /** Once it listens with the others. */
  #queue: ClientQueue | null = null
  #hasEnded = false

  constructor(host: ResumingHost, lastEventId: string, clientAddress: string) {
    this.#host = host
    this.#clientAddress = clientAddress
    this.#position = lastEventId
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<EncodedEvent>> {
    for (;;) {
      if (this.#next < this.#page.length) return { value: this.#page[this.#next++]! }
      if (this.#queue !== null) return this.#queue.next()
      if (this.#hasEnded) return DONE
      this.#queue = this.#host.join(this.#position)
      if (this.#queue === null) await this.#readPage()
      else {
        this.#page = []
        this.#next = 0
        this.#host.leave(this)
      }
    }
  }

  /** Takes the next event if it waits already, and has at most `mostBytes`. */
  take(mostBytes: number): EncodedEvent | null {
    const next = this.#page[this.#next]
    if (next === undefined) return this.#queue?.take(mostBytes) ?? null
    if (next.bytes.length > mostBytes) return null
    this.#next++
    return next
  }

  async return(): Promise<IteratorResult<EncodedEvent>> {
    this.#page = []
    this.finish()
    await this.#queue?.return()
    return DONE
  }

  /** The stream ends after what the client has been given so far. */
  finish(): void {
    if (this.#hasEnded || this.#queue !== null) return
    this.#hasEnded = true
    this.#host.leave(this)
    const request = this.#request
    if (request !== null && --request.waiting === 0) request.finish()
  }

  async #readPage(): Promise<void> {
    const request = this.#host.requestPage(this.#position, this.#clientAddress)
    request.waiting++
    this.#request = request
    const { events, end } = await request.page
    this.#request = null
    if (this.#hasEnded) return
    this.#page = events
    this.#next = 0
    this.#position = end
  }
}
