// Every factory refuses an option that it does not have, where it is called, and its message names the option.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { acme } from '../packages/acme/src/index.ts'
import { jwt } from '../packages/jwt/src/index.ts'
import { mcp } from '../packages/mcp/src/index.ts'
import { natsRelay } from '../packages/nats/src/index.ts'
import { oidc } from '../packages/oidc/src/index.ts'
import { openapi } from '../packages/openapi/src/index.ts'
import { opentelemetry } from '../packages/opentelemetry/src/index.ts'
import {
  redisCache,
  redisCertificates,
  redisIdempotency,
  redisLocks,
  redisRelay,
  redisSessions,
  redisStore,
  redisStreamRelay,
} from '../packages/redis/src/index.ts'
import { Health, mapService, health as rpcHealth } from '../packages/rpc/src/index.ts'
import { s3Files, s3Storage } from '../packages/s3/src/index.ts'
import { diskStorage, uploads } from '../packages/uploads/src/index.ts'
import { HttpServer } from '../packages/weirjs/src/index.ts'

const server = new HttpServer({ logger: null })
const wrong = { bogus: 1 } as never
const redis = { sendCommand: async () => null, duplicate: () => redis } as never
const nats = { publish() {}, subscribe() {}, flush() {}, status() {}, isClosed: () => false } as never
const storage = diskStorage('build')

const FACTORIES: Readonly<Record<string, () => unknown>> = {
  acme: () => acme(wrong),
  jwt: () => jwt(wrong),
  mcp: () => mcp(server, wrong),
  natsRelay: () => natsRelay(nats, wrong),
  oidc: () => oidc(wrong),
  openapi: () => openapi(wrong),
  opentelemetry: () => opentelemetry(wrong),
  redisCache: () => redisCache(redis, wrong),
  redisCertificates: () => redisCertificates(redis, wrong),
  redisIdempotency: () => redisIdempotency(redis, wrong),
  redisLocks: () => redisLocks(redis, wrong),
  redisRelay: () => redisRelay(redis, wrong),
  redisSessions: () => redisSessions(redis, wrong),
  redisStore: () => redisStore(redis, wrong),
  redisStreamRelay: () => redisStreamRelay(redis, wrong),
  mapService: () => mapService(server, Health, {}, wrong),
  'health of rpc': () => rpcHealth(server, wrong),
  s3Storage: () => s3Storage({ send: async () => null, config: {} }, wrong),
  s3Files: () => s3Files({ send: async () => null, config: {} }, wrong),
  diskStorage: () => diskStorage('build', wrong),
  uploads: () => uploads('/files', wrong),
  'uploads with a storage': () => uploads('/files', { storage, onComplete() {}, bogus: 1 } as never),
}

for (const [name, call] of Object.entries(FACTORIES))
  test(name, async () => {
    await assert.rejects(async () => await call(), { code: 'WEIR_OPTION_INVALID', message: /there is no option "bogus"/ })
  })
