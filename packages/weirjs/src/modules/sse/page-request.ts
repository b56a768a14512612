// One page of what a relay has kept after an id. Pages bound the memory of a client that has missed much and reads slowly: the next page is
// requested when this one has been read.

import { FairQueue } from '../../base/fair-queue.ts'
import { networkOf } from '../../formats/client-network.ts'
import type { Relay, RelayMessage, RelaySubscription } from '../relay/relay-option.ts'
import { costOf, type EncodedEvent } from './event.ts'

/** A page ends with the event that exceeds this. */
const PAGE_BYTES = 256 * 1024
/** A page takes some milliseconds. */
const PAGES_PER_TURN = 4

/** Decides which pages are read next. A client asks for a page in a few bytes, and may have a hundred streams. */
const turns = FairQueue.turns(PAGES_PER_TURN)

interface Page {
  readonly events: readonly EncodedEvent[]
  /** The id after which the next page begins. */
  readonly end: string
}

/** What a request needs of its channel. */
export interface PageSource {
  readonly relay: Relay
  readonly name: string
  /** What clients get for a gap. */
  readonly gap: EncodedEvent
  /** The event of a message; null for one that clients do not get. */
  decode(message: RelayMessage): EncodedEvent | null
  /** Whether this process has received the message with this id, and those after it, in any case. */
  isRecent(id: string): boolean
  /** The relay keeps no messages, although a client sent an id. */
  onMissingId(): void
  /** Called once, when the page is complete. */
  onEnd(request: PageRequest): void
}

export class PageRequest {
  readonly after: string
  readonly #source: PageSource
  readonly page: Promise<Page>
  #resolve: (page: Page) => void = () => {}
  #reject: (error: unknown) => void = () => {}
  #events: EncodedEvent[] = []
  #end: string
  #bytes = 0
  #isDue = false
  #hasEnded = false
  #subscription: RelaySubscription | null = null
  /** How many clients wait for it. */
  waiting = 0

  /** @param clientAddress the address of the client whose turn it uses */
  constructor(source: PageSource, after: string, clientAddress: string) {
    this.#source = source
    this.after = this.#end = after
    this.page = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    inPageTurn(clientAddress, () => this.#begin())
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** @returns false if no one waits for it any more */
  #begin(): boolean {
    if (this.#hasEnded) return false
    try {
      this.#subscribe()
    } catch (error) {
      this.#reject(error)
      this.finish()
    }
    return true
  }

  #subscribe(): void {
    const { relay, name, gap } = this.#source
    this.#subscription = relay.subscribe(name, (message) => this.#add(message), {
      after: this.after,
      onGap: () => void this.#events.push(gap),
    })
    if (this.#hasEnded) this.#subscription.close()
  }

  /** The page is what has arrived. */
  finish(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#subscription?.close()
    this.#source.onEnd(this)
    // Without a message, the next request would report the gap again.
    const page = { events: this.#end === this.after ? [] : this.#events, end: this.#end }
    // After a full page, others come first: a relay may have a hundred in memory, which would all leave in this turn of the event loop.
    if (this.#bytes > PAGE_BYTES) setImmediate(() => this.#resolve(page))
    else this.#resolve(page)
  }

  #add(message: RelayMessage): void {
    if (this.#hasEnded) return
    if (message.id === null) {
      this.#source.onMissingId()
      this.finish()
      return
    }
    const event = this.#source.decode(message)
    if (event !== null) {
      this.#events.push(event)
      this.#bytes += costOf(event)
    }
    this.#end = message.id
    if (this.#bytes > PAGE_BYTES || this.#source.isRecent(message.id)) this.finish()
    else if (!this.#isDue) {
      this.#isDue = true
      setImmediate(() => this.finish()) // what the relay delivers together belongs to one page
    }
  }
}

/**
 * Calls `begin` once, now or in a later turn. Clients take turns, so that none waits for all that another one asks for.
 * @param begin returns whether it has begun a page; must not throw
 */
function inPageTurn(clientAddress: string, begin: () => boolean): void {
  turns.run(networkOf(clientAddress), () => {
    if (begin()) turns.spend(1)
  })
}
