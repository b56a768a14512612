// The common options of all stores in Redis: the prefix of keys, the timeout, and the function to call when Redis does not reply.

import type { Duration } from 'weirjs'
import { type Clock, option } from 'weirjs/kit'
import { RedisAccess } from './redis-access.ts'
import type { RedisClient } from './redis-client.ts'

const { duration, func, text } = option

/** The rules of the options that stores share. Each declares its own options, because the defaults differ. */
export function redisRules(prefix: string, timeout: Duration) {
  return { prefix: text().or(prefix), timeout: duration().or(timeout), onChange: func().optional('nothing') }
}

interface StoreSettings {
  readonly prefix: string
  readonly timeout: number
  readonly onChange: ((isDegraded: boolean, error: unknown) => void) | undefined
  readonly clock?: Clock | undefined
}

/** @param owner whose client it is, for messages: `redisStore()` @throws WEIR_OPTION_INVALID */
export function openRedis(
  owner: string,
  client: RedisClient,
  { prefix, timeout, onChange, clock }: StoreSettings,
): { readonly access: RedisAccess; readonly prefix: string } {
  return { access: new RedisAccess(owner, client, { timeoutMs: timeout, onChange, clock }), prefix }
}
