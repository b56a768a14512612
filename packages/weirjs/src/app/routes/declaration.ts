// The declaration of a route, and the type of its handler's arguments.

import type { Duration } from '../../base/duration.ts'
import type { Size } from '../../base/size.ts'
import type { TypedBody } from '../../http/body/typed-body.ts'
import type { ParamsOf } from '../../routing/template.ts'
import type { AnySchema, OutputOf as SchemaOutputOf } from '../../schema/standard.ts'

import type { Usable } from '../policies/policy.ts'
import type { ParameterSource } from './parameter-source.ts'
import type { Answers } from './route-answers.ts'

/** The methods that routes are usually declared for. */
export type StandardMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS' | 'QUERY'

/**
 * A request method. The standard ones are listed for completion; any token is allowed.
 * @example
 * const methods: Method[] = ['GET', 'PROPFIND']
 * for (const method of methods) server.map(method, '/files', () => 'ok')
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/routing.md
 */
export type Method = StandardMethod | (string & {})

/** The methods of RFC 9110 §9.3, RFC 5789 and RFC 10008. */
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

/**
 * Options of all routes of a group or of a controller class, apart from what they bind. The innermost level takes precedence.
 * @example
 * const options: GroupOptions = { maxRequestBodySize: '1MiB', requestTimeout: '10s' }
 * server.group('/api', options)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/groups.md
 */
export interface GroupOptions {
  /**
   * Middleware and policies, the outermost first. Middleware of outer levels runs before them; a policy replaces an outer one with the same name.
   */
  readonly use?: readonly Usable[]
  /** Handles only requests for this host: `api.example.com`, or `*.example.com` with one or more labels before it. Without a port. */
  readonly host?: string
  /** Handles only requests at endpoints with this `name` in `listen`. Elsewhere, the route does not exist. Default: at every endpoint. */
  readonly endpoint?: string
  /** The largest body; `null`: no limit. Default: the server's `maxRequestBodySize`. When exceeded: 413. */
  readonly maxRequestBodySize?: Size | null
  /**
   * How long gates and the handler may work; time in which the server waits for the client's body is not counted. `null`: no
   * limit. Default: the server's `requestTimeout`. When exceeded: 503, and `request.signal` aborts.
   */
  readonly requestTimeout?: Duration | null
  /**
   * How long the client may go without reading what is waiting to be sent. `null`: no limit. Default: the server's
   * `writeTimeout`. When exceeded: the response is aborted.
   */
  readonly writeTimeout?: Duration | null
  /**
   * The average rate in bytes a second that a body must reach. 0: none, for bodies that pause, such as the messages of a stream. Default: the
   * server's `minBodyRate`. When missed: 408.
   */
  readonly minBodyRate?: number
  /**
   * Whether responses with status 200 to GET and HEAD get an ETag made of their bytes, and conditional requests are answered with 304 or 412.
   * Streams get none. Default false.
   */
  readonly etag?: boolean
  /**
   * Whether requests that change something must name the version that they expect: without If-Match, they are refused with 428 before their body
   * is read (RFC 6585 §3). `If-None-Match: *`, which creates what does not exist yet, counts as well. The handler compares the version:
   * see `response.precondition`. Requests with GET, HEAD, OPTIONS, QUERY and TRACE pass. Default false.
   */
  readonly requireIfMatch?: boolean
  /**
   * What the handler may answer with, by status: a schema for JSON, what `text` or `bytes` returns for other content, and null for no body. The
   * compiler checks what the handler returns, and only declared properties of objects are sent. A value that the handler returns has the lowest
   * declared status from 200 to 299, unless it sets one. If a status below 400 is declared, JSON, bytes and streams with an undeclared status are
   * refused; in tests and with `debug`, everything is. The answers of outer levels apply too; for the same status, the inner one applies.
   *
   * Errors that are thrown, and what gates, middleware and `onError` answer, are not declared here.
   */
  readonly answers?: Answers
  /** For policies, middleware and documents: its own properties are added to `session.metadata`, to which outer levels add theirs. */
  readonly metadata?: object
  /** Tags for documents, in addition to the tags of outer levels. */
  readonly tags?: readonly string[]
}

/** How a route is shown to clients of the Model Context Protocol: see `@weirjs/mcp`. */
export interface ToolOptions {
  /** Unique among the tools of a server: 1 to 128 of `A-Z`, `a-z`, `0-9`, `_`, `-` and `.`. Default: `operationId`. */
  readonly name?: string | undefined
  /** For people. Default: `summary`. */
  readonly title?: string | undefined
  /** For the model: what the tool does, and when to use it. Default: `description` or, without one, `summary`. */
  readonly description?: string | undefined
  /** Hints for clients, such as `{ destructiveHint: false }`, in addition to those that follow from the method. */
  readonly annotations?: object
}

/**
 * The options of a route, apart from what it binds.
 * @example
 * const options = { summary: 'Says hello', requestTimeout: '5s' } satisfies RouteOptions
 * server.mapGet('/hello', options, () => 'Hello')
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/routing.md
 */
export interface RouteOptions extends GroupOptions {
  /** Omits the controller's prefix, but not the prefix under which the controller was mapped. */
  readonly absolute?: boolean
  /**
   * A schema, or what `json`, `form`, `text`, `bytes` or `multipart` returns: the body is read, checked and passed to the handler as
   * `args.body`. A schema accepts JSON and, where it can be read from one, url-encoded forms. Other content types: 415. Malformed: 400. Does
   * not fit: 400, or the server's `invalidBodyStatus`.
   *
   * `buffer`: the body is read before the handler runs. `stream`: the handler starts when the head is complete, and reads the body as it arrives.
   * Default: `stream` for multipart/form-data, otherwise `buffer`.
   */
  readonly body?: BodyOption
  /** For documents: what the route does, in a few words. */
  readonly summary?: string
  /** For documents: what the route does, in detail. */
  readonly description?: string
  /** For documents and generated clients. No two routes of a server have the same. */
  readonly operationId?: string
  /**
   * Marks the route as deprecated in documents, and sends `Deprecation` (RFC 9745) with each of its responses: the date of the
   * deprecation, past or future. `true`: an unknown time, sent as `@0`. Default false.
   */
  readonly deprecated?: boolean | Date
  /** Lets `@weirjs/mcp` offer the route as a tool to clients of the Model Context Protocol. Default false. */
  readonly tool?: boolean | ToolOptions
}

/** How a route reads its body. */
export type BodyOption = AnySchema | TypedBody | 'buffer' | 'stream'
/** A schema for a parameter from the path or the query, or one from elsewhere. */
export type Parameter = AnySchema | ParameterSource

/** Names of options in other frameworks, and their names here. */
export const KNOWN_ELSEWHERE = {
  accepts: 'body',
  auth: 'use',
  authorize: 'use',
  before: 'use',
  bodyLimit: 'maxRequestBodySize',
  bodySchema: 'body',
  config: 'metadata',
  gate: 'use',
  gates: 'use',
  guards: 'use',
  hidden: 'metadata',
  hooks: 'use',
  input: 'body',
  json: 'body',
  limit: 'maxRequestBodySize',
  maxBodySize: 'maxRequestBodySize',
  meta: 'metadata',
  middleware: 'use',
  middlewares: 'use',
  name: 'operationId',
  onRequest: 'use',
  operationID: 'operationId',
  output: 'answers',
  plugins: 'use',
  policies: 'use',
  preHandler: 'use',
  preValidation: 'use',
  response: 'answers',
  responses: 'answers',
  returns: 'answers',
  schema: 'body',
  tag: 'tags',
  timeout: 'requestTimeout',
  timeoutMs: 'requestTimeout',
  title: 'summary',
  validate: 'body',
} as const satisfies Readonly<Record<string, keyof RouteOptions>>

/** Parameters that other frameworks gather under a name. */
export const GATHERED_ELSEWHERE = [
  'cookies',
  'headers',
  'params',
  'parameters',
  'query',
  'queryString',
  'querystring',
  'searchParams',
] as const

/** The sentences that the compiler shows for a name whose value is no schema. */
type Misnamed = {
  readonly [K in keyof typeof KNOWN_ELSEWHERE]: `'${K}' is not an option: it is called '${(typeof KNOWN_ELSEWHERE)[K]}'`
} & {
  readonly [K in (typeof GATHERED_ELSEWHERE)[number]]: `'${K}' is not an option: declare each parameter by its own name, such as { id: t.int }`
}
type NoOption = 'neither a schema, such as t.string, nor the name of an option'

/**
 * The third part of a route: parameters, by their names, and options. A name that is in the template is a route value, any other is a query
 * parameter unless it is a `header` or a `cookie`. A schema under the name of an option binds a parameter of that name, except `body`.
 * @example
 * server.mapGet('/users/:id', { id: t.int, page: t.int.default(1), summary: 'A user' }, ({ id, page }) => [id, page])
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/routing.md
 */
export type Declaration<D> = {
  readonly [K in keyof D]: K extends 'body'
    ? BodyOption
    : K extends keyof RouteOptions
      ? D[K] extends Parameter
        ? Parameter
        : RouteOptions[K]
      : K extends keyof Misnamed
        ? Parameter | Misnamed[K]
        : Parameter | NoOption
}

/** The same for a GET request, whose body no schema reads. */
export type GetDeclaration<D> = {
  readonly [K in keyof D]: K extends 'body'
    ? 'buffer' | 'stream' | 'a GET request has no body: use QUERY (mapQuery) or POST, or declare parameters of the query by their names'
    : Declaration<D>[K]
}

/** The same for a group: what its routes bind, and options for all of them. */
export type GroupDeclaration<D> = {
  readonly [K in keyof D]: K extends 'body'
    ? 'a group has no body: each of its routes declares its own'
    : K extends keyof GroupOptions
      ? D[K] extends Parameter
        ? Parameter
        : GroupOptions[K]
      : K extends keyof Misnamed
        ? Parameter | Misnamed[K]
        : K extends keyof RouteOptions
          ? Parameter | `a group has no option '${K}': each of its routes declares its own`
          : Parameter | NoOption
}

/** An empty declaration. */
export type NoDeclaration = Record<never, never>
/** Merges two declarations: the inner one takes precedence if both have a name. Their answers are merged by status. */
export type Merged<Outer, Inner> = [keyof Outer] extends [never]
  ? Inner
  : Omit<Outer, keyof Inner> & (Outer extends { readonly answers: infer A } ? WithAnswers<A, Inner> : Inner)
type WithAnswers<A, Inner> = Inner extends { readonly answers: infer B }
  ? Omit<Inner, 'answers'> & { readonly answers: Omit<A, keyof B> & B }
  : Inner
/** The template of a path below a prefix. */
export type Below<Prefix extends string, P extends string> = Prefix extends '' ? P : `${Prefix}/${P}`

/** The names of what `D` binds: parameters, and the body. */
export type BoundNames<D> = { [K in keyof D]: D[K] extends Parameter | TypedBody ? K : never }[keyof D]
/**
 * What a schema returns: `OutputOf<typeof t.date>` is `Date`. Of a body, such as `json(schema)` or `multipart({ … })`, and of a `header` or
 * `cookie`: what the handler gets.
 * @example
 * const User = t.object({ id: t.int, born: t.date })
 * type User = OutputOf<typeof User> // { id: number; born: Date }
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/schemas.md
 */
export type OutputOf<S extends Parameter | TypedBody> = Bound<S>
type Bound<S> = [S] extends [AnySchema]
  ? SchemaOutputOf<S>
  : [S] extends [ParameterSource<infer T>]
    ? T
    : [S] extends [TypedBody<infer T>]
      ? T
      : never
type OptionalNames<D> = { [K in BoundNames<D>]: undefined extends Bound<D[K]> ? K : never }[BoundNames<D>]
type Flatten<T> = { [K in keyof T]: T[K] } & {}

/**
 * The arguments of a handler for template `P` and declaration `D`: bound names are converted, other route values are strings. An optional
 * value that is missing has no property.
 * @example
 * type Args = ArgsOf<'/users/:id', { id: typeof t.int }> // { id: number }
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/routing.md
 */
export type ArgsOf<P extends string, D = Record<never, never>> = Flatten<
  Omit<ParamsOf<P>, BoundNames<D> & string> & { [K in Exclude<BoundNames<D>, OptionalNames<D>>]: Bound<D[K]> } & {
    [K in OptionalNames<D>]?: Exclude<Bound<D[K]>, undefined>
  }
>
