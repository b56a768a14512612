// What the semantic conventions of OpenTelemetry say about labels of metrics and spans.

/** What stands for everything that has no label of its own. */
export const OTHER = '_OTHER'

/** The methods of the standards (RFC 9110, 5789, 10008). Any other is `OTHER`: clients choose it. */
export const METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'QUERY',
])

/** The bounds of histograms of durations, in seconds. */
export const DURATION_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** The template of `GET /users/:id`, without the method. */
export function templateOf(route: string): string {
  return route.slice(route.indexOf(' ') + 1)
}
