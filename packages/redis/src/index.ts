// The public API of @weirjs/redis.

export type { IoredisClient, NodeRedisClient, NodeRedisCluster, RedisClient } from './client/redis-client.ts'
export type { RedisSubscribingClient } from './client/redis-subscriber.ts'
export type { RedisMessengerOptions } from './relay/redis-messenger.ts'
export { type RedisRelayOptions, redisRelay } from './relay/redis-relay.ts'
export { type RedisStreamRelayOptions, redisStreamRelay } from './relay/redis-stream-relay.ts'
export { type RedisCacheOptions, redisCache } from './stores/redis-cache.ts'
export { redisCertificates } from './stores/redis-certificates.ts'
export { type RedisIdempotencyOptions, redisIdempotency } from './stores/redis-idempotency.ts'
export { type RedisLock, type RedisLocks, type RedisLocksOptions, redisLocks } from './stores/redis-locks.ts'
export { type RedisSessions, type RedisSessionsOptions, redisSessions } from './stores/redis-sessions.ts'
export { type RedisStoreOptions, redisStore } from './stores/redis-store.ts'
