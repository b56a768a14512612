// `weirjs/decompression`: request bodies in a content coding (RFC 9110 §8.4), decoded as they arrive.
//
// The gate checks the coding before the body is read, and asks the engine for the bytes as they arrive. The middleware puts a body that decodes
// in place of the body that was received; where the route needs the whole body, it waits for it.

import type { Policy } from '../../app/policies/policy.ts'
import { WeirError } from '../../base/errors.ts'
import { count, listOf, readBy } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import { networkOf } from '../../formats/client-network.ts'
import type { ExchangeHandle } from '../kit/exchange.ts'
import { exchange } from '../kit/exchange.ts'

import { CODING_NAMES, isAvailable, type RequestCoding } from './codings.ts'
import { Decoding } from './decoding.ts'

export interface DecompressionOptions {
  /** The codings that clients may use. Default gzip, deflate, br, and zstd from Node 24 on. */
  readonly codings?: readonly RequestCoding[]
  /** Most decoded bytes for each received byte, in a body of more than 64 KiB when decoded. Default 100; `Infinity` for no limit. Beyond it: 413. */
  readonly maxRatio?: number
}

const OWNER = 'decompression'
const CODINGS = listOf(...CODING_NAMES).filled()
/** @internal */
export const DECOMPRESSION_RULES = rules<DecompressionOptions>(OWNER)({
  codings: readBy(codingsOf).or(CODING_NAMES.filter(isAvailable), 'gzip, deflate, br, zstd'),
  maxRatio: count({ least: 1 }).also(Number.POSITIVE_INFINITY).or(100),
})

/**
 * Returns a policy that decodes request bodies, so that everything that reads them sees them without their content coding. `maxRequestBodySize`
 * counts decoded bytes, too. A body in another coding, or in more than one, is refused with 415 before it is read. The policy is called
 * `decompression`: on a group or a route, it replaces the outer one.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function decompression(options: DecompressionOptions = {}): Policy {
  const { codings, maxRatio } = DECOMPRESSION_RULES.read(options)
  const accepted = codings.join(', ')

  return {
    name: 'decompression',
    gate(session): void {
      const handle = exchange(session)
      const stated = statedCoding(handle)
      if (stated === null || !handle.isRouted || !handle.hasBody) return
      if (!isOneOf(codings, stated)) {
        session.response.header('Accept-Encoding', accepted)
        throw new WeirError('WEIR_CONTENT_CODING_UNSUPPORTED', `${JSON.stringify(stated.slice(0, 100))}, only one of ${accepted}`)
      }
      handle.requireStream()
    },
    middleware(session, next): unknown {
      const { request } = session
      const handle = exchange(session)
      const coding = statedCoding(handle)
      if (coding === null || !handle.isRouted || !handle.hasBody) return next()
      const limits = { maxRequestBodySize: request.maxRequestBodySize, maxRatio }
      const client = networkOf(handle.clientAddress)
      const whole = handle.decodeBody(OWNER, (body) => new Decoding(body, client, coding as RequestCoding, limits))
      return whole === null ? next() : whole.then(next)
    },
    describe: () => ({ codings, maxRatio }),
  }
}

/** Content-Encoding in lower case; null without a coding. A list of codings is returned as it is. */
function statedCoding(handle: ExchangeHandle): string | null {
  const field = handle.field('content-encoding')
  if (field === null) return null
  const coding = field.toLowerCase()
  if (coding === '' || coding === 'identity') return null
  return coding === 'x-gzip' ? 'gzip' : coding // RFC 9110 §8.4.1.3
}

function isOneOf(codings: readonly RequestCoding[], coding: string): boolean {
  return (codings as readonly string[]).includes(coding)
}

function codingsOf(codings: readonly RequestCoding[]): readonly RequestCoding[] {
  CODINGS.read(codings, { owner: OWNER, option: 'codings' })
  for (const one of codings) if (!isAvailable(one)) throw invalid(OWNER, `codings: this version of Node does not support ${one}`)
  return Object.freeze([...new Set(codings)])
}
