// The two formats of lines: the combined format of Apache and nginx, and JSON.

import { ownText } from '../../base/own-text.ts'
import type { Outcome } from '../../http/exchange-record.ts'
import { type AccessLogEntry, quotesEscaped } from './entry.ts'
import { jsonAscii, jsonMember, quotable, wordOf } from './printable.ts'
import { remembered } from './remembered.ts'

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `addr - user [date] "request" status bytes "referer" "agent"`. */
export function combinedLine(entry: AccessLogEntry): string {
  const { clientAddress, user, referer, userAgent, status, bytesOut } = entry
  const address = clientAddress === '' ? '-' : addressWord(clientAddress)
  const name = user === null || user === '' ? '-' : wordOf(user)
  const code = status === 0 ? '000' : status
  return `${address} - ${name} [${combinedDate(entry.startedAt)}] "${requestLine(entry)}" ${code} ${bytesOut} "${quoted(referer)}" ${userAgent === null ? NO_AGENT : quotedAgent(userAgent)}`
}

const addressWord = remembered(wordOf)
const quotedAgent = remembered((text) => `"${quotable(text)}"`)
const NO_AGENT = '"-"'

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

let timeSecond = -1
let timeText = ''
const MILLISECONDS = Array.from({ length: 1000 }, (_, ms) => `${String(ms).padStart(3, '0')}Z"`)

/** The beginning of a line: `{"time":"2026-11-23T00:17:56.123Z"`. Everything but the milliseconds is made once a second. */
export function timeMember(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== timeSecond) {
    timeSecond = second
    timeText = ownText(`{"time":"${new Date(second * 1000).toISOString().slice(0, 20)}`)
  }
  return timeText + MILLISECONDS[Math.floor(ms) - second * 1000]!
}

const NO_BYTES_IN = ',"bytesIn":0,"bytesOut":'

const results = new Map<Outcome, string[]>()

/** The status and the outcome. There are few of both. */
function resultMembers(status: number, outcome: Outcome): string {
  let texts = results.get(outcome)
  if (texts === undefined) results.set(outcome, (texts = []))
  return (texts[status] ??= ownText(`,"status":${status},"outcome":"${outcome}"`))
}

const hostMember = remembered((text) => jsonMember(',"host":', text))
const routeMember = remembered((text) => jsonMember(',"route":', text))
const addressMember = remembered((text) => jsonMember(',"clientAddress":', text))
const agentMember = remembered((text) => jsonMember(',"userAgent":', text))
const protocolMember = remembered((text) => jsonMember(',"protocol":', text))
const methodMember = remembered((text) => jsonMember(',"method":', text))

/**
 * A JSON object of ASCII characters. What is null is left out, and so are `firstByteMs` if the
 * response was sent in one piece, and the id of the connection if the id of the request begins with it.
 */
export function jsonLine(entry: AccessLogEntry): string {
  let line = timeMember(entry.startedAt)
  if (entry.kind !== 'request') line += `,"kind":"${entry.kind}"`
  line += resultMembers(entry.status, entry.outcome)
  if (entry.method !== null) line += methodMember(entry.method)
  if (entry.url !== null) line += jsonMember(',"url":', entry.url)
  if (entry.protocol !== null) line += protocolMember(entry.protocol)
  if (entry.host !== null) line += hostMember(entry.host)
  if (entry.route !== null) line += routeMember(entry.route)
  if (entry.rpcStatus !== null) line += `,"rpcStatus":"${entry.rpcStatus}"`
  if (entry.code !== null) line += jsonMember(',"code":', entry.code)
  line += `,"durationMs":${millis(entry.durationMs)}`
  if (entry.firstByteMs !== null && entry.firstByteMs !== entry.durationMs) line += `,"firstByteMs":${millis(entry.firstByteMs)}`
  if (entry.isSlow) line += ',"slow":true'
  line += entry.bytesIn === 0 ? NO_BYTES_IN : `,"bytesIn":${entry.bytesIn},"bytesOut":`
  line += entry.bytesOut
  if (entry.clientAddress !== '') line += addressMember(entry.clientAddress)
  if (entry.user !== null) line += jsonMember(',"user":', entry.user)
  if (entry.referer !== null) line += jsonMember(',"referer":', entry.referer)
  if (entry.userAgent !== null) line += agentMember(entry.userAgent)
  if (entry.fields !== null) line += `,"fields":${jsonAscii(entry.fields)}`
  if (entry.requestId !== null) line += `,"requestId":"${entry.requestId}"`
  else if (entry.connectionId !== null) line += `,"connectionId":"${entry.connectionId}"`
  if (entry.traceId !== null) line += `,"traceId":"${entry.traceId}","spanId":"${entry.spanId}"`
  return `${line}}`
}

/** What follows the whole milliseconds, for each number of microseconds. */
const FRACTIONS = Array.from({ length: 1000 }, (_, micros) => (micros === 0 ? '' : `.${String(micros).padStart(3, '0')}`))

/** With microseconds. Writing a whole number is much faster than writing a fraction. */
function millis(ms: number): string {
  const micros = Math.round(ms * 1000)
  const whole = Math.floor(micros / 1000)
  return whole + FRACTIONS[micros - whole * 1000]!
}
