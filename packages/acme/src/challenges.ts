// What the CA asks for to see that the names lead here: a text at a path of port 80 (http-01), or a certificate of port 443 (tls-alpn-01).

import { createSecureContext, type SecureContext } from 'node:tls'

import type { Clock } from 'weirjs/kit'

import { challengedName, type Identifier } from './identifiers.ts'
import type { AcmeStore } from './store.ts'
import { challengeCertificate } from './x509.ts'

export type ChallengeType = 'http-01' | 'tls-alpn-01'

const PATH = '/.well-known/acme-challenge/'
const TOKEN = /^[\w-]{1,128}$/

/** Those of one order at a time: the lock of the store sees to it. */
export class Challenges {
  readonly #store: AcmeStore
  readonly #clock: Clock
  readonly #name: string
  readonly #texts = new Map<string, string>()
  readonly #contexts = new Map<string, SecureContext>()

  /** @param name of the texts in the store */
  constructor(store: AcmeStore, clock: Clock, name: string) {
    this.#store = store
    this.#clock = clock
    this.#name = name
  }

  /** From now on, the challenge is answered: over HTTP, by every process that shares the store. */
  async present(type: ChallengeType, identifier: Identifier, token: string, keyAuthorization: string): Promise<void> {
    if (!TOKEN.test(token)) throw new Error('the token of a challenge is malformed')
    if (type === 'tls-alpn-01') {
      const context = createSecureContext(challengeCertificate(identifier, keyAuthorization, this.#clock.wallTime()))
      this.#contexts.set(challengedName(identifier), context)
      return
    }
    this.#texts.set(token, keyAuthorization)
    await this.#store.set(this.#name, JSON.stringify(Object.fromEntries(this.#texts)))
  }

  /** Nothing is answered anymore, nor what a process has left that was killed. */
  async clear(): Promise<void> {
    this.#texts.clear()
    this.#contexts.clear()
    await this.#store.delete(this.#name)
  }

  /** What is at this path; null if nothing of ours is. */
  textAt(path: string): string | null | Promise<string | null> {
    if (!path.startsWith(PATH)) return null
    const token = path.slice(PATH.length)
    return this.#texts.get(token) ?? (TOKEN.test(token) ? this.#textOfOther(token) : null)
  }

  readonly contextFor = (serverName: string): SecureContext | null => this.#contexts.get(serverName.toLowerCase()) ?? null

  /** Another process may have the order. */
  async #textOfOther(token: string): Promise<string | null> {
    const texts = await this.#store.get(this.#name)
    const found = texts === null ? undefined : new Map<string, unknown>(Object.entries(JSON.parse(texts) as object)).get(token)
    return typeof found === 'string' ? found : null
  }
}
