// The messages between the `weir` command and the process of the program.

import type { Explanation } from 'weirjs/explain'
import type { CertificateFiles } from './certificate.ts'
import type { LimitsFacts } from './limits-facts.ts'
import type { RouteFacts } from './route-facts.ts'

/** A request to explain. */
export interface AskedRequest {
  readonly method: string
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Text, or `@` and the path of a file. */
  readonly data: string | null
  readonly endpoint: string | null
  readonly peer: string | null
  readonly isSecure: boolean
}

/** A question of the command about a server. */
export type Question = { readonly exportName: string | null } & (
  | { readonly kind: 'routes' }
  | { readonly kind: 'limits' }
  | { readonly kind: 'openapi'; readonly module: string | null }
  | { readonly kind: 'explain'; readonly request: AskedRequest }
)

export interface Answers {
  readonly routes: { readonly routes: readonly RouteFacts[] }
  readonly limits: { readonly limits: LimitsFacts }
  readonly openapi: { readonly document: string }
  readonly explain: { readonly text: string; readonly explanation: Explanation }
}

/** Where a server listens, as far as its sockets are concerned. */
export type Place = { readonly address: string; readonly port: number } | { readonly unixSocket: string; readonly mode: number | null }

/** A socket that the command holds and the program uses. */
export interface PassedSocket {
  /** The place that the server asked for, and its number among several with the same place: see `placeKey`. */
  readonly key: string
  readonly fd: number
  /** A second descriptor of a socket that does not listen yet; null if it does. */
  readonly listenBy: number | null
}

/** The order for the process of the program. It arrives in the environment. */
export type Order =
  | { readonly task: 'answer'; readonly file: string; readonly question: Question }
  | {
      readonly task: 'serve'
      readonly file: string
      readonly exportName: string | null
      readonly sockets: readonly PassedSocket[]
      /** How many of them, the first ones, are for `listen: 'inherited'`. */
      readonly inherited: number
      /** Whether sockets can be passed at all. */
      readonly holdsSockets: boolean
      /** A folder for compiled code; null for none. */
      readonly compileCache: string | null
      /** The certificate of endpoints that have none; null: they speak no TLS. */
      readonly tls: CertificateFiles | null
    }

/** The environment variable with the order, as JSON. */
export const ORDER_VARIABLE = 'WEIR_ORDER'

/** Messages of the program: results, and its progress. */
export type News =
  | { readonly weir: 'answer'; readonly answer: Answers[Question['kind']] }
  | { readonly weir: 'no-server'; readonly reason: string }
  /** The program needs sockets that were not passed to it, and waits to be started again with them. */
  | { readonly weir: 'places'; readonly places: readonly { readonly key: string; readonly place: Place }[] }
  | {
      readonly weir: 'listening'
      readonly urls: readonly string[]
      readonly routes: readonly string[]
      readonly links: readonly Link[]
      /** Whether one of its servers has taken the sockets of `--listen`. */
      readonly takesInherited: boolean
    }

/** A page of the program that only its developer may open. */
export interface Link {
  readonly name: string
  readonly url: string
}

/**
 * Messages to the program: when to begin, when a file of a page has changed, and when to stop. The token of its links is not in the environment,
 * which other processes may read or inherit.
 */
export type Command =
  | { readonly weir: 'begin'; readonly token: string }
  | { readonly weir: 'reload' }
  | { readonly weir: 'stop'; readonly graceMs: number }

export function isNews(message: unknown): message is News {
  return typeof message === 'object' && message !== null && typeof (message as { readonly weir?: unknown }).weir === 'string'
}
