// What commands and pages for developers show about a server, and how they take part in its start.

import { setBy } from '../../app/explain/limit-text.ts'
import type { Level } from '../../app/routes/scope.ts'
import { Schema } from '../../schema/schema.ts'
import type { AnySchema } from '../../schema/standard.ts'
import { type HttpServer, hostOf } from '../../server.ts'

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
