// The public API of weir/idempotency.

export type { Duration } from '../../base/duration.ts'
export type { IoredisClient, NodeRedisClient, NodeRedisCluster, RedisClient } from '../redis/redis-client.ts'
export { type Idempotency, type IdempotencyOperation, type IdempotencyOptions, idempotency } from './idempotency.ts'
export type { Attempt, Begun, IdempotencyStore } from './idempotency-store.ts'
export { type MemoryIdempotencyOptions, memoryIdempotency } from './memory-idempotency.ts'
export { type RedisIdempotencyOptions, redisIdempotency } from './redis-idempotency.ts'
