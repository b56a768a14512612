/** What the request and the engine know about the matched route. */
export interface RouteInfo {
  /** Method and template, such as `GET /users/:id`, for messages and logs. */
  readonly label: string
  /** The label, the handler, and the line of the program that mapped it if that is known, for errors. */
  readonly place: string
  /** Names of the template's parameters, in order. */
  readonly parameterNames: readonly string[]
  /** The `metadata` of the declaration; an empty object when it has none. */
  readonly metadata: RouteMetadata
  /**
   * `stream`: the handler starts when the head has arrived. `buffer`: it starts when the body has arrived. `auto`: `stream` for
   * multipart/form-data, otherwise `buffer`.
   */
  readonly bodyMode: 'auto' | 'buffer' | 'stream'
  /** Largest body in bytes; `null` for no limit, `undefined` for the server's limit. */
  readonly maxRequestBodySize: number | null | undefined
  /** In milliseconds; `null` for no timeout, `undefined` for the server's timeout. */
  readonly requestTimeout: number | null | undefined
  /** In milliseconds; `null` for no timeout, `undefined` for the server's timeout. */
  readonly writeTimeout: number | null | undefined
  /** In bytes a second; `undefined` for the server's rate. */
  readonly minBodyRate: number | undefined
}

/** The matched route and the values of its parameters. The route is null when none matched. */
export interface RouteMatch {
  readonly route: RouteInfo | null
  readonly values: readonly string[]
}

/** The name of the matched route in messages. */
export function labelOf({ route }: RouteMatch): string {
  return route?.label ?? 'a request without a route'
}

/**
 * Values from a route's declaration, for middleware to read.
 * @example
 * const isOpen = (metadata: RouteMetadata) => metadata['open'] === true
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/middleware.md
 */
export type RouteMetadata = Readonly<Record<string, unknown>>
