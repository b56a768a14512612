// The charset of a text body: UTF-8, unless its content type names another one that is supported.

import { WeirError } from '../../base/errors.ts'
import { type Charset, charsetOf } from '../../formats/charset.ts'
import type { MediaType } from '../../formats/media-type.ts'

/** @param type null for a body without a valid content type: UTF-8 @throws WEIR_CHARSET_UNKNOWN */
export function requireCharset(type: MediaType | null): Charset {
  const label = type?.parameters.get('charset')
  const charset = charsetOf(label)
  if (charset === null) throw new WeirError('WEIR_CHARSET_UNKNOWN', JSON.stringify(label!.slice(0, 40)))
  return charset
}
