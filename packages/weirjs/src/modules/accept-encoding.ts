// Chooses the content coding for a client (RFC 9110 §12.5.3).

import { ownText } from '../base/own-text.ts'
import { requirePackage } from '../base/packages.ts'

/** The name in Accept-Encoding that means no coding. */
const IDENTITY = 'identity'

export interface EncodingChoice {
  /** Codings that the client prefers to none, the best first. */
  readonly codings: readonly string[]
  /** Whether the client accepts the content without a coding. */
  readonly takesIdentity: boolean
}

interface NegotiatorClass {
  // @types/negotiator does not declare `preferred`.
  new (request: {
    readonly headers: Readonly<Record<string, string>>
  }): {
    encodings(available: readonly string[], options: { readonly preferred: readonly string[] }): string[]
  }
}

/** Clients send only a few different values. Up to this many are remembered, unless they are longer than `MAX_REMEMBERED_LENGTH`. */
const MAX_REMEMBERED = 256
const MAX_REMEMBERED_LENGTH = 128
/** A longer field is ignored: `negotiator` would take 13 ms for 60 KB. Browsers send some 25 bytes. */
const MAX_LENGTH = 1024

/** Sorts codings by a client's preference. Codings that the client likes equally keep the order of `codings`. */
export class EncodingChooser {
  readonly #Negotiator: NegotiatorClass
  readonly #preferred: readonly string[]
  readonly #remembered = new Map<string, EncodingChoice>()

  /**
   * @param codings the available ones, the best first
   */
  constructor(codings: readonly string[]) {
    this.#Negotiator = requirePackage<NegotiatorClass>('negotiator')
    this.#preferred = [...codings, IDENTITY]
  }

  /**
   * @param accept the value of the field. Null if there is none: then the client states no preference, and no coding is used. A value of
   *   more than 1 KiB is ignored
   */
  choose(accept: string | null): EncodingChoice {
    if (accept === null || accept.length > MAX_LENGTH) return NO_CODING
    let choice = this.#remembered.get(accept)
    if (choice !== undefined) return choice
    choice = this.#negotiate(accept)
    if (accept.length > MAX_REMEMBERED_LENGTH) return choice
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
    this.#remembered.set(ownText(accept), choice)
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
