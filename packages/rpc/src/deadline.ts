// How long the client waits for a call.

import { RpcError } from './rpc-error.ts'
import type { Wire } from './wire.ts'

const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 }

/** The longest time of a timer. A deadline beyond it, 24 days, is none. */
const LONGEST_TIMER = 2 ** 31 - 1

/** @returns milliseconds; null for no limit. @throws RpcError for what is not a time */
export function timeoutOf(value: string | null, { timeoutField }: Wire): number | null {
  if (value === null) return null
  const ms = timeoutField === 'grpc-timeout' ? grpcTimeout(value) : /^\d{1,10}$/.test(value) ? Number(value) : null
  if (ms === null) throw new RpcError('invalid_argument', `the field ${timeoutField} is not a time`)
  return ms > LONGEST_TIMER ? null : ms
}

function grpcTimeout(value: string): number | null {
  const match = /^(\d{1,8})([HMSmun])$/.exec(value)
  return match === null ? null : Number(match[1]) * UNITS[match[2]!]!
}
