// The two formats of lines: the combined format of Apache and nginx, and JSON.

import { type AccessLogEntry, quotesEscaped } from './entry.ts'
import { jsonAscii, jsonString, quotable, wordOf } from './printable.ts'

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `addr - user [date] "request" status bytes "referer" "agent"`. */
export function combinedLine(entry: AccessLogEntry): string {
  const { clientAddress, user, referer, userAgent, status, bytesOut } = entry
  const address = clientAddress === '' ? '-' : wordOf(clientAddress)
  const name = user === null || user === '' ? '-' : wordOf(user)
  const code = status === 0 ? '000' : status
  return `${address} - ${name} [${combinedDate(entry.startedAt)}] "${requestLine(entry)}" ${code} ${bytesOut} "${quoted(referer)}" "${quoted(userAgent)}"`
}

function requestLine({ kind, method, url, protocol }: AccessLogEntry): string {
  if (kind === 'head') return url === null ? '-' : quotesEscaped(url)
  return method === null || url === null ? '-' : `${quotable(method)} ${quotable(url)} ${protocol}`
}

function quoted(text: string | null): string {
  return text === null ? '-' : quotable(text)
}

let dateSecond = -1
let dateText = ''

/** `23/Nov/2026:00:17:56 +0000`. Made once a second. */
function combinedDate(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== dateSecond) {
    const iso = new Date(second * 1000).toISOString()
    dateSecond = second
    dateText = `${iso.slice(8, 10)}/${MONTHS[Number(iso.slice(5, 7)) - 1]}/${iso.slice(0, 4)}:${iso.slice(11, 19)} +0000`
  }
  return dateText
}

let isoSecond = -1
let isoText = ''

/** ISO 8601 in UTC with milliseconds. Everything but the milliseconds is made once a second. */
export function isoTime(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== isoSecond) {
    isoSecond = second
    isoText = new Date(second * 1000).toISOString().slice(0, 20)
  }
  const rest = ms - second * 1000
  return `${isoText}${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}Z`
}

/**
 * A JSON object of ASCII characters. What is null is left out, and so are `firstByteMs` if the
 * response was sent in one piece, and the id of the connection if that of the request begins with it.
 */
export function jsonLine(entry: AccessLogEntry): string {
  let line = `{"time":"${isoTime(entry.startedAt)}"`
  if (entry.kind !== 'request') line += `,"kind":"${entry.kind}"`
  line += `,"status":${entry.status},"outcome":"${entry.outcome}"`
  if (entry.method !== null) line += `,"method":${jsonString(entry.method)}`
  if (entry.url !== null) line += `,"url":${jsonString(entry.url)}`
  if (entry.protocol !== null) line += `,"protocol":${jsonString(entry.protocol)}`
  if (entry.host !== null) line += `,"host":${jsonString(entry.host)}`
  if (entry.route !== null) line += `,"route":${jsonString(entry.route)}`
  if (entry.code !== null) line += `,"code":${jsonString(entry.code)}`
  line += `,"durationMs":${millis(entry.durationMs)}`
  if (entry.firstByteMs !== null && entry.firstByteMs !== entry.durationMs) line += `,"firstByteMs":${millis(entry.firstByteMs)}`
  if (entry.isSlow) line += ',"slow":true'
  line += `,"bytesIn":${entry.bytesIn},"bytesOut":${entry.bytesOut}`
  if (entry.clientAddress !== '') line += `,"clientAddress":${jsonString(entry.clientAddress)}`
  if (entry.user !== null) line += `,"user":${jsonString(entry.user)}`
  if (entry.referer !== null) line += `,"referer":${jsonString(entry.referer)}`
  if (entry.userAgent !== null) line += `,"userAgent":${jsonString(entry.userAgent)}`
  if (entry.fields !== null) line += `,"fields":${jsonAscii(entry.fields)}`
  if (entry.requestId !== null) line += `,"requestId":"${entry.requestId}"`
  else if (entry.connectionId !== null) line += `,"connectionId":"${entry.connectionId}"`
  if (entry.traceId !== null) line += `,"traceId":"${entry.traceId}","spanId":"${entry.spanId}"`
  return `${line}}`
}

/** With microseconds. Writing two whole numbers is much faster than writing a fraction. */
function millis(ms: number): string {
  const micros = Math.round(ms * 1000)
  const whole = Math.floor(micros / 1000)
  const rest = micros - whole * 1000
  return rest === 0 ? `${whole}` : `${whole}.${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}`
}
