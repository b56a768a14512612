// How a route reads its body as a value: which content types it accepts, and what its handler gets.

import type { MediaType } from '../../formats/media-type.ts'
import type { AnySchema } from '../../schema/standard.ts'
import type { JsonEngine } from '../json-engine.ts'
import type { RequestBody } from './body.ts'

/** `schema` accepts JSON and, where the schema can be read from one, url-encoded forms. Each of the others accepts one kind of content. */
export type BodyKind = 'schema' | 'json' | 'form' | 'text' | 'bytes' | 'multipart'

/** Settings of the server for reading a body. */
export interface BodySettings {
  /** Parses JSON in place of `JSON.parse`; null for none. */
  readonly jsonEngine: JsonEngine | null
  /** Status of the response to a body that does not fit its schema. */
  readonly invalidBodyStatus: 400 | 422
}

/**
 * The body of a route, which its handler gets as `args.body` of type `T`. Made by `json`, `form`, `text`, `bytes` and `multipart`, and by the
 * route itself from a schema. It never changes.
 */
export abstract class TypedBody<T = unknown> {
  /** Never set: it only carries the type. */
  declare readonly output?: T
  readonly kind: BodyKind
  /** The accepted content types, without parameters: media types, or ranges such as `image/*`. `application/json` includes all `+json` types. */
  readonly types: readonly string[]
  /** The schema of the value, of a multipart form that of its fields; null for strings and bytes. */
  readonly schema: AnySchema | null

  /** @internal */
  constructor(kind: BodyKind, types: readonly string[], schema: AnySchema | null) {
    this.kind = kind
    this.types = Object.freeze([...types])
    this.schema = schema
  }

  /** Whether the handler gets a value for a request without content. @internal */
  abstract get isOptional(): boolean

  /** Whether a request without content is refused. @internal */
  lacksContent(_contentType: string | null): boolean {
    return !this.isOptional
  }

  /** Whether content without a content type is accepted. @internal */
  get acceptsUntyped(): boolean {
    return false
  }

  /** Whether the body is read as it arrives. @internal */
  get isStreamed(): boolean {
    return false
  }

  /** Why no body can ever be read; null when one can. @internal */
  get unreadable(): string | null {
    return null
  }

  /** @throws CharsetError for text in a charset that is not supported @internal */
  abstract accepts(type: MediaType): boolean

  /**
   * Reads a body whose content type is accepted, or missing. Content without a type is refused here if the head did not tell that there
   * would be any.
   * @param body null for a request without one
   * @throws ContentTypeError, WEIR_BODY_MISSING, WEIR_BODY_MALFORMED, InvalidBodyError, PayloadTooLargeError; thrown, or rejected where a promise is returned
   * @internal
   */
  abstract read(contentType: string | null, body: RequestBody | null, settings: BodySettings): T | Promise<T>
}
