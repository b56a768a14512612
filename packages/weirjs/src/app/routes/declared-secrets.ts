// What routes declare as secret, for code that keeps or shows what clients send.

import { SecretSegments } from '../../formats/masking/secret-segments.ts'
import { SecretNames } from '../../formats/masking/secret-words.ts'
import { EventsBody } from '../../http/body/plain-body.ts'
import { TypedBody } from '../../http/body/typed-body.ts'
import { addSecretNames } from '../../schema/parts-within.ts'
import { Schema } from '../../schema/schema.ts'
import { type AnySchema, isSchema } from '../../schema/standard.ts'
import type { RouteListing } from './route-listing.ts'

export interface SecretsHost {
  readonly routes: readonly RouteListing[]
  readonly basePath?: string
}

/** The secrets of a server whose routes may be mapped at any time. */
export class DeclaredSecrets {
  readonly #host: SecretsHost
  readonly #more: readonly string[]
  #count = -1
  names = new SecretNames()
  segments = new SecretSegments('')

  /** @param more names that are secret too */
  constructor(host: SecretsHost, more: readonly string[]) {
    this.#host = host
    this.#more = more
  }

  /** Looks for routes that have been mapped since. Listing them takes time: do not call it for every exchange. */
  refresh(): void {
    const { routes, basePath = '' } = this.#host
    if (routes.length === this.#count) return
    this.#count = routes.length
    this.names = new SecretNames(this.#more)
    this.segments = new SecretSegments(basePath)
    for (const { path, bindings, body, answers, messages, tool } of routes) {
      const secret = Object.values(bindings).filter(({ schema }) => schema instanceof Schema && schema.holdsSecret)
      // In a call of a tool, a parameter of the path is an argument with the same name.
      this.names.add(secret.filter(({ source }) => source !== 'path' || tool !== null).map(({ name }) => name))
      this.segments.add(
        path,
        secret.filter(({ source }) => source === 'path').map(({ name }) => name),
      )
      const names = new Set<string>()
      const declared = [body, ...Object.values(answers), messages?.receives, messages?.sends]
      for (const schema of declared.flatMap(schemasOf)) addSecretNames(schema, null, names)
      this.names.add(names)
    }
  }
}

/** The schemas of a body, a declared response or a message. */
function schemasOf(declared: AnySchema | TypedBody | null | undefined): readonly AnySchema[] {
  if (declared instanceof EventsBody) return isSchema(declared.data) ? [declared.data] : Object.values(declared.data ?? {})
  const schema = declared instanceof TypedBody ? declared.schema : declared
  return schema === null || schema === undefined ? [] : [schema]
}
