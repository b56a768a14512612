// Lines on their way to a stream. The lines of one turn of the event loop are written together, and under load the lines of several turns. While the
// stream is slow, the next piece grows, up to a limit. Lines above it are dropped and counted, so that a slow disk never fills the memory.

import type { Clock } from '../../base/clock.ts'

/** Node's timers replace a longer delay by 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** A target of lines: a `Writable`, `process.stdout`, a destination of pino, or anything else of this form. */
export interface LogStream {
  /** Returns false if it should be given nothing more until it emits `drain`. */
  write(text: string): unknown
  on?(event: 'drain' | 'error' | 'close', listener: (error?: Error) => void): unknown
}

/** Members that only some streams have. */
interface StreamDetails {
  readonly destroyed?: unknown
  readonly writableEnded?: unknown
  readonly writableLength?: unknown
  write(text: string, encoding: 'latin1' | 'utf8', onWritten: () => void): unknown
  flushSync?(): void
  flush?(onFlushed: (error?: unknown) => void): unknown
}

interface LineWriterOptions {
  readonly to: LogStream
  /** The most characters of lines that wait for the stream, with their ends. */
  readonly maxWaiting: number
  /** How long `finish` waits for the stream, in ms. */
  readonly finishMs: number
  /** Whether lines have only ASCII characters: then they are encoded faster. */
  readonly isAscii: boolean
  /** Called with how many lines were dropped since the last call: for the first one, then at most every ten seconds, and at the end. */
  readonly onDropped: (lines: number) => void
  /** Makes the line that is written where lines are missing; null: no such line is written. */
  readonly gapLine: ((lines: number) => string) | null
  /** Called with an error of the stream. */
  readonly onError: (error: Error) => void
  readonly clock: Clock
}

/** After this many lines in one turn of the event loop, more are likely in the next ones. A write costs as much CPU time as ten lines. */
const MANY = 8
/** A piece of this length is written without waiting for more lines. */
const ENOUGH = 64 * 1024
/** How many turns of the event loop, in which lines are added, a piece may wait. */
const MOST_TURNS = 8
const REPORT_EVERY_MS = 10_000

export class LineWriter {
  readonly #options: LineWriterOptions
  readonly #clock: Clock
  /** Whether it calls back when a piece has been written. Until then, the next piece grows, so that there are fewer of them. */
  readonly #hasCallback: boolean
  /** The lines that have not been passed to the stream, each with its end. */
  #waiting = ''
  #waitingLines = 0
  #isScheduled = false
  /** In how many turns of the event loop the waiting lines have been added so far, and how many there were at the end of the last one. */
  #turns = 0
  #seenLines = 0
  /** Whether the stream has not written the last piece, or has not drained yet. */
  #isFull = false
  /** Whether the stream has drained since the last piece, if it is a destination of pino, which drains after each one. */
  #isDrained = true
  /** Whether the stream has been closed: it will not accept anything again. */
  #isClosed = false
  #dropped = 0
  #unreported = 0
  /** How many lines are missing before the next piece. */
  #missing = 0
  #reportedAt = Number.NEGATIVE_INFINITY
  /** Called when the stream is ready again, or closed. */
  #onReady: (() => void) | null = null

  constructor(options: LineWriterOptions) {
    this.#options = options
    this.#clock = options.clock
    const { to } = options
    this.#hasCallback = isNodeStream(to)
    if (!this.#hasCallback)
      to.on?.('drain', () => {
        this.#isDrained = true
        this.#resume()
      })
    to.on?.('error', (error) => this.#fail(error ?? new Error('the stream failed')))
    to.on?.('close', () => this.#close())
  }

  /** How many lines were dropped, since the beginning. */
  get dropped(): number {
    return this.#dropped
  }

  /** @param line without its end */
  add(line: string): void {
    if (this.#isClosed || (this.#isFull && this.#waiting.length + line.length + 1 > this.#options.maxWaiting)) {
      this.#drop(1)
      return
    }
    this.#waiting += `${line}\n`
    this.#waitingLines++
    if (this.#isScheduled || this.#isFull) return
    this.#isScheduled = true
    queueMicrotask(this.#onTurn)
  }

  /** Writes, or waits for the next turn if this one has added many lines. */
  readonly #onTurn = (): void => {
    const added = this.#waitingLines - this.#seenLines
    if (added >= MANY && !this.#isFull && this.#waiting.length < ENOUGH && ++this.#turns < MOST_TURNS) {
      this.#seenLines = this.#waitingLines
      setImmediate(this.#onTurn)
      return
    }
    this.#isScheduled = false
    this.#turns = 0
    this.#seenLines = 0
    this.#write()
  }

  #write(): void {
    if (this.#waiting === '' || this.#isFull || this.#isClosed) return
    const { to, gapLine } = this.#options
    const text = gapLine === null || this.#missing === 0 ? this.#waiting : `${gapLine(this.#missing)}\n${this.#waiting}`
    const lines = this.#waitingLines
    this.#waiting = ''
    this.#waitingLines = 0
    if (isOver(to)) {
      this.#close()
      this.#drop(lines)
      return
    }
    this.#missing = 0
    try {
      this.#isFull = this.#hasCallback
      if (this.#hasCallback) (to as StreamDetails).write(text, this.#options.isAscii ? 'latin1' : 'utf8', this.#onWritten)
      else {
        this.#isDrained = false
        this.#isFull = to.write(text) === false
      }
    } catch (error) {
      this.#drop(lines)
      this.#options.onError(error as Error)
    }
  }

  readonly #onWritten = (): void => this.#resume()

  #resume(): void {
    this.#isFull = false
    this.#write()
    if (this.#isFull) return
    this.#report(false)
    this.#onReady?.()
  }

  #fail(error: Error): void {
    this.#options.onError(error)
    // Not every stream closes after an error, and one that does not may never drain.
    if (isOver(this.#options.to)) this.#close()
    else this.#resume()
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const lines = this.#waitingLines
    this.#waiting = ''
    this.#waitingLines = 0
    if (lines > 0) this.#drop(lines)
    this.#onReady?.()
  }

  #drop(lines: number): void {
    this.#dropped += lines
    this.#unreported += lines
    this.#missing += lines
    this.#report(false)
  }

  #report(isLast: boolean): void {
    if (this.#unreported === 0) return
    const now = this.#clock.now()
    if (!isLast && now - this.#reportedAt < REPORT_EVERY_MS) return
    this.#reportedAt = now
    const lines = this.#unreported
    this.#unreported = 0
    this.#options.onDropped(lines)
  }

  /** Writes what is left, and waits until the stream has passed it on, for a limited time. More lines may follow. */
  async finish(): Promise<void> {
    await atMost(this.#options.finishMs, this.#finish())
    this.#onReady = null
    this.#report(true)
  }

  async #finish(): Promise<void> {
    this.#write()
    if (this.#isFull && !this.#isClosed)
      await new Promise<void>((resolve) => {
        this.#onReady = resolve
      })
    const { to } = this.#options
    if (!this.#isClosed) await passedOn(to)
    // Without a minimum length, pino's flush does not wait for what is being written.
    if (!this.#isClosed && !this.#isDrained && isDestination(to))
      await new Promise<void>((resolve) => {
        this.#onReady = resolve
      })
  }
}

/** Whether it accepts nothing more. */
function isOver(to: LogStream): boolean {
  const { destroyed, writableEnded } = to as LogStream & StreamDetails
  return destroyed === true || writableEnded === true
}

/** Whether it is a `Writable` of Node. */
function isNodeStream(to: object): boolean {
  return typeof (to as StreamDetails).writableLength === 'number'
}

/** Whether it is a destination of pino. */
function isDestination(to: object): boolean {
  const { flush, flushSync } = to as StreamDetails
  return typeof flush === 'function' && typeof flushSync === 'function'
}

/** Waits for `promise`, but not longer than `ms`. */
export async function atMost(ms: number, promise: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS))
  })
  await Promise.race([promise, timeUp])
  clearTimeout(timer)
}

/** Resolves when what the stream was given has left the process, as far as it can say so. */
export function passedOn(to: object): Promise<void> {
  const stream = to as StreamDetails
  return new Promise((resolve) => {
    if (typeof stream.flush === 'function') stream.flush(() => resolve())
    else if (isNodeStream(to)) stream.write('', 'utf8', () => resolve())
    else resolve()
  })
}
