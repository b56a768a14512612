// Notes that modules and the engine leave about an exchange for each other. Handlers cannot reach them: handlers share values in the bag of their
// session.

import { type BagKey, bagKey } from './bag.ts'

/** The ids of a span, as W3C Trace Context writes them: 32 and 16 hexadecimal digits, in lower case. */
interface TraceIds {
  readonly traceId: string
  readonly spanId: string
}

/** Why the response is personal. `nonce` replaces `session`, because no cache may keep a nonce. */
export const PERSONAL: BagKey<'nonce' | 'session'> = bagKey('personal')
/** The span that a module has created for the exchange. */
export const SPAN: BagKey<TraceIds | null> = bagKey('span')
/** A remote procedure call, in the names of OpenTelemetry. */
export interface RpcNote {
  readonly system: 'grpc' | 'connectrpc'
  /** The full name, such as `package.Service/Method`. */
  readonly method: string
  /** The status that the client receives, as its protocol writes it, such as `NOT_FOUND`; null if it receives none. */
  readonly status: string | null
  /** For `explain`: the status that the client would receive for a response of the server. @param code of its error; null without one */
  statusOf?(status: number, code: string | null): string
}

/** The call that a request makes. */
export const RPC: BagKey<RpcNote | null> = bagKey('rpc')
/** Ends the response in its own way, because the grace of `stop` is over. */
export const ON_GRACE_OVER: BagKey<() => void> = bagKey('grace')
/** Methods that middleware answers at this path, in addition to the methods of its routes. */
export const OTHER_METHODS: BagKey<readonly string[]> = bagKey('other methods')
/** The module that has answered in place of a route. */
export const ANSWERED_BY: BagKey<string | null> = bagKey('answered by')

/** The key of each decision that modules claim. They are few, and written in the source of modules. */
const claims = new Map<string, BagKey<true>>()

export function claimOf(what: string): BagKey<true> {
  let key = claims.get(what)
  if (key === undefined) claims.set(what, (key = bagKey(what)))
  return key
}
