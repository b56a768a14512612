// Commands to Redis that fail soon when Redis does not answer. The timeouts of the clients do not help: they end when a command has been
// written, and a client that has lost its connection keeps commands until it has a new one.

import { WeirError } from 'weirjs'
import type { Clock } from 'weirjs/kit'
import { FairQueue, isInstance, systemClock } from 'weirjs/kit'
import { type RedisClient, type SendCommand, senderOf } from './redis-client.ts'
import type { RedisScript } from './redis-script.ts'
import { withoutArguments } from './without-arguments.ts'

interface RedisAccessOptions {
  /** Milliseconds that Redis has for each command. Default 100. */
  readonly timeoutMs?: number | undefined
  /** Milliseconds for which Redis gets no commands after 5 failures in a row. Default 5,000. */
  readonly pauseMs?: number | undefined
  /** Called when Redis gets no more commands because the last ones have failed, and when it gets them again. */
  readonly onChange?: ((isDegraded: boolean, error: unknown) => void) | undefined
  /** For tests. Default: the system's clock. */
  readonly clock?: Clock | undefined
}

const DEFAULT_TIMEOUT_MS = 100
const DEFAULT_PAUSE_MS = 5_000
/** Failures in a row after which Redis gets no commands for `pauseMs`. */
const MOST_FAILURES = 5

/** A timer that fires later than this multiple of its time shows that the process was busy. */
const LATE = 1.25
/** Late timers after which a command fails anyway, because a process may be busy forever. */
const MOST_LATE = 4

/**
 * Commands that end in one turn of the event loop. A request goes on after each, and thousands may end at once: their replies come in one read,
 * or Redis is silent for all of them.
 */
const ENDED_PER_TURN = 128
const turns = FairQueue.turns(ENDED_PER_TURN)

/** How many undoing scripts may be in the queue of the client, which keeps them while Redis is silent, also after their timeout. */
const MOST_UNDOING = 1_000

/** `open`: commands are sent. `paused`: none are. `probing`: one is, to find out whether Redis answers again. */
type State = 'open' | 'paused' | 'probing'

/**
 * Sends commands, each with one key or with keys of one slot, so that they work in a cluster. A command fails after `timeoutMs`, or, while the
 * process is too busy to hear Redis, after up to four times as long as it was busy; Redis may still run it later. After 5 failures in a row,
 * commands fail immediately for `pauseMs`, including those in flight. After that, the next command or the next read of `isDegraded` probes Redis in
 * the background, so that no command waits for a silent Redis.
 */
export class RedisAccess {
  readonly timeoutMs: number
  readonly #pauseMs: number
  readonly #clock: Clock
  readonly #send: SendCommand
  readonly #onChange: ((isDegraded: boolean, error: unknown) => void) | undefined
  readonly #inFlight = new Set<(why: string, cause?: unknown) => void>()
  #state: State = 'open'
  #failures = 0
  /** Undoing scripts that the client has not settled. */
  #undoing = 0
  #pausedAt = 0
  #probeKey = ''
  #lastError: unknown = null

  /** @param owner whose client it is, for messages: `redisStore()` @throws WEIR_OPTION_INVALID */
  constructor(
    owner: string,
    client: RedisClient,
    { timeoutMs = DEFAULT_TIMEOUT_MS, pauseMs = DEFAULT_PAUSE_MS, onChange, clock = systemClock }: RedisAccessOptions = {},
  ) {
    this.#send = senderOf(owner, client)
    this.#onChange = onChange
    this.timeoutMs = timeoutMs
    this.#pauseMs = pauseMs
    this.#clock = clock
  }

  /** Whether Redis gets no commands because the last ones have failed. For readiness checks. */
  get isDegraded(): boolean {
    this.#probeIfDue()
    return this.#state !== 'open'
  }

  /** Why the last command failed; null while commands succeed. */
  get lastError(): unknown {
    return this.#lastError
  }

  /** Runs a command. @throws (rejects) WEIR_STORE_UNAVAILABLE, with the client's error as its cause */
  run(name: string, key: string, ...rest: string[]): Promise<unknown> {
    return this.#guarded(key, () => this.#send([name, key, ...rest], 1))
  }

  /** Runs a script with one key. Both attempts together have `timeoutMs`. @throws (rejects) WEIR_STORE_UNAVAILABLE */
  runScript(script: RedisScript, key: string, ...args: string[]): Promise<unknown> {
    return this.runScriptWith(script, [key], ...args)
  }

  /** The same with several keys, which are in one slot. */
  runScriptWith(script: RedisScript, keys: readonly [string, ...string[]], ...args: string[]): Promise<unknown> {
    return this.#guarded(keys[0], () => this.#sendScript(script, keys, args))
  }

  /**
   * Like `runScript`, but also while Redis gets no commands: for a script that undoes what an earlier command may still do, which Redis reads
   * first. Its failure does not count. Fails at once while Redis has not replied to 1,000 of them.
   */
  undoWith(script: RedisScript, key: string, ...args: string[]): Promise<unknown> {
    if (this.#undoing >= MOST_UNDOING)
      return Promise.reject(unavailable(`it has not replied to ${MOST_UNDOING} that undo`, this.#lastError))
    this.#undoing++
    return this.#timed(() =>
      this.#sendScript(script, [key], args).finally(() => {
        this.#undoing--
      }),
    )
  }

  async #sendScript(script: RedisScript, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args] as const
    try {
      return await this.#send(['EVALSHA', script.sha1, ...rest], 3)
    } catch (error) {
      if (!isReply(error, 'NOSCRIPT')) throw error // Redis was restarted, or another node of the cluster has the key now
      return this.#send(['EVAL', script.source, ...rest], 3)
    }
  }

  #guarded(key: string, send: () => Promise<unknown>): Promise<unknown> {
    this.#probeIfDue()
    if (this.#state !== 'open') return Promise.reject(unavailable(`it gets no commands for ${this.#pauseMs} ms`, this.#lastError))
    this.#probeKey = key
    return this.#timed(send).then(
      (reply) => {
        this.#failures = 0
        this.#lastError = null
        return reply
      },
      (error: unknown) => {
        if (this.#state === 'open') this.#countFailure(error)
        throw error
      },
    )
  }

  /** The reply, or WEIR_STORE_UNAVAILABLE. */
  #timed(send: () => Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      // The error is made in the turn in which the command ends.
      const fail = (why: string, cause?: unknown): void => end(() => reject(unavailable(why, cause)))
      const end = (settle: () => void): void => {
        if (!this.#inFlight.delete(fail)) return
        stopTimer()
        const turn = turns.take('', 1)
        if (turn === null) settle()
        else void turn.then(settle)
      }
      let last = this.#clock.now()
      let late = 0
      const stopTimer = this.#clock.every(this.timeoutMs, () => {
        const now = this.#clock.now()
        const isLate = now - last > this.timeoutMs * LATE
        last = now
        // A busy process may have sent the command only now, so the delay says nothing about Redis.
        if (isLate && ++late < MOST_LATE) return
        stopTimer()
        // If the process was busy, the reply may be there already: it is read before this runs.
        setImmediate(fail, `no reply within ${this.timeoutMs} ms`)
      })
      this.#inFlight.add(fail)
      inPromise(send).then(
        (reply) => end(() => resolve(reply)),
        (error: unknown) => {
          const shown = withoutArguments(error)
          fail(describe(shown), shown)
        },
      )
    })
  }

  #tell(isDegraded: boolean, error: unknown): void {
    try {
      this.#onChange?.(isDegraded, error)
    } catch (failure) {
      process.emitWarning(failure as Error) // an error of the program's function must end neither the process nor the current request
    }
  }

  #countFailure(error: unknown): void {
    this.#lastError = error
    if (++this.#failures < MOST_FAILURES) return
    this.#pause()
    this.#tell(true, error)
  }

  #pause(): void {
    this.#state = 'paused'
    this.#pausedAt = this.#clock.now()
    const waiting = [...this.#inFlight]
    for (const fail of waiting) fail(`it gets no commands for ${this.#pauseMs} ms`, this.#lastError)
  }

  #probeIfDue(): void {
    if (this.#state !== 'paused' || this.#clock.now() - this.#pausedAt < this.#pauseMs) return
    this.#state = 'probing'
    const send = (): Promise<unknown> => this.#send(['EXISTS', this.#probeKey], 1)
    this.#timed(send).then(
      () => this.#reopen(),
      // A refusal counts as a reply: the user of Redis may lack the right to run this command.
      (error: WeirError) => (isReply(error.cause, 'NOPERM') ? this.#reopen() : this.#failProbe(error)),
    )
  }

  #reopen(): void {
    this.#state = 'open'
    this.#failures = 0
    this.#lastError = null
    this.#tell(false, null)
  }

  #failProbe(error: unknown): void {
    this.#lastError = error
    this.#pause()
  }
}

function unavailable(why: string, cause?: unknown): WeirError {
  return new WeirError('WEIR_STORE_UNAVAILABLE', `Redis: ${why}`, { cause })
}

/** A client that is closed may throw instead of rejecting. */
async function inPromise(send: () => Promise<unknown>): Promise<unknown> {
  return await send()
}

function isReply(error: unknown, code: string): boolean {
  return isInstance(error, Error) && error.message.startsWith(code)
}

function describe(error: unknown): string {
  if (!isInstance(error, Error)) return 'the command failed'
  // The package `redis` does not distinguish a client that was never connected from one that was closed.
  return error.constructor.name === 'ClientClosedError' ? `${error.message} (connect() opens it)` : error.message
}
