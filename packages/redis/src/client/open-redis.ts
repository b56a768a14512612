// What every store in Redis is told, checked once: where its keys begin, how long Redis has, and who hears that Redis is away.

import type { Clock, Duration } from 'weirjs/kit'
import { checkFunction, checkText, millisecondsOf } from 'weirjs/kit'
import { RedisAccess } from './redis-access.ts'
import type { RedisClient } from './redis-client.ts'

/** The options that stores share. Each declares those that it takes, because their defaults differ. */
interface StoreOptions {
  readonly prefix?: string
  readonly timeout?: Duration
  readonly onChange?: (isDegraded: boolean, error: unknown) => void
  readonly clock?: Clock
}

/**
 * @param owner whose options they are, for messages: `redisStore()`
 * @param defaults of the owner
 * @throws WEIR_OPTION_INVALID
 */
export function openRedis(
  owner: string,
  client: RedisClient,
  options: StoreOptions,
  defaults: { readonly prefix: string; readonly timeoutMs: number },
): { readonly access: RedisAccess; readonly prefix: string } {
  const { clock, onChange, prefix = defaults.prefix, timeout = defaults.timeoutMs } = options
  checkText(owner, 'prefix', prefix)
  checkFunction(owner, 'onChange', onChange)
  const timeoutMs = millisecondsOf(owner, 'timeout', timeout)
  return { access: new RedisAccess(owner, client, { timeoutMs, onChange, clock }), prefix }
}
