// The clients of Redis that weir can use: what they have in common, without importing their types. The client is your program's: it connects,
// authenticates, reconnects and closes it.

import { invalid, kindOf } from 'weirjs/kit'

/** A client, or a pool of clients, of the package `redis` (4, 5 or 6). */
export interface NodeRedisClient {
  sendCommand(args: string[]): Promise<unknown>
}

/** A cluster of the package `redis`. */
export interface NodeRedisCluster {
  sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown>
  getSlotRandomNode(slot: number): unknown
}

/** A client or a cluster of the package `ioredis` (5 or 6). */
export interface IoredisClient {
  call(command: string, ...args: string[]): Promise<unknown>
}

/**
 * A client of your program for Redis 6.2 or later, or Valkey: of `redis` or `ioredis`, for one server or a cluster. weir only sends commands
 * with it. It never connects or closes it.
 */
export type RedisClient = NodeRedisClient | NodeRedisCluster | IoredisClient

/** Sends one command. @param args the name of the command, its only key, and its other arguments */
export type SendCommand = (args: [name: string, key: string, ...rest: string[]], keyIndex: number) => Promise<unknown>

/** @param owner whose argument it is, such as `redisStore()` @throws WEIR_OPTION_INVALID */
export function senderOf(owner: string, client: RedisClient): SendCommand {
  const given: unknown = client
  if (typeof given !== 'object' || given === null) throw invalid(owner, `client is ${kindOf(given)}, not a client of redis or ioredis`)
  if (given instanceof Promise) throw invalid(owner, 'client is a promise: await it')
  if ('call' in client && typeof client.call === 'function') return ([name, ...args]) => client.call(name, ...args)
  if (!('sendCommand' in client) || typeof client.sendCommand !== 'function')
    throw invalid(owner, 'client has neither sendCommand nor call: pass what createClient() of redis or new Redis() of ioredis returns')
  if ('getSlotRandomNode' in client) return (args, keyIndex) => client.sendCommand(args[keyIndex]!, false, args)
  if ('getSentinelNode' in client) throw invalid(owner, 'client is a sentinel of redis, which is not supported: pass a client or a cluster')
  return (args) => client.sendCommand(args)
}
