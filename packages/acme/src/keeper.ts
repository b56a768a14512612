// Keeps one certificate valid: uses the certificate in the store, renews it in time, and tries again later if that fails.

import { randomUUID } from 'node:crypto'

import type { Logger } from 'weirjs'
import { type Clock, isInstance } from 'weirjs/kit'

import { type CaClient, printable, retryAfterOf } from './ca-client.ts'
import type { Challenges, ChallengeType } from './challenges.ts'
import type { Identifier } from './identifiers.ts'
import { obtain } from './order.ts'
import { pause } from './pause.ts'
import { RenewalTime, usualTime } from './renewal.ts'
import type { AcmeStore } from './store.ts'
import { StoredCertificate } from './stored-certificate.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** Another process may have renewed the certificate. */
const LOOK_MS = HOUR_MS
/** While another process has the order. */
const WAIT_FOR_OTHER_MS = 10 * SECOND_MS
const LOCK_MS = 2 * MINUTE_MS
const LONGEST_ATTEMPT_MS = 10 * MINUTE_MS
const FIRST_DELAY_MS = MINUTE_MS
const LONGEST_DELAY_MS = 12 * HOUR_MS
/** A CA with weekly limits may state such a time. */
const LONGEST_RETRY_AFTER_MS = 7 * DAY_MS
/** The clock of a CA may be ahead by so much. */
const CLOCK_SLACK_MS = 5 * MINUTE_MS
/** When this part of the lifetime is left, renewals have failed for a sixth of it. */
const LATE = 1 / 6

interface KeeperOptions {
  readonly identifiers: readonly Identifier[]
  readonly profile: string | null
  readonly store: AcmeStore
  /** The name of the certificate in the store. */
  readonly name: string
  readonly lockName: string
  readonly challenges: Challenges
  readonly clock: Clock
  readonly client: () => Promise<CaClient>
  readonly onChange: () => void
}

/** What one start of the server adds. */
interface KeeperRun {
  readonly types: readonly ChallengeType[]
  readonly logger: Logger | null
  readonly signal: AbortSignal
}

export class Keeper {
  readonly #options: KeeperOptions
  readonly #clock: Clock
  readonly #label: string
  readonly #owner = randomUUID()
  readonly #renewal: RenewalTime
  #current: StoredCertificate | null = null
  /** Failed attempts since the last success. */
  #failures = 0
  #allFailures = 0
  #lastError: string | null = null
  /** By the wall clock. */
  #nextAttemptAt = 0
  /** When that was decided. */
  #decidedAt = 0
  #renewAt: number | null = null
  /** The last explanation that was reported. */
  #explanation: string | null = null
  #storeTrouble: string | null = null
  #logger: Logger | null = null
  /** Starts run one after the other, because the lock does not distinguish two starts of the same server. */
  #running: Promise<void> = Promise.resolve()

  constructor(options: KeeperOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#renewal = new RenewalTime(options.clock)
    this.#label = `the certificate of ${options.identifiers.map(({ value }) => value).join(', ')}`
  }

  get identifiers(): readonly Identifier[] {
    return this.#options.identifiers
  }

  get current(): StoredCertificate | null {
    return this.#current
  }

  get failures(): number {
    return this.#allFailures
  }

  get lastError(): string | null {
    return this.#lastError
  }

  /** Milliseconds since 1970; null if that is not known. */
  get renewAt(): number | null {
    return this.#renewAt
  }

  /** With a fraction; negative when it has expired. Null without a certificate. */
  get daysLeft(): number | null {
    return this.#current === null ? null : (this.#current.notAfter - this.#clock.wallTime()) / DAY_MS
  }

  /** Why a person should look at it; null if all is well. */
  get trouble(): string | null {
    const { daysLeft } = this
    const because = this.#lastError === null ? '' : `: ${this.#lastError}`
    if (this.#current === null || daysLeft === null)
      return `there is no certificate for ${this.#options.identifiers[0]!.value} yet${because}`
    if (!this.#isRight) return `there is no ${this.#label.replace(/^the /, '')} yet, but one for other names${because}`
    if (daysLeft <= 0) return `${this.#label} has expired${because}`
    return daysLeft * DAY_MS < this.#current.lifeMs * LATE
      ? `${this.#label} is valid for ${inDays(daysLeft)} and has not been renewed${because}`
      : null
  }

  /** Reads the certificate in the store. @returns whether it has changed @throws (rejects) what the store throws */
  async load(): Promise<boolean> {
    const { store, name } = this.#options
    const pem = await store.get(name)
    if (pem === null || pem === this.#current?.pem) return false
    try {
      this.#take(StoredCertificate.parse(pem))
      return true
    } catch (error) {
      this.#warn(`in the store cannot be used, and is replaced: ${messageOf(error)}`)
      return false
    }
  }

  /** Reads a certificate that another process has stored. */
  async #look(): Promise<void> {
    if (!(await this.load())) return
    this.#failures = 0
    this.#lastError = null
    this.#rest(this.#current!)
  }

  /** Never rejects, because failures are tried again. Resolves when the signal has aborted and running work has been cleaned up. */
  run(run: KeeperRun): Promise<void> {
    this.#running = this.#running.then(() => this.#run(run))
    return this.#running
  }

  async #run(run: KeeperRun): Promise<void> {
    const { signal } = run
    if (signal.aborted) return
    this.#logger = run.logger
    if (this.#current !== null) run.logger?.info?.(`weir: ${this.#label} is used from the store, ${this.#validity}`)
    while (!signal.aborted) {
      try {
        await pause(this.#clock, await this.#turn(run), signal)
      } catch (error) {
        if (signal.aborted) return
        this.#fail(error)
        await pause(this.#clock, this.#untilNext(), signal).catch(() => {})
      }
    }
  }

  /** @returns after how many milliseconds there is something to do */
  async #turn(run: KeeperRun): Promise<number> {
    const failure = await this.#look().then(
      () => null,
      (error: unknown) => ({ error }),
    )
    const { signal } = run
    if (this.#current !== null) {
      // While the store does not reply, the CA is not asked, because the key is in the store.
      const client = await this.#options.client().catch(() => null)
      this.#renewAt = this.#isRight ? await this.#renewal.of(this.#current, client, signal) : this.#clock.wallTime()
      this.#tellExplanation()
      const wait = this.#renewAt - this.#clock.wallTime()
      if (wait > 0) {
        this.#tellStore(failure?.error ?? null)
        return Math.min(wait, LOOK_MS, this.#current.lifeMs / 24)
      }
    }
    if (failure !== null) throw failure.error
    const early = this.#untilNext()
    if (early > 0) return Math.min(early, LOOK_MS)
    return this.#attempt(run)
  }

  /** Whether there is a certificate for exactly the configured names. */
  get #isRight(): boolean {
    return this.#current?.isFor(this.#options.identifiers) === true
  }

  /** Until an attempt is due, an unavailable store only keeps this process from seeing the certificates of others. */
  #tellStore(error: unknown): void {
    const trouble = error === null ? null : messageOf(error)
    if (trouble !== null && this.#storeTrouble === null) this.#warn(`is used as it is, because the store cannot be read: ${trouble}`)
    this.#storeTrouble = trouble
  }

  /** The CA asks clients to show it (RFC 9773 §4.2). */
  #tellExplanation(): void {
    const { explanation } = this.#renewal
    if (explanation === this.#explanation) return
    this.#explanation = explanation
    if (explanation !== null) this.#logger?.info?.(`weir: the CA explains when ${this.#label} is to be renewed: ${explanation}`)
  }

  #untilNext(): number {
    const now = this.#clock.wallTime()
    // If the clock was ahead and has been corrected, the elapsed time is not known.
    return now < this.#decidedAt ? 0 : Math.max(0, this.#nextAttemptAt - now)
  }

  #waitFor(ms: number): void {
    this.#decidedAt = this.#clock.wallTime()
    this.#nextAttemptAt = this.#decidedAt + ms
  }

  async #attempt(run: KeeperRun): Promise<number> {
    const { store, lockName } = this.#options
    if (!(await store.lock(lockName, this.#owner, LOCK_MS))) return WAIT_FOR_OTHER_MS
    const lost = new AbortController()
    const keepLock = this.#clock.every(LOCK_MS / 4, () => {
      store.lock(lockName, this.#owner, LOCK_MS).then(
        (isHeld) => {
          if (!isHeld) lost.abort(new Error('another process has taken over the order, because this one stood still'))
        },
        () => {}, // the next time may reach it
      )
    })
    try {
      const before = this.#current
      await this.#look()
      if (this.#current !== before) return 0 // another process has renewed it
      await this.#renew(run, lost.signal)
      return 0
    } finally {
      keepLock()
      await store.unlock(lockName, this.#owner).catch(() => {}) // its time ends
    }
  }

  async #renew({ types, signal }: KeeperRun, lost: AbortSignal): Promise<void> {
    const { identifiers, profile, store, name, challenges } = this.#options
    const ending = new AbortController()
    const stopTimer = this.#clock.every(LONGEST_ATTEMPT_MS, () =>
      ending.abort(new Error(`it took longer than ${LONGEST_ATTEMPT_MS / MINUTE_MS} minutes`)),
    )
    try {
      const client = await this.#options.client()
      const pendingName = `${name}.order`
      const replaces = this.#isRight ? this.#current!.renewalId : null
      // A kind of challenge that has failed is not tried first again: a proxy may let only one kind through.
      const turned = [...types.slice(this.#failures % types.length), ...types.slice(0, this.#failures % types.length)]
      const context = { client, challenges, store, clock: this.#clock, pendingName, lost }
      const wanted = { identifiers, profile, replaces, types: turned }
      const certificate = await obtain(context, wanted, AbortSignal.any([signal, ending.signal, lost]))
      await store.set(name, certificate.pem)
      await store.delete(pendingName)
      this.#failures = 0
      this.#lastError = null
      this.#take(certificate)
      this.#logger?.info?.(`weir: ${this.#label} is new, ${this.#validity}`)
      this.#rest(certificate)
      const age = this.#clock.wallTime() - certificate.notBefore
      if (age < -CLOCK_SLACK_MS || age > certificate.lifeMs / 2) this.#warn('is not new by the clock of this machine, which may be wrong')
    } finally {
      stopTimer()
    }
  }

  #take(certificate: StoredCertificate): void {
    this.#current = certificate
    this.#renewAt = usualTime(certificate)
    this.#options.onChange()
  }

  /**
   * Prevents a loop if a new certificate seems to be due immediately: because the clock of this machine is wrong, because the CA suggests a time in
   * the past, or because two programs with one store want different names.
   */
  #rest({ lifeMs }: StoredCertificate): void {
    this.#waitFor(Math.min(DAY_MS, lifeMs / 24))
  }

  #fail(error: unknown): void {
    this.#failures++
    this.#allFailures++
    const message = messageOf(error)
    this.#lastError = message
    const asked = retryAfterOf(error) ?? 0
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(this.#failures - 1, 16))
    // Spreads the attempts of servers that had the same outage.
    const wait = Math.max(delay * (0.75 + Math.random() / 2), Math.min(asked, LONGEST_RETRY_AFTER_MS))
    this.#waitFor(wait)
    const state = this.#current === null ? 'there is none yet' : this.#validity
    this.#warn(
      `could not be ${this.#current === null ? 'obtained' : 'renewed'}, ${state}; next attempt ${dateOf(this.#nextAttemptAt)}: ${message}`,
    )
  }

  get #validity(): string {
    const { daysLeft } = this
    if (this.#current === null || daysLeft === null) return 'there is none'
    const date = dateOf(this.#current.notAfter)
    return daysLeft > 0 ? `valid until ${date} (${inDays(daysLeft)})` : `expired ${date}`
  }

  #warn(text: string): void {
    const message = `weir: ${this.#label} ${text}`
    if (this.#logger === null) return
    if (this.#logger.warn === undefined) this.#logger.error(message)
    else this.#logger.warn(message)
  }
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

function inDays(days: number): string {
  if (days >= 2) return `${Math.floor(days)} days`
  const hours = Math.max(0, Math.floor(days * 24))
  return `${hours} ${hours === 1 ? 'hour' : 'hours'}`
}

function messageOf(error: unknown): string {
  return printable(isInstance(error, Error) ? error.message : String(error))
}
