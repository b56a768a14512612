// The public API of weirjs/cache.

export type { Duration } from '../../base/duration.ts'
export type { IoredisClient, NodeRedisClient, NodeRedisCluster, RedisClient } from '../redis/redis-client.ts'
export { type Cache, type CacheCounts, cache } from './cache.ts'
export { cacheMetrics } from './cache-metrics.ts'
export type { CacheKey, CacheOptions } from './cache-options.ts'
export { type CacheStore, type RedisCacheOptions, redisCache } from './cache-store.ts'
