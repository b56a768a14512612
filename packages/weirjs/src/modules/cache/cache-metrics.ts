// Metrics of caches, for `weirjs/metrics`.

import { kindOf } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import type { MetricFamily, MetricSource } from '../metrics/metric-source.ts'

import type { CacheCounts } from './cache.ts'

/**
 * A source for `metrics({ sources: [cacheMetrics({ pages, api })] })`. The names are the values of the label `cache`.
 * @throws WEIR_OPTION_INVALID for a value that is not a cache
 */
export function cacheMetrics(caches: Readonly<Record<string, { readonly counts: CacheCounts }>>): MetricSource {
  for (const [name, one] of Object.entries({ ...caches }))
    if (typeof one !== 'object' || one === null || !('counts' in one))
      throw invalid('cacheMetrics()', `an object of caches is needed, such as { pages }: its member "${name}" is ${kindOf(one)}`)
  const family = (name: string, type: 'counter' | 'gauge', help: string, value: (counts: CacheCounts) => number): MetricFamily => ({
    name: `weir_cache_${name}`,
    type,
    help,
    samples: Object.entries(caches).map(([cache, { counts }]) => ({ labels: { cache }, value: value(counts) })),
  })
  const results: MetricFamily = {
    name: 'weir_cache_requests_total',
    type: 'counter',
    help: 'Requests by what the cache did with them.',
    samples: [],
  }
  return {
    metrics: () => [
      {
        ...results,
        samples: Object.entries(caches).flatMap(([cache, { counts }]) =>
          (['hit', 'stale', 'collapsed', 'miss', 'bypass'] as const).map((result) => ({
            labels: { cache, result },
            value: counts[result],
          })),
        ),
      },
      family('stored_total', 'counter', 'Responses that were kept.', ({ stored }) => stored),
      family('evicted_total', 'counter', 'Responses that were dropped to make room.', ({ evicted }) => evicted),
      family('refreshes_total', 'counter', 'Runs of a handler in the background.', ({ refreshes }) => refreshes),
      family('store_errors_total', 'counter', 'Commands to the store that have failed.', ({ storeErrors }) => storeErrors),
      family('entries', 'gauge', 'What is in memory.', ({ entries }) => entries),
      family('bytes', 'gauge', 'Bytes that this takes, by the count of the cache.', ({ bytes }) => bytes),
    ],
  }
}
