// How the server reads a body that a route declares. One reader is made when the route is mapped.

import type { Clock } from '../../base/clock.ts'
import type { MediaType } from '../../formats/media-type.ts'
import type { JsonEngine } from '../json-engine.ts'
import type { RequestBody } from './body.ts'
import type { TypedBody } from './typed-body.ts'

/** Settings of the server for reading a body. One object for each server. */
export interface BodySettings {
  /** Parses JSON in place of `JSON.parse`; null for none. */
  readonly jsonEngine: JsonEngine | null
  /** Status of the response to a body that does not fit its schema. */
  readonly invalidBodyStatus: 400 | 422
}

/** What a body may be verified by, in addition to its bytes. */
export interface Sender {
  readonly head: { get(name: string): string | null }
  readonly clock: Clock
}

export abstract class BodyReader<T = unknown> {
  readonly declared: TypedBody<T>

  constructor(declared: TypedBody<T>) {
    this.declared = declared
  }

  /** The accepted content types, without parameters. */
  get types(): readonly string[] {
    return this.declared.types
  }

  /** Whether the handler gets a value for a request without content. */
  get isOptional(): boolean {
    return this.declared.isOptional
  }

  /** Whether a request without content is refused. */
  lacksContent(_contentType: string | null): boolean {
    return !this.isOptional
  }

  /** Whether content without a content type is accepted. */
  get acceptsUntyped(): boolean {
    return false
  }

  /** Whether the body is read as it arrives. */
  get isStreamed(): boolean {
    return false
  }

  /** Why no body can ever be read; null when one can. */
  get unreadable(): string | null {
    return null
  }

  /** @throws CharsetError for text in a charset that is not supported */
  abstract accepts(type: MediaType): boolean

  /**
   * Reads a body whose content type is accepted, or missing. Content without a type is refused here if the head did not announce any content.
   * @param body null for a request without one
   * @param sender for a body that is verified
   * @throws ContentTypeError, WEIR_BODY_MISSING, WEIR_BODY_MALFORMED, InvalidBodyError, PayloadTooLargeError; thrown, or rejected where a promise
   *   is returned
   */
  abstract read(contentType: string | null, body: RequestBody | null, settings: BodySettings, sender: Sender): T | Promise<T>
}
