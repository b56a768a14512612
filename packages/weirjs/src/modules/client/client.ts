// A client of a contract: a function for each entry, on top of any `fetch`.

import type { Contract, Entry, WebSocketEntry } from '../../app/routes/contract.ts'
import { type AnswerOf, answerOf } from './answer.ts'
import type { Outline, OutlinedEntry } from './outline.ts'
import { type ArgsFor, type CommonOptions, type HeaderFields, requestOf } from './request.ts'

/** Options of a client. Options of `fetch`, such as `credentials`, apply to all its calls. */
export interface ClientOptions extends Omit<CommonOptions, 'headers'> {
  /** Sends a request. `server.fetch` calls a server without a network. Default: the global `fetch`, looked up for each call. */
  readonly fetch?: (request: Request) => Promise<Response>
  /** Fields of all requests, or a function that returns the fields of one request, for example with a token. */
  readonly headers?: HeaderFields | (() => HeaderFields | Promise<HeaderFields>)
}

/** Options of one call. They take precedence over the client's options, and fields over declared parameters. */
export interface CallOptions extends CommonOptions {}

/** The compiler would let any object pass as one without properties. */
type Optional<A> = [keyof A] extends [never] ? { readonly [name: string]: 'the contract declares nothing that is sent' } : A

/** Calls an entry. */
export type Call<E extends Entry> =
  Record<never, never> extends ArgsFor<E['path'], E['declaration']>
    ? (args?: Optional<ArgsFor<E['path'], E['declaration']>>, options?: CallOptions) => Promise<AnswerOf<E['declaration']>>
    : (args: ArgsFor<E['path'], E['declaration']>, options?: CallOptions) => Promise<AnswerOf<E['declaration']>>

/** A function for each entry of a contract. `openWebSocket` opens those that are WebSockets. */
export type Client<C extends Contract> = { readonly [K in keyof C as C[K] extends WebSocketEntry ? never : K]: Call<C[K]> }

/**
 * A client of the server at `base`: `client(api, 'https://shop.example')`. Each entry of the contract is a function, which accepts the arguments
 * that the handler gets, in the form in which they are sent, and returns the response, typed by its status:
 *
 * `const answer = await shop.user({ id: 5 })`; then `answer.status === 200` makes `answer.body` a user.
 *
 * Nothing is checked against schemas, in either direction: the server checks what it receives, and its responses are trusted. Times arrive as text.
 *
 * A call rejects with `ClientError` for a response that the contract does not declare, TypeError for arguments that cannot be sent, such as `..` in
 * a path, and the errors of `fetch`: TypeError without a connection, and the reason of an aborted signal.
 * @param contract the contract, or what `outlineOf` returns for it
 * @param base where the paths of the contract begin: an origin, perhaps with the prefix of a group. In a browser also a path, or an empty string
 *   for the origin of the page
 * @throws TypeError for a base with a query or a fragment
 */
export function client<const C extends Contract>(contract: C | Outline<C>, base: string, options: ClientOptions = {}): Client<C> {
  if (/[?#]/.test(base)) throw new TypeError('a base has no query and no fragment')
  const { fetch: send, headers, ...common } = options
  const callOf = (entry: OutlinedEntry) => {
    return async (args: object = {}, own: CallOptions = {}): Promise<unknown> => {
      const fields = typeof headers === 'function' ? await headers() : headers
      const request = requestOf(entry, base, args as Record<string, unknown>, fields, { ...common, ...own })
      return answerOf(entry, await (send ?? fetch)(request))
    }
  }
  return Object.fromEntries(Object.entries(contract).map(([name, entry]) => [name, callOf(entry)])) as unknown as Client<C>
}
