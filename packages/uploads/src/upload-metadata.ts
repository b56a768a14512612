// What clients state about an upload, in the form of tus: `filename d29ybGQ=,is_private`.

import { Buffer, isUtf8 } from 'node:buffer'

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
/** The type, and one parameter of Content-Disposition (RFC 6266 §4.1): its value is a token or a quoted string. */
const TYPE = /^[\t ]*[\w!#$%&'*+.^`|~-]+[\t ]*(?=;)/
const PARAMETER = /[\t ]*;[\t ]*(?:([\w!#$%&'*+.^`|~-]+)=(?:([\w!#$%&'*+.^`|~-]+)|"((?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*)"))?/y
/** Names have up to 255 bytes. The rest is read piece by piece, and the head of each of many connections may have 30,000. */
const LONGEST_DISPOSITION = 8_192
/** Visible ASCII without the comma. */
const KEY = /^[!-+\--~]+$/

/** Reading a pair takes about a microsecond, and a client sends hundreds of heads at once. Clients of tus send a handful. */
const MOST_PAIRS = 64

/** @returns names and values; null if the text is not valid, or has more than 64 pairs. A value that is not UTF-8 is left out: it is for other programs */
export function readMetadata(text: string): ReadonlyMap<string, string> | null {
  const metadata = new Map<string, string>()
  if (text === '') return metadata
  const keys = new Set<string>()
  const pairs = text.split(',', MOST_PAIRS + 1)
  if (pairs.length > MOST_PAIRS) return null
  for (const pair of pairs) {
    const [key = '', value = '', ...more] = pair.trim().split(' ')
    if (!KEY.test(key) || keys.has(key) || more.length > 0 || !BASE64.test(value)) return null
    keys.add(key)
    const bytes = Buffer.from(value, 'base64')
    if (isUtf8(bytes)) metadata.set(key, bytes.toString('utf8'))
  }
  return metadata
}

/** What programs get of it: nothing of a text that is not valid. */
export function metadataRecord(text: string): Readonly<Record<string, string>> {
  return Object.freeze(Object.assign(Object.create(null), Object.fromEntries(readMetadata(text) ?? [])) as Record<string, string>)
}

/** The same form for what the draft states in fields about the content. */
export function metadataOfFields(contentType: string | null, disposition: string | null): string {
  const pairs: string[] = []
  const name = disposition === null ? null : fileNameOf(disposition)
  if (name !== null) pairs.push(pairOf('filename', name))
  if (contentType !== null) pairs.push(pairOf('filetype', contentType))
  return pairs.join(',')
}

function pairOf(key: string, value: string): string {
  return value === '' ? key : `${key} ${Buffer.from(value).toString('base64')}`
}

/** The file name in Content-Disposition (RFC 6266 §4.3); null without one. `filename*` takes precedence if it can be decoded. */
function fileNameOf(disposition: string): string | null {
  const parameters = parametersOf(disposition)
  const extended = /^utf-8'[^']*'(.*)$/is.exec(parameters?.get('filename*') ?? '')
  return (extended === null ? null : decoded(extended[1]!)) ?? parameters?.get('filename') ?? null
}

/** Names in lower case, and values; null if the field is not valid, too long, or repeats a name. */
function parametersOf(disposition: string): ReadonlyMap<string, string> | null {
  if (disposition.length > LONGEST_DISPOSITION) return null
  const parameters = new Map<string, string>()
  const text = disposition.trimEnd()
  PARAMETER.lastIndex = TYPE.exec(text)?.[0].length ?? text.length
  if (PARAMETER.lastIndex === text.length) return null
  while (PARAMETER.lastIndex < text.length) {
    const found = PARAMETER.exec(text)
    if (found === null) return null
    const [, name, token, quoted = ''] = found
    if (name === undefined) continue // nothing between two semicolons
    if (parameters.has(name.toLowerCase())) return null
    parameters.set(name.toLowerCase(), token ?? quoted.replace(/\\(.)/gs, '$1'))
  }
  return parameters
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
