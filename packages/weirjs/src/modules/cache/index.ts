// The public API of weirjs/cache.

export type { CacheCounts } from './cache.ts'
export { type Cache, cache } from './cache.ts'
export { cacheMetrics } from './cache-metrics.ts'
export type { CacheOptions } from './cache-options.ts'
export type { CacheStore } from './cache-store.ts'
