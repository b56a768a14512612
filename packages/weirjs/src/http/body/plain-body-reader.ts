// Reads a body that its handler gets as text or bytes.

import { ContentTypeError, WeirError } from '../../base/errors.ts'
import type { UnsharedBytes } from '../../base/unshared-bytes.ts'
import { BYTES_TYPE, isInRange, type MediaType, parseMediaType } from '../../formats/media-type.ts'
import type { RequestBody } from './body.ts'
import { requireCharset } from './body-charset.ts'
import { BodyReader, type BodySettings } from './body-reader.ts'

const MEMBER = 'args.body'

abstract class PlainBodyReader<T> extends BodyReader<T> {
  override accepts({ type }: MediaType): boolean {
    return this.types.some((range) => isInRange(type, range))
  }
}

export class TextBodyReader extends PlainBodyReader<string> {
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

export class BytesBodyReader extends PlainBodyReader<UnsharedBytes> {
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
