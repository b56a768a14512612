// What the CA asks for to see that the names lead here: a text at a path of port 80 (http-01), or a certificate of port 443 (tls-alpn-01).
//
// The CA may reach any of the processes that share a store, so what one of them presents is in the store. A process looks it up when it is asked
// for a text. A handshake cannot wait for that, so for certificates each process looks in advance, and the process that has the order gives them time.

import { createSecureContext, type SecureContext } from 'node:tls'

import { type Clock, systemClock } from 'weirjs/kit'

import { challengedName, type Identifier } from './identifiers.ts'
import { pause } from './pause.ts'
import type { AcmeStore } from './store.ts'
import { challengeCertificate } from './x509.ts'

export type ChallengeType = 'http-01' | 'tls-alpn-01'

const PATH = '/.well-known/acme-challenge/'
const TOKEN = /^[\w-]{1,128}$/
/** How often a process looks for certificates that another one presents. */
const LOOK_MS = 2_000
/** Time for each process to look twice. */
const SPREAD_MS = 5_000

/** The state of one order at a time, as the store keeps it: the lock sees to it that there is one. */
interface Presented {
  /** By their tokens. */
  readonly texts: Record<string, string>
  /** By the server names of their handshakes. */
  readonly certificates: Record<string, { readonly identifier: Identifier; readonly keyAuthorization: string }>
}

const NOTHING: Presented = { texts: {}, certificates: {} }

export class Challenges {
  readonly #store: AcmeStore
  readonly #clock: Clock
  readonly #name: string
  #own = NOTHING
  /** What the store had at the last look. */
  #others = NOTHING
  /** For requests: the read that runs, and the read that begins after it. */
  #reading: Promise<unknown> = Promise.resolve()
  #next: Promise<Presented> | null = null
  /** Of this process and of others, made when they are asked for, by their key authorizations. */
  readonly #contexts = new Map<string, SecureContext>()

  /** @param name of what is presented, in the store */
  constructor(store: AcmeStore, clock: Clock, name: string) {
    this.#store = store
    this.#clock = clock
    this.#name = name
  }

  /** Takes what another process presents, until the signal aborts. */
  watch(signal: AbortSignal): void {
    let isLooking = false
    const look = (): void => {
      if (isLooking) return
      isLooking = true
      this.#read()
        .then(
          (presented) => {
            this.#others = presented
            if (Object.keys({ ...presented.certificates, ...this.#own.certificates }).length === 0) this.#contexts.clear()
          },
          () => {}, // an order of another process then fails here, and is tried again
        )
        .finally(() => (isLooking = false))
    }
    // What others do takes real time, whatever the clock of a test says.
    const stop = systemClock.every(LOOK_MS, look)
    signal.addEventListener('abort', stop, { once: true })
    look()
  }

  /** From now on, the challenge is answered by every process that shares the store, over TLS once `spread` has waited. */
  async present(type: ChallengeType, identifier: Identifier, token: string, keyAuthorization: string): Promise<void> {
    if (!TOKEN.test(token)) throw new Error('the token of a challenge is malformed')
    const { texts, certificates } = this.#own
    this.#own =
      type === 'http-01'
        ? { texts: { ...texts, [token]: keyAuthorization }, certificates }
        : { texts, certificates: { ...certificates, [challengedName(identifier)]: { identifier, keyAuthorization } } }
    await this.#store.set(this.#name, JSON.stringify(this.#own))
  }

  /** Waits until other processes have seen what is presented over TLS. */
  spread(signal: AbortSignal): Promise<void> {
    return pause(this.#clock, SPREAD_MS, signal)
  }

  /** This process presents nothing any more. What the store has belongs to another. */
  forget(): void {
    this.#own = NOTHING
  }

  /** Nothing is answered anymore, nor what a process has left that was killed. */
  async clear(): Promise<void> {
    this.#own = NOTHING
    await this.#store.delete(this.#name)
  }

  /** What is at this path; null if nothing of ours is. */
  textAt(path: string): string | null | Promise<string | null> {
    if (!path.startsWith(PATH)) return null
    const token = path.slice(PATH.length)
    if (!TOKEN.test(token)) return null
    return textIn(this.#own, token) ?? this.#readNext().then((presented) => textIn(presented, token))
  }

  readonly contextFor = (serverName: string): SecureContext | null => {
    const name = serverName.toLowerCase()
    const place = [this.#own, this.#others].find(({ certificates }) => Object.hasOwn(certificates, name))
    if (place === undefined) return null
    const { identifier, keyAuthorization } = place.certificates[name]!
    let context = this.#contexts.get(keyAuthorization)
    if (context === undefined) {
      context = createSecureContext(challengeCertificate(identifier, keyAuthorization, this.#clock.wallTime()))
      this.#contexts.set(keyAuthorization, context)
    }
    return context
  }

  /**
   * Requests share reads, because anyone may send any number of them, and each would hold a descriptor or a connection of the store. A read that has
   * begun may be too early for who comes now, so they wait for the next one.
   */
  #readNext(): Promise<Presented> {
    this.#next ??= this.#reading.then(() => {
      this.#next = null
      const presented = this.#read()
      this.#reading = presented.catch(() => {})
      return presented
    })
    return this.#next
  }

  async #read(): Promise<Presented> {
    const text = await this.#store.get(this.#name)
    if (text === null) return NOTHING
    const { texts = {}, certificates = {} } = JSON.parse(text) as Partial<Presented>
    return { texts, certificates }
  }
}

function textIn({ texts }: Presented, token: string): string | null {
  return Object.hasOwn(texts, token) ? texts[token]! : null
}
