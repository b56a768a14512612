// What `server.explain` returns.

import type { BindingFailure } from '../../base/errors.ts'
import type { Limits, Timeouts } from '../../base/limits.ts'
import type { RouteListing } from '../routes/route-listing.ts'
import type { Level, Setting } from '../routes/scope.ts'

/**
 * The first response that the client would get, of the server or of a gate of `auth`, `csrf` or `cors`. Other gates and middleware may respond
 * first, and a handler may fail.
 */
export interface ExplainedResponse {
  /** Null: the handler of `route` decides. */
  readonly status: number | null
  /** The code of the error, such as `WEIR_METHOD_NOT_ALLOWED`; null without an error. */
  readonly code: string | null
  /** The reason, in words. */
  readonly detail: string
  /** The methods that the path supports, as in Allow. Null unless the response has that field. */
  readonly allow: readonly string[] | null
}

/** The client, as the session shows it. */
export interface ExplainedClient {
  /** `session.clientAddress`. */
  readonly address: string
  /** `session.isSecure`. */
  readonly isSecure: boolean
  /** `session.origin`. */
  readonly origin: string
  /** Whether the peer is a proxy in `proxies.trust`, so that its fields are read. */
  readonly isForwarded: boolean
}

/** Which hosts are answered at an endpoint: the option `hosts`. `inject` and `fetch` do not check them. */
export interface ExplainedHostRule {
  /** In words. */
  readonly answered: string
  /** Whether the host of this request is one of them. Otherwise a client gets 421 `WEIR_HOST_NOT_SERVED`, unless a trusted proxy states another. */
  readonly isServed: boolean
}

/** A route, as `server.routes` lists it, without what is explained elsewhere. */
export interface ExplainedRoute extends Pick<RouteListing, 'method' | 'path' | 'host' | 'endpoint' | 'source'> {
  /** Whether it was mapped by `fallback`. */
  readonly isFallback: boolean
}

/**
 * Why a route does not answer:
 *
 * - `endpoint`, `host`, `method`: it is for another one.
 * - `text`: a segment of the path differs.
 * - `spelling`, `case`: a segment differs only in a letter or two, or in upper and lower case, and the rest of the path matches.
 * - `slash`: only one of path and template ends with a slash.
 * - `empty`: a parameter would be empty.
 * - `short`, `long`: the path ends before the template, or after it.
 * - `order`: it would answer, but another one comes first.
 */
export interface Rejection {
  readonly kind: 'endpoint' | 'host' | 'method' | 'text' | 'spelling' | 'case' | 'slash' | 'empty' | 'short' | 'long' | 'order'
  /** The same in words. */
  readonly detail: string
}

/** A route that does not answer the request. */
export interface RejectedRoute extends ExplainedRoute {
  /** All reasons, at least one. */
  readonly reasons: readonly Rejection[]
}

/** A policy, a middleware, or a hook that `beforeSend` has added. */
export interface ExplainedPolicy {
  /** The policy's name, or the name of its function, or `(anonymous)`. */
  readonly name: string
  /** Where it is used. */
  readonly level: Level
  /** The levels of the policies of the same name whose place it has taken, the outermost first. */
  readonly replaces: readonly Level[]
  /** What it does. Empty: it only removes the policies that it replaces. */
  readonly hooks: readonly ('gate' | 'middleware' | 'beforeSend')[]
}

/** One argument of the handler. */
export interface ExplainedArgument {
  readonly name: string
  /** Where it is read from. */
  readonly in: BindingFailure['in']
  /** What its schema expects, in words. */
  readonly expected: string
  /** What happens without a value. */
  readonly presence: 'required' | 'optional' | 'default'
  /** The text that was received, shortened to 100 characters; `(not shown)` for a secret, null for none. */
  readonly received: string | null
  /** If nothing was received: a name in the query that is probably a misspelling of it. Null if there is none. */
  readonly misspelt: string | null
  /** Why it does not fit. Empty if it does, or was not checked. */
  readonly failures: readonly BindingFailure[]
  /**
   * False for a schema of another library, because `explain` passes nothing to foreign code, and for a body that is not known, compressed, or a
   * form in parts.
   */
  readonly isChecked: boolean
}

/** What the head of the request states about its body. */
export interface ExplainedBody {
  /**
   * - `none`: there is none.
   * - `buffer`: it is read before the handler starts.
   * - `stream`: the handler starts when the head has arrived, and reads it.
   * - `discard`: nothing reads it.
   */
  readonly mode: 'none' | 'buffer' | 'stream' | 'discard'
  /** In bytes; null when it is known only at its end. */
  readonly length: number | null
  /** Content-Type, as sent. */
  readonly contentType: string | null
  /** The content types that the route accepts; null if it declares none. */
  readonly accepts: readonly string[] | null
}

/** An answer that the route declares. */
export interface ExplainedAnswer {
  readonly status: number
  /** What the body is declared as. Null: the answer has none. */
  readonly body: 'json' | 'text' | 'bytes' | null
}

/** How a request would be answered, and why. It can be serialized as JSON; `String(explanation)` is a text for people. */
export interface Explanation {
  readonly method: string
  /** The request target as sent. Values of secret parameters are `(not shown)`. */
  readonly target: string
  /** The path as routes see it: decoded, except `%2F`. Null if the head is refused. */
  readonly path: string | null
  /** The path below which the application is, which `path` does not contain; empty at the root. */
  readonly basePath: string
  /** The host that routes are compared with, in lower case and without a port. */
  readonly host: string
  /** Which hosts a client that connects to the endpoint may ask for; null if that is not known. */
  readonly hostRule: ExplainedHostRule | null
  /** Name of the endpoint, null without one. */
  readonly endpoint: string | null
  readonly client: ExplainedClient
  readonly response: ExplainedResponse
  /**
   * The remote procedure call that the request makes, in the names of OpenTelemetry: `status` is what the client would be told, such as `UNAUTHENTICATED`,
   * and null if the handler decides. Null for any other request.
   */
  readonly rpc: { readonly system: 'grpc' | 'connectrpc'; readonly method: string; readonly status: string | null } | null
  /** The route that answers. Null if none does. */
  readonly route: ExplainedRoute | null
  /** Other routes, the nearest first; at most 10. Those that have nothing in common with the path are left out. */
  readonly others: readonly RejectedRoute[]
  /** How many more were considered. */
  readonly othersLeftOut: number
  /** In the order in which they run, the outermost first. Without a route: the policies of the level that the request belongs to. */
  readonly policies: readonly ExplainedPolicy[]
  /** What the handler gets. Empty without a route. */
  readonly arguments: readonly ExplainedArgument[]
  readonly body: ExplainedBody
  /** What the route declares in `answers`, with what it inherits, by ascending status. Empty without a route, and if nothing is declared. */
  readonly answers: readonly ExplainedAnswer[]
  /** Every limit and timeout in force, null for none, and which level has set it. */
  readonly limits: { readonly [K in keyof (Limits & Timeouts)]: Setting<number | null> }
  /** Several lines of text. */
  toString(): string
}
