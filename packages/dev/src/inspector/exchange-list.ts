// The last exchanges in bounded memory, and the clients that watch them.

import { keepNewest } from 'weirjs/kit'

import { type Entry, type Summary, sizeOf, summaryOf } from './entry.ts'
import { MESSAGES_BYTES, type SocketMessages } from './socket-messages.ts'

/** How much memory all exchanges may take. */
const MOST_BYTES = 32 * 1024 * 1024
export const MOST_WATCHERS = 20
/** How many summaries wait for a watcher that does not read. When exceeded, it is told to load the list again. */
const MOST_WAITING = 200
const MOST_LINES = 100
const MOST_LINE_CHARS = 4_000

/** An event for a watcher. */
type Event = { readonly kind: 'exchange'; readonly summary: Summary } | { readonly kind: 'reload' }

interface Watcher {
  events: Event[]
  wake: (() => void) | null
}

export class ExchangeList {
  readonly #max: number
  /** The oldest first. */
  readonly #entries: Entry[] = []
  #bytes = 0
  /** The messages of WebSockets whose first row is gone, for the row of their end. The oldest first. */
  readonly #unlisted = new Set<SocketMessages>()
  readonly #byRequest = new Map<string, Entry>()
  /** Lines of requests that are still in progress. */
  readonly #early = new Map<string, string[]>()
  readonly #watchers = new Set<Watcher>()

  constructor(max: number) {
    this.#max = max
  }

  get summaries(): Summary[] {
    return this.#entries.map(summaryOf)
  }

  get entries(): readonly Entry[] {
    return this.#entries
  }

  find(number: number): Entry | undefined {
    return this.#entries.find((entry) => entry.number === number)
  }

  add(entry: Entry): void {
    const { requestId } = entry
    if (requestId !== null) {
      entry.lines.push(...(this.#early.get(requestId) ?? []).map(entry.hide))
      this.#early.delete(requestId)
      this.#byRequest.set(requestId, entry)
    }
    this.#entries.push(entry)
    this.#bytes += sizeOf(entry)
    if (entry.messages !== null && this.#unlisted.delete(entry.messages)) this.#bytes -= MESSAGES_BYTES
    while (this.#entries.length > this.#max || (this.#bytes > MOST_BYTES && this.#entries.length > 1)) this.#drop()
    if (this.#watchers.size > 0) this.#tell({ kind: 'exchange', summary: summaryOf(entry) })
  }

  #drop(): void {
    const [unlisted] = this.#unlisted
    if (unlisted !== undefined && this.#entries.length <= this.#max) {
      this.#unlisted.delete(unlisted)
      this.#bytes -= MESSAGES_BYTES
      unlisted.stop()
      return
    }
    const entry = this.#entries.shift()!
    this.#bytes -= sizeOf(entry)
    if (entry.requestId !== null && this.#byRequest.get(entry.requestId) === entry) this.#byRequest.delete(entry.requestId)
    const { kind, messages } = entry
    if (kind !== 'request' || messages === null || this.#entries.some((other) => other.messages === messages)) return
    this.#unlisted.add(messages)
    this.#bytes += MESSAGES_BYTES
  }

  /** Adds a line of a log to the exchange that it is about. */
  addLine(requestId: string, line: string): void {
    const text = line.slice(0, MOST_LINE_CHARS)
    const entry = this.#byRequest.get(requestId)
    if (entry !== undefined) {
      if (entry.lines.length >= MOST_LINES) return
      this.#bytes += 2 * text.length
      entry.lines.push(entry.hide(text))
      return
    }
    const lines = this.#early.get(requestId) ?? []
    if (lines.length < MOST_LINES) lines.push(text)
    this.#early.set(requestId, lines)
    keepNewest(this.#early, this.#max)
  }

  clear(): void {
    for (const { messages } of this.#entries) if (messages !== null) this.#unlisted.add(messages)
    this.#bytes = this.#unlisted.size * MESSAGES_BYTES
    this.#entries.length = 0
    this.#byRequest.clear()
    this.#early.clear()
    this.#tell({ kind: 'reload' })
  }

  #tell(event: Event): void {
    for (const watcher of this.#watchers) {
      if (watcher.events.length >= MOST_WAITING) watcher.events = [{ kind: 'reload' }]
      else watcher.events.push(event)
      watcher.wake?.()
    }
  }

  /** Events from now on. @returns null if too many watch already */
  watch(signal: AbortSignal): AsyncIterable<readonly Event[]> | null {
    if (this.#watchers.size >= MOST_WATCHERS) return null
    const watcher: Watcher = { events: [], wake: null }
    this.#watchers.add(watcher)
    return this.#follow(watcher, signal)
  }

  async *#follow(watcher: Watcher, signal: AbortSignal): AsyncGenerator<readonly Event[], void, undefined> {
    const onAbort = (): void => watcher.wake?.()
    signal.addEventListener('abort', onAbort)
    try {
      while (!signal.aborted) {
        if (watcher.events.length > 0) yield watcher.events.splice(0)
        else {
          await new Promise<void>((resolve) => (watcher.wake = resolve))
          watcher.wake = null
        }
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#watchers.delete(watcher)
    }
  }
}
