// The public API of weirjs/cache.

export { type Cache, type CacheCounts, cache } from './cache.ts'
export { cacheMetrics } from './cache-metrics.ts'
export type { CacheOptions } from './cache-options.ts'
export type { CacheStore } from './cache-store.ts'
