// Finds the secrets in a body, whatever its type.

import { Buffer } from 'node:buffer'

import { jsonSecrets, loosePartSecrets, partSecrets } from '../../formats/masking/contents.ts'
import { looseSecrets } from '../../formats/masking/loose-secrets.ts'
import { pairSecrets } from '../../formats/masking/pairs.ts'
import { addAll, credentialsIn, type Range, userInfoIn } from '../../formats/masking/ranges.ts'
import type { SecretNames } from '../../formats/masking/secret-words.ts'
import { parseMediaType } from '../../formats/media-type.ts'

/** The first line that could delimit parts. */
const DELIMITER = /(?:^|[\r\n])--([^\r\n]{1,70})[\r\n]/

/** Every reader reads every body: its type is what a client says, and a part of a form may be JSON. */
export function bodySecrets(text: string, contentType: string | null, names: SecretNames): Range[] {
  const found = plainSecrets(text, contentType, names)
  if (text.includes('\0')) addAll(found, wideSecrets(text, contentType, names))
  addAll(found, base64Secrets(text, names))
  return found
}

/** Base64 as it stands in URLs and JSON, too, and in lines, as in mail. */
const BASE64 = /(?:[\w+/-]|%2[bf]|\\\/){16,}(?:\r?\n(?!--)[\w+/-]+)*={0,2}/gi

/** What is JSON or a form with secrets in base64: a message of gRPC-Web in a text, a part of a form, or the message of a GET of Connect. */
export function base64Secrets(text: string, names: SecretNames): Range[] {
  const found: Range[] = []
  const addIf = (coded: string, at: number): boolean => {
    const isSecret = holdsSecrets(fromBase64(coded), names)
    if (isSecret) found.push([at, at + coded.length])
    return isSecret
  }
  // Lines and segments of a path may be texts of their own.
  for (const { index, 0: coded } of text.matchAll(BASE64))
    if (!addIf(coded, index)) for (const { index: at, 0: part } of coded.matchAll(/[^\s/]{16,}/g)) addIf(part, index + at)
  return found
}

function fromBase64(coded: string): string {
  return Buffer.from(coded.replace(/%2b/gi, '+').replace(/%2f/gi, '/'), 'base64').toString('latin1')
}

function plainSecrets(text: string, contentType: string | null, names: SecretNames): Range[] {
  const type = contentType === null ? null : parseMediaType(contentType)
  const stated = type?.type.startsWith('multipart/') === true ? type.parameters.get('boundary') : undefined
  const boundaries = new Set([stated, DELIMITER.exec(text)?.[1]?.trimEnd()])
  const found = [...jsonSecrets(text, names), ...looseSecrets(text, names), ...credentialsIn(text), ...userInfoIn(text)]
  for (const boundary of boundaries) if (boundary !== undefined) addAll(found, partSecrets(text, boundary, names))
  addAll(found, loosePartSecrets(text, names))
  // In a form, a value ends at `&` only. Elsewhere that would hide the rest of the text.
  if (type?.type === 'application/x-www-form-urlencoded' || FORM.test(text)) addAll(found, pairSecrets(text, names))
  if (contentType !== null && TABLE.test(contentType)) addAll(found, columnSecrets(text, names))
  return found
}

/**
 * In UTF-16 and UTF-32, there are NULs between the letters of a name. Read byte by byte, as a part of a body may be, and in pairs, because other
 * letters may contain the byte of a quote.
 */
function wideSecrets(text: string, contentType: string | null, names: SecretNames): Range[] {
  return [1, 2].flatMap((width) => {
    const places: number[] = []
    const chars: string[] = []
    for (let i = 0; i < text.length; i += width) {
      const [first, second = '\0'] = [text[i]!, width === 1 ? '\0' : text[i + 1]]
      if (first === '\0' && second === '\0') continue
      places.push(i)
      chars.push(second === '\0' ? first : first === '\0' ? second : '\xff')
    }
    return plainSecrets(chars.join(''), contentType, names)
      .filter(([start, end]) => start < end)
      .map(([start, end]): Range => [places[start]!, Math.min(places[end - 1]! + width, text.length)])
  })
}

function holdsSecrets(decoded: string, names: SecretNames): boolean {
  return jsonSecrets(decoded, names).length > 0 || (FORM.test(decoded) && pairSecrets(decoded, names).length > 0)
}

/** What may be a form. */
const FORM = /^[^\s=&<{["]+=/

const TABLE = /\b(?:csv|tab-separated-values)\b/i

/** The columns with secret names in CSV. */
function columnSecrets(text: string, names: SecretNames): Range[] {
  const found: Range[] = []
  const separator = /^[^\r\n]*?([,;\t])/.exec(text)?.[1] ?? ','
  const secret = new Set<number>()
  let isHead = true
  let column = 0
  for (let at = Math.max(0, text.search(/[^\r\n]/)); at < text.length; ) {
    const end = cellEnd(text, at, separator)
    if (isHead && names.has(text.slice(at, end).replace(/^\W+|["\s]/g, ''))) secret.add(column)
    else if (!isHead && secret.has(column) && end > at) found.push([at, end])
    column = text[end] === separator ? column + 1 : 0
    isHead &&= column > 0
    at = end + 1
  }
  return found
}

/** A quoted cell may contain separators and line ends. A quote that is not closed is an ordinary character. */
function cellEnd(text: string, at: number, separator: string): number {
  let end = at
  if (text[at] === '"')
    for (let i = text.indexOf('"', at + 1); i !== -1; i = text.indexOf('"', i + 2))
      if (text[i + 1] !== '"') {
        end = i + 1
        break
      }
  while (end < text.length && text[end] !== separator && text[end] !== '\n' && text[end] !== '\r') end++
  return end
}
