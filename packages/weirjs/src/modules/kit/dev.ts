// What `@weirjs/dev` needs of a server in addition to what modules need: to watch and mask its traffic, and to start, query and test it.

import { setBy } from '../../app/explain/limit-text.ts'
import type { Level } from '../../app/routes/scope.ts'
import { Schema } from '../../schema/schema.ts'
import type { AnySchema } from '../../schema/standard.ts'
import { type HttpServer, hostOf } from '../../server.ts'

export { type Frame, framesOf, type SourceLines } from '../../app/debug/source-frames.ts'
export { documentsOf } from '../../app/documents.ts'
export { limitText } from '../../app/explain/limit-text.ts'
export { visible } from '../../base/visible.ts'
export { wholeAnswer } from '../../net/inject/inject.ts'
export type { ExchangeTap, RawExchange } from '../../net/inject/recorded-connection.ts'
export { REQUEST_RULES, type RequestBytes, requestBytes, requestOf } from '../../net/inject/request-bytes.ts'
export type { ExchangeWatcher, WatchedServer } from '../../net/inject/watched-server.ts'
export { removeStale } from '../../net/listen/unix-socket.ts'
export { replaceStart } from '../../server.ts'
export { type MaskedText, type Masking, masking } from './masking.ts'
export { requestFields, responseFields, watchBody, watchContent } from './seen.ts'
export { tapExchanges, untapped, watched } from './tap.ts'

/** A limit or a timeout of a server. */
export interface ServerLimit {
  readonly name: string
  /** Null: no limit. */
  readonly value: number | null
  /** The level that has set it. `default`: it has the default value. */
  readonly level: Level | 'default'
}

/** All limits and timeouts of a server. */
export function limitsOf(server: HttpServer): ServerLimit[] {
  const { limits, timeouts } = hostOf(server)
  return Object.entries({ ...limits, ...timeouts }).map(([name, value]) => ({ name, value, level: setBy(name, value, 'server') }))
}

/** What a schema accepts, in words. */
export function expectationOf(schema: AnySchema): string {
  return schema instanceof Schema ? schema.describe() : `a value of ${schema['~standard'].vendor}`
}
