// Compressed messages: gzip, and nothing else. Small ones at once, as long as they are few; others in the thread pool, so that no message holds up
// the event loop.

import { promisify } from 'node:util'
import { gunzip, gunzipSync, gzip, gzipSync } from 'node:zlib'

import type { HttpSession } from 'weirjs'
import { exchange, isInstance } from 'weirjs/kit'

import { inTurn, type Sender } from './expansion-queue.ts'
import { RpcError } from './rpc-error.ts'

const compress = promisify(gzip)
const expand = promisify(gunzip)

/**
 * What a turn of the event loop compresses and decompresses itself, in bytes that are decompressed or as many as take as long: about 20 ms. A thousand
 * small messages would hold up all other connections.
 */
const MOST_IN_A_TURN = 4 * 1024 * 1024
/** What each message costs beside its bytes. */
const LEAST_COST = 4 * 1024
/** So many bytes at least take as long as one that is compressed: a few of them may be a block that becomes nothing, whose tables are made anyway. */
const BYTES_FOR_ONE = 16
/** Up to here, to compress a message takes less CPU than its way to the thread pool and back. */
const SMALL_BYTES = 32 * 1024
/** To compress takes as long as to decompress so many times the bytes. */
const COST = 4
/** As `compression` has it: measured there. */
const LEVEL = 5
/** Node would allocate 16 KiB for what is mostly less. */
const OPTIONS = { level: LEVEL, chunkSize: 4 * 1024 }
/** A window that holds all of so small a message takes less time to create than zlib's own. */
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

/** So many bytes cost little, whatever they were compressed from. The test suites of gRPC and Connect send less, of nothing but zeros. */
const FREE_BYTES = 512 * 1024
/** What is decompressed at once: a message of so many bytes, if it becomes no larger than that. */
const MOST_COMPRESSED_NOW = 4 * 1024
const MOST_EXPANDED_NOW = 64 * 1024
/** The least that zlib takes. */
const LEAST_CHUNK = 64

/** @throws RpcError for what is not gzip, and for what becomes larger than the limits allow */
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

/** The size that gzip states behind the bytes of its last part (RFC 1952, ISIZE): usually, and in the worst case a lie. */
function statedBytes(bytes: Uint8Array): number {
  const { length } = bytes
  return length < 4 ? 0 : Buffer.from(bytes.buffer, bytes.byteOffset, length).readUInt32LE(length - 4)
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
 * Whether the client takes gzip. A page of another site that sends cookies, or what else tells whose request it is, does not get it: the length of what
 * is compressed would show which of its guesses occur in it.
 */
export function acceptsGzip(session: HttpSession, field: string): boolean {
  const handle = exchange(session)
  const accepted = handle.field(field)
  if (accepted === null || !/(?:^|[,\s])gzip(?:[,;\s]|$)/.test(accepted) || /gzip\s*;\s*q=0(?:\.0*)?\s*(?:,|$)/.test(accepted)) return false
  if (handle.field('sec-fetch-site') !== 'cross-site') return true
  // Which cookies there are does not matter to the response, and a certificate is looked at last: what is sent to others may still be kept for all.
  if (handle.cookies(true).length > 0 || handle.field('authorization') !== null) return false
  return session.clientCertificate === null && handle.peer.clientTls?.isVerified !== true
}

let left = MOST_IN_A_TURN

/** Whether so many bytes may be decompressed at once. */
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
