// Compressed messages, with gzip only. A few small ones are processed synchronously; others in the thread pool, so that no message blocks the event
// loop.

import { promisify } from 'node:util'
import { gunzip, gunzipSync, gzip, gzipSync } from 'node:zlib'

import type { HttpSession } from 'weirjs'
import { exchange, FairQueue, isInstance, networkOf } from 'weirjs/kit'

import type { RpcCall } from './call.ts'
import { RpcError } from './rpc-error.ts'

const compress = promisify(gzip)
const expand = promisify(gunzip)

/**
 * How much a turn of the event loop may compress and decompress synchronously, in decompressed bytes or an equal amount of work: about 20 ms. A
 * thousand small messages would delay all other connections.
 */
const MOST_IN_A_TURN = 4 * 1024 * 1024
/** The cost of each message in addition to its bytes. */
const LEAST_COST = 4 * 1024
/** Each compressed byte counts as at least this many bytes: a few of them may be an empty block, for which zlib still builds its tables. */
const BYTES_FOR_ONE = 16
/** Up to this size, compressing a message takes less CPU than passing it to the thread pool and back. */
const SMALL_BYTES = 32 * 1024
/** Compressing takes as long as decompressing this many times the bytes. */
const COST = 4
/** The same level as in `compression`, where it was measured. */
const LEVEL = 5
/** Smaller chunks: Node would allocate 16 KiB, and most messages are smaller. */
const OPTIONS = { level: LEVEL, chunkSize: 4 * 1024 }
/** A small window that holds the whole message takes less time to create than zlib's default. */
const SMALL_WINDOW = { ...OPTIONS, windowBits: 13 }
const SMALL_WINDOW_BYTES = 2 ** SMALL_WINDOW.windowBits

export function compressed(bytes: Uint8Array): Buffer | Promise<Buffer> {
  if (bytes.length > SMALL_BYTES || !mayWorkNow(COST * bytes.length)) return compress(bytes, { level: LEVEL })
  return gzipSync(bytes, bytes.length <= SMALL_WINDOW_BYTES ? SMALL_WINDOW : OPTIONS)
}

export interface ExpansionLimits {
  readonly maxMessageSize: number
  readonly maxRatio: number
}

/** Up to this many decompressed bytes, any ratio is allowed. The test suites of gRPC and Connect send fewer, all of them zeros. */
const FREE_BYTES = 512 * 1024
/** The largest compressed message that is decompressed synchronously, if its decompressed size is small too. */
const MOST_COMPRESSED_NOW = 4 * 1024
const MOST_EXPANDED_NOW = 64 * 1024
/** The smallest chunk that zlib accepts. */
const LEAST_CHUNK = 64

/** @throws RpcError if it is not gzip, or becomes larger than the limits allow */
export function expanded(bytes: Uint8Array, sender: Sender, limits: ExpansionLimits): Buffer | Promise<Buffer> {
  return expandedNow(bytes, limits) ?? expandedInPool(bytes, sender, limits)
}

/** @returns null if it is too much, or has more than it states. @throws RpcError */
function expandedNow(bytes: Uint8Array, limits: ExpansionLimits): Buffer | null {
  if (bytes.length > MOST_COMPRESSED_NOW) return null
  // One byte more than its end states shows zlib that it has all.
  const room = statedBytes(bytes) + 1
  if (room > MOST_EXPANDED_NOW || !mayWorkNow(Math.max(room, BYTES_FOR_ONE * bytes.length))) return null
  const most = mostBytes(bytes, limits)
  try {
    return gunzipSync(bytes, { chunkSize: Math.max(LEAST_CHUNK, room), maxOutputLength: Math.min(room, most) })
  } catch (error) {
    if (isTooLarge(error) && room <= most) return null
    throw expansionError(error, bytes, limits)
  }
}

/** The size that gzip states at the end of its last member (RFC 1952, ISIZE). Usually it is correct, but a client may state any value. */
function statedBytes(bytes: Uint8Array): number {
  const { length } = bytes
  return length < 4 ? 0 : Buffer.from(bytes.buffer, bytes.byteOffset, length).readUInt32LE(length - 4)
}

/** The call whose message waits. */
export type Sender = Pick<RpcCall, 'session' | 'signal'>

/** Fewer than the pool has threads, because files and DNS names use it too. */
const MOST_AT_WORK = 2

/**
 * Bounds how many messages are decompressed at the same time: zlib processes a message in many steps, in turn with all others that have begun. A
 * thousand messages that begin together would all be in memory before the first one is complete.
 */
const semaphore = FairQueue.semaphore(MOST_AT_WORK)

/**
 * Clients take turns, so that none waits for everything that another one has sent. @throws (rejects) the reason why the call has ended meanwhile:
 * its client has left, or its deadline has passed. Its message is then dropped
 */
export function inTurn<T>({ session, signal }: Sender, work: () => Promise<T>): Promise<T> {
  return semaphore(networkOf(exchange(session).clientAddress), signal, work)
}

async function expandedInPool(bytes: Uint8Array, sender: Sender, limits: ExpansionLimits): Promise<Buffer> {
  try {
    return await inTurn(sender, () => expand(bytes, { maxOutputLength: mostBytes(bytes, limits) }))
  } catch (error) {
    throw isInstance(error, RpcError) ? error : expansionError(error, bytes, limits)
  }
}

function ratioBytes({ length }: Uint8Array, maxRatio: number): number {
  return Math.max(FREE_BYTES, length * maxRatio)
}

function mostBytes(bytes: Uint8Array, { maxMessageSize, maxRatio }: ExpansionLimits): number {
  return Math.min(maxMessageSize, ratioBytes(bytes, maxRatio))
}

function isTooLarge(error: unknown): boolean {
  return (error as { readonly code?: string }).code === 'ERR_BUFFER_TOO_LARGE'
}

function expansionError(error: unknown, bytes: Uint8Array, { maxMessageSize, maxRatio }: ExpansionLimits): RpcError {
  if (!isTooLarge(error)) return new RpcError('invalid_argument', 'a message is not in the compression that it states')
  return ratioBytes(bytes, maxRatio) < maxMessageSize
    ? new RpcError('resource_exhausted', `a message may become at most ${maxRatio} times as large when decompressed (maxRatio)`)
    : new RpcError('resource_exhausted', `a message may have at most ${maxMessageSize} bytes (maxMessageSize), decompressed`)
}

/** @returns whether messages are compressed. @throws RpcError for another compression than gzip */
export function isCompressing(encoding: string | null): boolean {
  if (encoding === null || encoding === '' || encoding === 'identity') return false
  if (encoding === 'gzip') return true
  throw new RpcError('unimplemented', 'the messages are in a compression that this server does not know; it knows gzip')
}

/**
 * Whether the client takes gzip. Not for a page of another site that sends cookies or other credentials: from the compressed length, the page could
 * learn which of its guesses occur in the response.
 */
export function acceptsGzip(session: HttpSession, field: string): boolean {
  const handle = exchange(session)
  const accepted = handle.field(field)
  if (accepted === null || !/(?:^|[,\s])gzip(?:[,;\s]|$)/.test(accepted) || /gzip\s*;\s*q=0(?:\.0*)?\s*(?:,|$)/.test(accepted)) return false
  if (handle.field('sec-fetch-site') !== 'cross-site') return true
  // The values of the cookies do not matter to the response, and the certificate is checked last, so that a response to other clients may still be
  // cached.
  if (handle.cookies(true).length > 0 || handle.field('authorization') !== null) return false
  return session.clientCertificate === null && handle.peer.clientTls?.isVerified !== true
}

let left = MOST_IN_A_TURN

/** Whether so many bytes may be decompressed synchronously. */
function mayWorkNow(bytes: number): boolean {
  const cost = Math.max(LEAST_COST, bytes)
  if (cost > left) return false
  if (left === MOST_IN_A_TURN) setImmediate(renew)
  left -= cost
  return true
}

function renew(): void {
  left = MOST_IN_A_TURN
}
