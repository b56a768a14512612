/** What the request and the engine may know of the route that was found. */
export interface RouteInfo {
  /** `GET /users/:id`, for messages and logs. */
  readonly label: string
  /** Names of the template's parameters, in its order. */
  readonly parameterNames: readonly string[]
  /** What the declaration gave as `metadata`; an empty object without any. */
  readonly metadata: RouteMetadata
  /** `stream`: the handler starts when the head is in. `buffer`: when the body is. `auto`: `stream` for multipart/form-data, else `buffer`. */
  readonly bodyMode: 'auto' | 'buffer' | 'stream'
  /** Largest body in bytes, `null` for no limit, `undefined` for the server's own. */
  readonly maxRequestBodySize: number | null | undefined
  /** In milliseconds, `null` for none, `undefined` for the server's own. */
  readonly requestTimeout: number | null | undefined
  /** The same. */
  readonly writeTimeout: number | null | undefined
}

/** A found route and the values of its parameters; the route is null where none matches. */
export interface RouteMatch {
  readonly route: RouteInfo | null
  readonly values: readonly string[]
}

/** What a message calls the route that was found. */
export function labelOf({ route }: RouteMatch): string {
  return route?.label ?? 'a request without a route'
}

/** What a route was declared with, for middleware to read. */
export type RouteMetadata = Readonly<Record<string, unknown>>
