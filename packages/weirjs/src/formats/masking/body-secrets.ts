// Finds the secrets in a body, whatever its type.

import { parseMediaType } from '../media-type.ts'
import { jsonSecrets, partSecrets } from './contents.ts'
import { looseSecrets } from './loose-secrets.ts'
import { pairSecrets } from './pairs.ts'
import { addAll, credentialsIn, type Range, userInfoIn } from './ranges.ts'
import type { SecretNames } from './secret-words.ts'

/** The first line that could delimit parts. */
const DELIMITER = /(?:^|[\r\n])--([^\r\n]{1,70})[\r\n]/

/** Every reader reads every body: its type is what a client says, and a part of a form may be JSON. */
export function bodySecrets(text: string, contentType: string | null, names: SecretNames): Range[] {
  const type = contentType === null ? null : parseMediaType(contentType)
  const stated = type?.type.startsWith('multipart/') === true ? type.parameters.get('boundary') : undefined
  const boundaries = new Set([stated, DELIMITER.exec(text)?.[1]?.trimEnd()])
  const found = [...jsonSecrets(text, names), ...looseSecrets(text, names), ...credentialsIn(text), ...userInfoIn(text)]
  for (const boundary of boundaries) if (boundary !== undefined) addAll(found, partSecrets(text, boundary, names))
  // In a form, a value ends at `&` only. Elsewhere that would hide the rest of the text.
  if (type?.type === 'application/x-www-form-urlencoded' || /^[^\s=&<{["]+=/.test(text)) addAll(found, pairSecrets(text, names))
  return found
}
