// The charset of a text body: UTF-8, unless its content type names another one that is supported.

import { CharsetError } from '../../base/errors.ts'
import { CHARSETS, type Charset, charsetOf } from '../../formats/charset.ts'
import { type MediaType, parseMediaType } from '../../formats/media-type.ts'

/** @param type null for a body without a valid content type: UTF-8 @throws CharsetError */
export function requireCharset(type: MediaType | null): Charset {
  const label = type?.parameters.get('charset')
  const charset = charsetOf(label)
  if (charset === null) throw new CharsetError(label!, CHARSETS)
  return charset
}

/** @param contentType null: UTF-8 @throws CharsetError */
export function statedCharset(contentType: string | null): Charset {
  return requireCharset(contentType === null ? null : parseMediaType(contentType))
}
