// Which coding a client is given (RFC 9110 §12.5.3).

import { requireOptionalPackage } from '../base/packages.ts'

/** What stands for no coding in Accept-Encoding. */
const IDENTITY = 'identity'

export interface EncodingChoice {
  /** Codings that the client likes better than none, the best first. */
  readonly codings: readonly string[]
  /** Whether it would take the content without one. */
  readonly takesIdentity: boolean
}

interface NegotiatorClass {
  // What @types/negotiator has does not know `preferred`.
  new (request: {
    readonly headers: Readonly<Record<string, string>>
  }): {
    encodings(available: readonly string[], options: { readonly preferred: readonly string[] }): string[]
  }
}

/** Clients send few values; these are remembered, up to so many, and only if they are not longer. */
const MAX_REMEMBERED = 256
const MAX_REMEMBERED_LENGTH = 128
/** A longer field is none: `negotiator` would take 13 ms for 60 KB. Browsers send some 25 bytes. */
const MAX_LENGTH = 1024

/** Puts codings into the order in which a client likes them; those that it likes as well stay in the order in which they were given. */
export class EncodingChooser {
  readonly #Negotiator: NegotiatorClass
  readonly #preferred: readonly string[]
  readonly #remembered = new Map<string, EncodingChoice>()

  /**
   * @param codings those that there are, the best first
   * @throws WEIR_PACKAGE_MISSING
   */
  constructor(codings: readonly string[]) {
    this.#Negotiator = requireOptionalPackage<NegotiatorClass>('negotiator')
    this.#preferred = [...codings, IDENTITY]
  }

  /** @param accept the field, or null without one: then nothing is said about codings, and none is used. One above 1 KiB counts as none */
  choose(accept: string | null): EncodingChoice {
    if (accept === null || accept.length > MAX_LENGTH) return NO_CODING
    let choice = this.#remembered.get(accept)
    if (choice !== undefined) return choice
    choice = this.#negotiate(accept)
    if (accept.length > MAX_REMEMBERED_LENGTH) return choice
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
    this.#remembered.set(accept, choice)
    return choice
  }

  #negotiate(accept: string): EncodingChoice {
    const negotiator = new this.#Negotiator({ headers: { 'accept-encoding': accept } })
    const accepted = negotiator.encodings(this.#preferred, { preferred: this.#preferred })
    const identityAt = accepted.indexOf(IDENTITY)
    if (identityAt !== -1) return { codings: accepted.slice(0, identityAt), takesIdentity: true }
    return { codings: accepted, takesIdentity: accepted.length === 0 }
  }
}

const NO_CODING: EncodingChoice = { codings: [], takesIdentity: true }
