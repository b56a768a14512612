// The labels of metrics and spans, by the semantic conventions of OpenTelemetry.

/** The label of everything that has no label of its own, such as methods that clients invent. */
export const OTHER = '_OTHER'

/** Methods that are labels: the methods of RFC 9110, PATCH, and QUERY. All others are `_OTHER`. */
export const KNOWN_METHODS: ReadonlySet<string> = new Set('GET HEAD POST PUT PATCH DELETE OPTIONS QUERY CONNECT TRACE'.split(' '))

/** The bounds of histograms of durations, in seconds. */
export const DURATION_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** The name of the rest of the path in the routes of mounted code. */
export const MOUNTED_REST = 'mountedPath'

/** The template of `GET /users/:id`, without the method. The template of mounted code ends with `/*`. */
export function templateOf(route: string): string {
  const template = route.slice(route.indexOf(' ') + 1)
  return template.endsWith(`/**${MOUNTED_REST}`) ? template.slice(0, -MOUNTED_REST.length - 1) : template
}
