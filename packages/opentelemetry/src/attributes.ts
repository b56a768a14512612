// The attributes of spans and of the metric, with the names of the semantic conventions 1.44 of OpenTelemetry.

import type { Attributes } from '@opentelemetry/api'
import type { ExchangeRecord, ExchangeStart } from 'weirjs'
import { type ExchangeHandle, exchange, isInstance, type RedactedReader } from 'weirjs/kit'
import { templateOf } from 'weirjs/metrics'

/** The conventions that the names are from. */
export const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.44.0'
const VERSIONS: Readonly<Record<string, string>> = { 'HTTP/1.0': '1.0', 'HTTP/1.1': '1.1', 'HTTP/2.0': '2' }
/** The label of everything that has no label of its own, such as methods that clients invent. */
const OTHER = '_OTHER'
const STANDARD_METHODS: ReadonlySet<string> = new Set('GET HEAD POST PUT PATCH DELETE OPTIONS QUERY CONNECT TRACE'.split(' '))
/** The form of codes, of which there are few. A program may throw errors with others. */
const CODE = /^[A-Z][A-Z0-9_]{1,63}$/

/** `GET /users/:id`, or `GET` without a route. A method that is not known is `HTTP`. */
export function spanName({ method, route }: ExchangeStart): string {
  const known = STANDARD_METHODS.has(method) ? method : 'HTTP'
  return route === null ? known : `${known} ${templateOf(route)}`
}

/** The attributes that are known when the head is complete, on which samplers can decide. */
export function startAttributes(start: ExchangeStart, redaction: RedactedReader): Attributes {
  const { session } = start
  const handle = exchange(session)
  const isKnown = STANDARD_METHODS.has(start.method)
  const attributes: Attributes = {
    'http.request.method': isKnown ? start.method : OTHER,
    'url.scheme': schemeOf(handle),
    'url.path': '',
    'network.protocol.version': versionOf(start.protocol),
  }
  if (!isKnown) attributes['http.request.method_original'] = start.method
  const url = redaction.urlOf(session)
  const mark = url.indexOf('?')
  attributes['url.path'] = mark === -1 ? url : url.slice(0, mark)
  if (mark !== -1 && mark < url.length - 1) attributes['url.query'] = url.slice(mark + 1)
  if (start.route !== null) attributes['http.route'] = templateOf(start.route)
  const agent = redaction.field(session, 'user-agent')
  if (agent !== null) attributes['user_agent.original'] = agent
  addAddresses(attributes, start, handle)
  return attributes
}

function addAddresses(attributes: Attributes, { clientAddress }: ExchangeStart, handle: ExchangeHandle): void {
  const { host } = handle
  if (host !== '') {
    attributes['server.address'] = host.toLowerCase().replace(/\.?(?::\d*)?$/, '') // without the dot of the DNS root
    attributes['server.port'] = Number(/:(\d+)$/.exec(host)?.[1] ?? (schemeOf(handle) === 'https' ? 443 : 80))
  }
  if (clientAddress !== '') attributes['client.address'] = clientAddress
  const { address, port } = handle.peer
  if (address === '') return
  attributes['network.peer.address'] = address
  attributes['network.peer.port'] = port
}

/** The attributes that are known at the end. */
export function endAttributes(record: ExchangeRecord): Attributes {
  const attributes: Attributes = {}
  if (record.status !== null) attributes['http.response.status_code'] = record.status
  const type = errorType(record)
  if (type !== null) attributes['error.type'] = type
  return attributes
}

/** The attributes of a remote procedure call at its end; null for other requests. gRPC has the status of its protocol. */
export function callAttributes({ session, code, error, outcome }: ExchangeRecord): Attributes | null {
  const call = session === null ? null : exchange(session).rpc
  if (call === null) return null
  const { system, method, status } = call
  const attributes: Attributes = { 'rpc.system.name': system, 'rpc.method': method }
  if (status !== null) attributes['rpc.response.status_code'] = status
  const hasFailed = status !== null && status.toUpperCase() !== 'OK'
  const type = hasFailed ? status : status === null ? errorType({ code, error, status: null, outcome }) : null
  if (type !== null) attributes['error.type'] = type
  return attributes
}

/** The attributes of the duration: those with few values. */
export function metricAttributes(record: ExchangeRecord): Attributes {
  const { method, route, session } = record
  const attributes = endAttributes(record)
  attributes['http.request.method'] = method !== null && STANDARD_METHODS.has(method) ? method : OTHER
  attributes['url.scheme'] = session === null ? 'http' : schemeOf(exchange(session))
  if (route !== null) attributes['http.route'] = templateOf(route)
  if (record.protocol !== null) attributes['network.protocol.version'] = versionOf(record.protocol)
  return attributes
}

/** The attributes of bytes that did not become a request. */
export function headAttributes(record: ExchangeRecord): Attributes {
  const attributes: Attributes = { 'http.request.method': OTHER, ...endAttributes(record) }
  if (record.protocol !== null) attributes['network.protocol.version'] = versionOf(record.protocol)
  if (record.clientAddress !== '') attributes['client.address'] = record.clientAddress
  return attributes
}

/** weir's code. Without one, the class of the error or the status. Null if nothing went wrong. */
function errorType({ code, error, status, outcome }: Pick<ExchangeRecord, 'code' | 'error' | 'status' | 'outcome'>): string | null {
  if (code !== null && CODE.test(code)) return code
  if (isInstance(error, Error)) return CLASS.test(error.name) ? error.name : OTHER
  if (error !== null) return OTHER
  if (status !== null && status >= 500) return String(status)
  return outcome === 'completed' ? null : outcome
}

const CLASS = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

/** Whether the server has failed, and not the client. */
export function isFailure({ status, outcome }: ExchangeRecord): boolean {
  return outcome === 'failed' || outcome === 'stopped' || (status !== null && status >= 500)
}

function schemeOf({ isSecure }: ExchangeHandle): string {
  return isSecure ? 'https' : 'http'
}

function versionOf(protocol: string): string {
  return VERSIONS[protocol] ?? protocol
}
