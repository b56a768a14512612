// Accept-Encoding: which content codings a client prefers (RFC 9110 §12.5.3).

import { ownText } from '../base/own-text.ts'
import { MOST_ENCODING_LENGTH, qualityAmong } from './accept.ts'

interface EncodingChoice {
  /** Codings that the client prefers to none, the best first. */
  readonly codings: readonly string[]
  /** Whether the client accepts the content without a coding. */
  readonly takesIdentity: boolean
}

/** Clients send only a few different values. Up to this many are remembered, unless they are longer than `MAX_REMEMBERED_LENGTH`. */
const MAX_REMEMBERED = 256
const MAX_REMEMBERED_LENGTH = 128

const NO_CODING: EncodingChoice = { codings: [], takesIdentity: true }

/** Sorts codings by a client's preference. Codings that the client likes equally keep the order of `codings`. */
export class EncodingChooser {
  /**
   * The base64 of the SHA-256 of the dictionary that a client has (RFC 9842); null if it has none, or may not use it for this response.
   * @param request the `request` of a session
   */
  static availableDictionary(request: { header(name: string): string | null }): string | null {
    const available = /^:([A-Za-z\d+/]{43}=):$/.exec(request.header('available-dictionary') ?? '')?.[1]
    if (available === undefined) return null
    // A page that may not read the response could learn about its content from its length (RFC 9842 §9.3.3).
    const site = request.header('sec-fetch-site')
    return site === null || site === 'same-origin' || request.header('sec-fetch-mode') === 'navigate' ? available : null
  }

  readonly #codings: readonly string[]
  readonly #remembered = new Map<string, EncodingChoice>()

  /**
   * @param codings the available ones in lower case, the best first
   */
  constructor(codings: readonly string[]) {
    this.#codings = codings
  }

  /**
   * @param accept the value of the field. Null if there is none: then the client states no preference, and no coding is used. A value of
   *   more than 1 KiB is ignored
   */
  choose(accept: string | null): EncodingChoice {
    if (accept === null || accept.length > MOST_ENCODING_LENGTH) return NO_CODING
    let choice = this.#remembered.get(accept)
    if (choice !== undefined) return choice
    choice = choose(accept, this.#codings)
    if (accept.length > MAX_REMEMBERED_LENGTH) return choice
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
    this.#remembered.set(ownText(accept), choice)
    return choice
  }
}

function choose(accept: string, available: readonly string[]): EncodingChoice {
  // No coding is acceptable even if neither `identity` nor `*` is listed, but it is then the last choice.
  const identity = qualityAmong(accept, ['*', 'identity'])
  const qualities = new Map(available.map((coding) => [coding, qualityAmong(accept, ['*', coding]) ?? 0]))
  const codings = available
    .filter((coding) => qualities.get(coding)! > 0 && qualities.get(coding)! >= (identity ?? 0))
    .sort((one, other) => qualities.get(other)! - qualities.get(one)!)
  // A client that accepts nothing at all gets the content as it is.
  return { codings, takesIdentity: identity !== 0 || codings.length === 0 }
}
