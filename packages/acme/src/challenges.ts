// What the CA asks for to see that the names lead here: a text at a path of port 80 (http-01), or a certificate of port 443 (tls-alpn-01).

import { createSecureContext, type SecureContext } from 'node:tls'

import type { Clock } from 'weirjs/kit'

import { challengedName, type Identifier } from './identifiers.ts'
import type { AcmeStore } from './store.ts'
import { challengeCertificate } from './x509.ts'

export type ChallengeType = 'http-01' | 'tls-alpn-01'

const PATH = '/.well-known/acme-challenge/'
const TOKEN = /^[\w-]{1,128}$/

export class Challenges {
  readonly #store: AcmeStore
  readonly #clock: Clock
  readonly #texts = new Map<string, string>()
  readonly #contexts = new Map<string, SecureContext>()

  constructor(store: AcmeStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** From now on, the challenge is answered: over HTTP, by every process that shares the store. @returns ends that */
  async present(type: ChallengeType, identifier: Identifier, token: string, keyAuthorization: string): Promise<() => Promise<void>> {
    if (!TOKEN.test(token)) throw new Error('the token of a challenge is malformed')
    if (type === 'tls-alpn-01') {
      const name = challengedName(identifier)
      this.#contexts.set(name, createSecureContext(challengeCertificate(identifier, keyAuthorization, this.#clock.wallTime())))
      return async () => void this.#contexts.delete(name)
    }
    this.#texts.set(token, keyAuthorization)
    await this.#store.set(keyFor(token), keyAuthorization)
    return async () => {
      this.#texts.delete(token)
      await this.#store.delete(keyFor(token))
    }
  }

  /** What is at this path; null if nothing of ours is. */
  textAt(path: string): string | null | Promise<string | null> {
    if (!path.startsWith(PATH)) return null
    const token = path.slice(PATH.length)
    return this.#texts.get(token) ?? (TOKEN.test(token) ? this.#store.get(keyFor(token)) : null)
  }

  readonly contextFor = (serverName: string): SecureContext | null => this.#contexts.get(serverName.toLowerCase()) ?? null
}

function keyFor(token: string): string {
  return `token-${token}`
}
