// Answers the challenges with which the CA checks that the names lead here: a text at a path on port 80 (http-01), or a certificate on port 443
// (tls-alpn-01).
//
// The CA may reach any of the processes that share a store, so the responses of one process are in the store. A process looks up a text when a
// request asks for it. A handshake cannot wait for that, so each process looks for certificates in advance, and the process that has the order
// gives the others time.

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

/** The responses of the current order, as the store keeps them. The lock makes sure that there is only one order. */
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
  /** The contexts of this process and of others, by their key authorizations. They are created on demand. */
  readonly #contexts = new Map<string, SecureContext>()

  /** @param name of the responses in the store */
  constructor(store: AcmeStore, clock: Clock, name: string) {
    this.#store = store
    this.#clock = clock
    this.#name = name
  }

  /** Reads the responses of other processes, until the signal aborts. */
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
    // Other processes use real time, whatever the test clock says.
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

  /** Waits until other processes have read the certificate of the challenge. */
  spread(signal: AbortSignal): Promise<void> {
    return pause(this.#clock, SPREAD_MS, signal)
  }

  /** This process no longer answers challenges. The responses in the store belong to another process. */
  forget(): void {
    this.#own = NOTHING
  }

  /** Removes all responses, even those of a process that was killed. */
  async clear(): Promise<void> {
    this.#own = NOTHING
    await this.#store.delete(this.#name)
  }

  /** The text at this path; null if there is none of ours. */
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
   * Requests share reads, because anyone may send any number of them, and each would hold a descriptor or a connection of the store. A read that
   * has already begun may be too early for a new request, so the request waits for the next read.
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
