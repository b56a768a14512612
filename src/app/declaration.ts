// What a route is declared with, and the type of what its handler gets.

import type { ParamsOf } from '../routing/template.ts'
import type { AnySchema, OutputOf } from '../schema/standard.ts'

/** The methods that routes are usually declared for. */
export type StandardMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS' | 'QUERY'

/** A request method. The standard ones are listed for completion; any token will do. */
export type Method = StandardMethod | (string & {})

/** Those of RFC 9110 §9.3, RFC 5789 and RFC 10008. */
export const STANDARD_METHODS: ReadonlySet<string> = new Set<StandardMethod | 'CONNECT' | 'TRACE'>([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'QUERY',
  'CONNECT',
  'TRACE',
])

/** How a route behaves, beside what it binds. */
export interface RouteOptions {
  /** Answers only requests for this host: `api.example.com`, or `*.example.com` for one label or more before it. Without a port. */
  readonly host?: string
  /** Leaves the controller's prefix out. The prefix under which the controller was mapped stays. */
  readonly absolute?: boolean
  /**
   * `buffer`: the body is read before the handler runs. `stream`: the handler starts when the head is in, and reads the body as it comes.
   * Without it: `stream` for multipart/form-data, else `buffer`.
   */
  readonly body?: 'buffer' | 'stream'
  /** Largest body in bytes, `null` for no limit. Default: the server's `maxRequestBodySize`. Beyond it: 413. */
  readonly maxRequestBodySize?: number | null
  /**
   * How long the handler may work, in milliseconds; time in which the server waits for the client's body is not counted. `null`: no limit.
   * Default: the server's `requestTimeout`. When exceeded: 503, and `request.signal` aborts.
   */
  readonly requestTimeout?: number | null
  /**
   * How long the client may go without reading what waits to be sent, in milliseconds. `null`: no limit. Default: the server's
   * `writeTimeout`. When exceeded: the response is aborted.
   */
  readonly writeTimeout?: number | null
  /** For middleware and documents: its own properties become those of `session.metadata`. */
  readonly metadata?: object
}

/**
 * The third part of a route: schemas for parameters, by their names, and options beside them. A name that the template has is a route
 * value, any other is a query parameter. A schema under the name of an option binds a parameter of that name.
 */
export type Declaration<D> = {
  readonly [K in keyof D]: K extends keyof RouteOptions ? (D[K] extends AnySchema ? AnySchema : RouteOptions[K]) : AnySchema
}

/** The names under which `D` has schemas. */
type BoundNames<D> = { [K in keyof D]: D[K] extends AnySchema ? K : never }[keyof D]
type Bound<D, K extends keyof D> = D[K] extends AnySchema ? OutputOf<D[K]> : never
type OptionalNames<D> = { [K in BoundNames<D>]: undefined extends Bound<D, K> ? K : never }[BoundNames<D>]
type Flatten<T> = { [K in keyof T]: T[K] } & {}

/** What a handler gets for template `P` and declaration `D`: bound names converted, other route values as strings. An optional value that is missing is not there at all. */
export type ArgsOf<P extends string, D = Record<never, never>> = Flatten<
  Omit<ParamsOf<P>, BoundNames<D> & string> & { [K in Exclude<BoundNames<D>, OptionalNames<D>>]: Bound<D, K> } & {
    [K in OptionalNames<D>]?: Exclude<Bound<D, K>, undefined>
  }
>
