// A body that its handler gets as text or bytes.

import { ContentTypeError, WeirError } from '../../base/errors.ts'
import { shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import type { UnsharedBytes } from '../../base/unshared-bytes.ts'
import { BYTES_TYPE, isInRange, type MediaType, mediaRange, parseMediaType } from '../../formats/media-type.ts'
import type { RequestBody } from './body.ts'
import { requireCharset } from './body-charset.ts'
import { type BodySettings, TypedBody } from './typed-body.ts'

const MEMBER = 'args.body'

abstract class PlainBody<T> extends TypedBody<T> {
  /** Without content, it is an empty string, or no bytes. */
  override get isOptional(): boolean {
    return true
  }

  override accepts({ type }: MediaType): boolean {
    return this.types.some((range) => isInRange(type, range))
  }
}

class TextBody extends PlainBody<string> {
  override accepts(type: MediaType): boolean {
    if (!super.accepts(type)) return false
    requireCharset(type)
    return true
  }

  override read(contentType: string | null, body: RequestBody | null, _settings: BodySettings): string {
    if (body === null || body.length(MEMBER) === 0) return ''
    if (contentType === null) throw new ContentTypeError(null, this.types)
    const text = body.strictText(MEMBER, requireCharset(parseMediaType(contentType)))
    if (text === null) throw new WeirError('WEIR_BODY_MALFORMED', 'it is not valid UTF-8')
    return text
  }
}

class BytesBody extends PlainBody<UnsharedBytes> {
  /** Content without a type may be treated as bytes (RFC 9110 §8.3). */
  override get acceptsUntyped(): boolean {
    return this.types.some((range) => isInRange(BYTES_TYPE, range))
  }

  override read(contentType: string | null, body: RequestBody | null): UnsharedBytes {
    if (body === null || body.length(MEMBER) === 0) return new Uint8Array(0)
    if (contentType === null && !this.acceptsUntyped) throw new ContentTypeError(null, this.types)
    return body.copy(MEMBER)
  }
}

/**
 * A string, sent in UTF-8, or in windows-1252, ISO-8859-1 or US-ASCII if its content type names that. Empty without content. Bytes that are
 * not valid UTF-8: 400.
 * @param types accepted content types, or ranges such as `text/*`. Default `text/plain`
 * @throws WEIR_OPTION_INVALID if one of them is not a media type
 */
export function text(...types: readonly string[]): TypedBody<string> {
  return new TextBody('text', rangesOf('text()', types, 'text/plain'), null)
}

/**
 * The bytes, which the handler may keep. Empty without content.
 * @param types accepted content types, or ranges such as `image/*`. Default `application/octet-stream`, which includes requests without a
 * content type
 * @throws WEIR_OPTION_INVALID if one of them is not a media type
 */
export function bytes(...types: readonly string[]): TypedBody<Uint8Array> {
  return new BytesBody('bytes', rangesOf('bytes()', types, BYTES_TYPE), null)
}

function rangesOf(owner: string, types: readonly unknown[], byDefault: string): readonly string[] {
  return types.length === 0 ? [byDefault] : types.map((type) => rangeOf(owner, type))
}

/** @throws WEIR_OPTION_INVALID */
export function rangeOf(owner: string, type: unknown): string {
  const range = typeof type === 'string' ? mediaRange(type) : null
  if (range === null)
    throw invalid(owner, `${shown(type)} is not a media type or range without parameters, such as "text/plain" or "image/*"`)
  return range
}
