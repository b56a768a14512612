// The public API of weirjs/limits.

export { type ConcurrencyLimit, type ConcurrencyLimitOptions, concurrencyLimit } from './concurrency-limit.ts'
export { type LimitCounts, limitMetrics } from './limit-metrics.ts'
export type { LimitStore, LimitTable } from './limit-store.ts'
export type { LoadSensors } from './load-monitor.ts'
export { type MemoryStoreOptions, memoryStore } from './memory-store.ts'
export { type Priority, priority } from './priority.ts'
export { type RateLimit, type RateLimitOptions, rateLimit } from './rate-limit.ts'
export { type RateRule, type Taken, takenAt } from './rate-rule.ts'
export { type Load, type Shed, type ShedOptions, shed } from './shed.ts'
