// The fields that follow the body of a response (RFC 9110 §6.5): values, and functions that are called when the body has been read to its end.

import { AsyncResource } from 'node:async_hooks'
import { isFieldValue, isToken } from '../../base/ascii.ts'
import { unsendableField, WeirError } from '../../base/errors.ts'
import { mayBeTrailer } from '../../base/trailer-names.ts'
import { OF_THE_BYTES } from './field-list.ts'

/** What a trailer function returns. For null the field is left out. */
type TrailerValue = string | number | null

/** The value of a trailer, or the function that computes it when the body is complete. */
export type TrailerSource = string | number | (() => TrailerValue | PromiseLike<TrailerValue>)

interface Trailer {
  readonly name: string
  readonly value: string | (() => TrailerValue | PromiseLike<TrailerValue>)
}

export class ResponseTrailers {
  #trailers: Trailer[] = []
  #unannounced: (() => readonly string[]) | null = null
  #dropsDigests = false

  /** Replaces the trailer of that name. @throws WEIR_RESPONSE_HEADER_SYNTAX */
  set(name: string, value: TrailerSource): void {
    if (typeof name !== 'string' || !isToken(name)) throw unsendableField(name, value)
    if (!mayBeTrailer(name)) throw new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', `${name} may not follow a body: set it with header()`)
    this.drop(name)
    // The response is sent by the events of a socket, but the function must see the AsyncLocalStorage of the code that passed it in.
    this.#trailers.push({ name, value: typeof value === 'function' ? AsyncResource.bind(value) : textOf(name, value) })
  }

  /**
   * Fields that were not announced. Over HTTP/1.1, they are sent to clients that have not asked for trailers, too, as Node does.
   * @param fields returns name, value, name, value when the body is complete; what may not follow a body is left out
   */
  setUnannounced(fields: () => readonly string[]): void {
    this.#unannounced = fields
  }

  /** Whether only a client that has asked for trailers receives them. */
  get mustBeAsked(): boolean {
    return this.#unannounced === null
  }

  drop(name: string): void {
    const wanted = name.toLowerCase()
    this.#trailers = this.#trailers.filter((trailer) => trailer.name.toLowerCase() !== wanted)
  }

  /** The body has another content coding now: digests of its bytes are wrong. */
  dropDigests(): void {
    for (const name of OF_THE_BYTES) this.drop(name)
    this.#dropsDigests = true
  }

  /** Whether an unannounced field of that name is left out: another has been announced, or it is wrong. */
  #isKnown(name: string): boolean {
    const isIt = (one: string): boolean => one.toLowerCase() === name.toLowerCase()
    return this.#trailers.some((one) => isIt(one.name)) || (this.#dropsDigests && OF_THE_BYTES.some(isIt))
  }

  get isEmpty(): boolean {
    return this.#trailers.length === 0 && this.#unannounced === null
  }

  /** Whether the head announces some. Others may follow in any case: see `areUnannounced`. */
  get areAnnounced(): boolean {
    return this.#trailers.length > 0
  }

  /** Whether there are unannounced ones. Ask when the body is complete: code that keeps the response without them would later send an incomplete one. */
  get areUnannounced(): boolean {
    return (this.#unannounced?.() ?? []).length > 0
  }

  /** The value of the field that announces them (RFC 9110 §6.6.2). */
  get names(): string {
    return this.#trailers.map(({ name }) => name).join(', ')
  }

  /** Whether no value has to be waited for, so that `collectKnown` has them all. */
  get areKnown(): boolean {
    return this.#trailers.every(({ value }) => typeof value === 'string')
  }

  /**
   * The values, if `areKnown`.
   * @returns name, value, name, value
   * @throws what the function of the unannounced ones throws; WEIR_RESPONSE_HEADER_SYNTAX for a value that cannot be sent
   */
  collectKnown(): string[] {
    return this.#withUnannounced(this.#trailers.flatMap(({ name, value }) => [name, value as string]))
  }

  /**
   * Computes the values, one after the other.
   * @returns name, value, name, value
   * @throws (rejects) what a function throws; WEIR_RESPONSE_HEADER_SYNTAX for a value that cannot be sent
   */
  async collect(): Promise<string[]> {
    const fields: string[] = []
    for (const { name, value } of this.#trailers) {
      const known = typeof value === 'function' ? await value() : value
      if (known !== null && known !== undefined) fields.push(name, textOf(name, known))
    }
    return this.#withUnannounced(fields)
  }

  #withUnannounced(fields: string[]): string[] {
    const rest = this.#unannounced?.() ?? []
    for (let i = 0; i < rest.length; i += 2) {
      const name = rest[i]!
      if (isToken(name) && mayBeTrailer(name) && !this.#isKnown(name)) fields.push(name, textOf(name, rest[i + 1]))
    }
    return fields
  }
}

function textOf(name: string, value: unknown): string {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string' || !isFieldValue(text)) throw unsendableField(name, text, 'a string or a number')
  return text
}
