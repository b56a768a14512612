// Metrics of limits, for `weirjs/metrics`.

import type { MetricFamily, MetricSample, MetricSource } from '../metrics/metric-source.ts'

/** What a limit has counted. Frozen. */
export interface LimitCounts {
  /** Requests, and whatever else was taken, since the limit was created. */
  readonly accepted: number
  readonly refused: number
  /** Requests that hold a slot now; null for a rate limit. */
  readonly inProgress: number | null
  /** Requests that wait for a slot now; null for a limit without a queue. */
  readonly waiting: number | null
  /** Whether the store does not reply; null for a limit without a store. */
  readonly isDegraded: boolean | null
}

/** A limit of this module. */
export interface CountedLimit {
  /** Such as `rateLimit:api`. The label `limit` of its metrics. */
  readonly name: string
  readonly counts: LimitCounts
}

/** A source for `metrics({ sources: [limitMetrics(api, reports, overload)] })`. Pass all limits to one source. */
export function limitMetrics(...limits: readonly CountedLimit[]): MetricSource {
  const family = (name: string, type: 'counter' | 'gauge', help: string, value: (counts: LimitCounts) => number | null): MetricFamily => ({
    name: `weir_limits_${name}`,
    type,
    help,
    samples: limits.flatMap(({ name: limit, counts }): MetricSample[] => {
      const now = value(counts)
      return now === null ? [] : [{ labels: { limit }, value: now }]
    }),
  })
  return {
    metrics: () => [
      family('accepted_total', 'counter', 'What limits have accepted.', ({ accepted }) => accepted),
      family('refused_total', 'counter', 'What limits have refused.', ({ refused }) => refused),
      family('in_progress', 'gauge', 'Requests that hold a slot of a limit.', ({ inProgress }) => inProgress),
      family('waiting', 'gauge', 'Requests that wait for a slot of a limit.', ({ waiting }) => waiting),
      family('store_degraded', 'gauge', 'Whether the store of a limit does not reply.', ({ isDegraded }) =>
        isDegraded === null ? null : Number(isDegraded),
      ),
    ],
  }
}
