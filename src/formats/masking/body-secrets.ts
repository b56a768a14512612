// Where the secrets of a body are, whatever its type.

import { isJson, parseMediaType } from '../media-type.ts'
import { jsonSecrets, pairSecrets, partSecrets, type Range } from './ranges.ts'
import type { SecretNames } from './secret-words.ts'

/** A body that its type does not describe is read as what it looks like. */
export function bodySecrets(text: string, contentType: string | null, names: SecretNames): Range[] {
  const type = contentType === null ? null : parseMediaType(contentType)
  const boundary = type?.type.startsWith('multipart/') === true ? type.parameters.get('boundary') : undefined
  if (boundary !== undefined) return partSecrets(text, boundary, names)
  if ((type !== null && isJson(type.type)) || /^[\s\xef\xbb\xbf]*[[{"]/.test(text)) return jsonSecrets(text, names)
  if (type?.type === 'application/x-www-form-urlencoded' || /^[^\s=&<]+=/.test(text)) return pairSecrets(text, names)
  return jsonSecrets(text, names)
}
