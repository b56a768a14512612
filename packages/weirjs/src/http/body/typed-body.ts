// The body of a route as a value: which content types it accepts, and what its handler gets. Contracts contain these values, and browsers import
// contracts, so the code that reads a body is elsewhere: in body-reader.ts.

import type { AnySchema } from '../../schema/standard.ts'

/** `schema` accepts JSON and, where the schema can be read from one, url-encoded forms. Each of the others accepts one kind of content. */
type BodyKind = 'schema' | 'json' | 'form' | 'text' | 'bytes' | 'multipart'

/**
 * The body of a route, which its handler gets as `args.body` of type `T`, and a client sends as an `Input`. Made by `json`, `form`, `text`, `bytes` and `multipart`, and by the
 * route itself from a schema. It never changes.
 */
export abstract class TypedBody<T = unknown, Input = unknown> {
  /** Never set: it only carries the type. */
  declare readonly output?: T
  /** Never set: it only carries the type of what clients send. */
  declare readonly input?: Input
  readonly kind: BodyKind
  /** The accepted content types, without parameters: media types, or ranges such as `image/*`. `application/json` includes all `+json` types. */
  readonly types: readonly string[]
  /** The schema of the value, or of the fields of a multipart form; null for strings and bytes. */
  readonly schema: AnySchema | null

  /** @internal */
  constructor(kind: BodyKind, types: readonly string[], schema: AnySchema | null) {
    this.kind = kind
    this.types = Object.freeze([...types])
    this.schema = schema
  }

  /** Whether the handler gets a value for a request without content. @internal */
  abstract get isOptional(): boolean
}
