// Compressed messages: gzip, and nothing else. In the thread pool, so that no message holds up the event loop.

import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'

import type { HttpSession } from 'weirjs'
import { isInstance } from 'weirjs/kit'

import { inTurn } from './expansion-queue.ts'
import { RpcError } from './rpc-error.ts'

const compress = promisify(gzip)
const expand = promisify(gunzip)

export function compressed(bytes: Uint8Array): Promise<Buffer> {
  return compress(bytes)
}

export interface ExpansionLimits {
  readonly maxMessageSize: number
  readonly maxRatio: number
}

/** So many bytes cost little, whatever they were compressed from. The test suites of gRPC and Connect send less, of nothing but zeros. */
const FREE_BYTES = 512 * 1024

/** @throws (rejects) RpcError for what is not gzip, and for what becomes larger than the limits allow */
export async function expanded(bytes: Uint8Array, session: HttpSession, { maxMessageSize, maxRatio }: ExpansionLimits): Promise<Buffer> {
  const largest = Math.max(FREE_BYTES, bytes.length * maxRatio)
  try {
    return await inTurn(session, () => expand(bytes, { maxOutputLength: Math.min(maxMessageSize, largest) }))
  } catch (error) {
    if (isInstance(error, RpcError)) throw error
    if ((error as { code?: string }).code !== 'ERR_BUFFER_TOO_LARGE')
      throw new RpcError('invalid_argument', 'a message is not in the compression that it states')
    throw largest < maxMessageSize
      ? new RpcError('resource_exhausted', `a message may become at most ${maxRatio} times as large when decompressed (maxRatio)`)
      : new RpcError('resource_exhausted', `a message may have at most ${maxMessageSize} bytes (maxMessageSize), decompressed`)
  }
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
export function acceptsGzip({ request, clientCertificate }: HttpSession, field: string): boolean {
  const accepted = request.header(field)
  if (accepted === null || !/(?:^|[,\s])gzip(?:[,;\s]|$)/.test(accepted) || /gzip\s*;\s*q=0(?:\.0*)?\s*(?:,|$)/.test(accepted)) return false
  if (request.header('sec-fetch-site') !== 'cross-site') return true
  return request.cookies === 0 && request.header('authorization') === null && clientCertificate === null
}
