// What clients state about an upload, in the form of tus: `filename d29ybGQ=,is_private`.

import { Buffer, isUtf8 } from 'node:buffer'
import { decodePercent, isToken, parseParameters } from 'weirjs/kit'

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
/** Visible ASCII without the comma. */
const KEY = /^[!-+\--~]+$/

/** @returns names and values; null if the text is not valid. A value that is not UTF-8 is left out: it is for other programs */
export function readMetadata(text: string): ReadonlyMap<string, string> | null {
  const metadata = new Map<string, string>()
  if (text === '') return metadata
  const keys = new Set<string>()
  for (const pair of text.split(',')) {
    const [key = '', value = '', ...more] = pair.trim().split(' ')
    if (!KEY.test(key) || keys.has(key) || more.length > 0 || !BASE64.test(value)) return null
    keys.add(key)
    const bytes = Buffer.from(value, 'base64')
    if (isUtf8(bytes)) metadata.set(key, bytes.toString('utf8'))
  }
  return metadata
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
  const end = disposition.indexOf(';')
  if (end === -1 || !isToken(disposition.slice(0, end).trim())) return null
  const parameters = parseParameters(disposition, end)
  if (parameters === null) return null
  const extended = /^utf-8'[^']*'(.*)$/is.exec(parameters.get('filename*') ?? '')
  const decoded = extended === null ? null : decodePercent(extended[1]!)
  return decoded ?? parameters.get('filename') ?? null
}
