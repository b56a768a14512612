// The public API of weirjs/metrics.

export { templateOf } from './http-conventions.ts'
export type { MetricFamily, MetricSample, MetricSource } from './metric-source.ts'
export { type Metrics, type MetricsOptions, metrics } from './metrics.ts'
export type { PromRegistry } from './prom-registry.ts'
