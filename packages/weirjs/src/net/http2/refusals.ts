// Refusals without a request to respond to: connections that do not speak HTTP/2, or break its rules, and streams above a limit.

import { LimitError, ProtocolError, type WeirError } from '../../base/errors.ts'
import type { ConnectionInfo } from '../../http/connection-info.ts'
import type { Http2Error } from '../../wire/http2/errors.ts'

import type { ConnectionHost } from '../connections/connection-host.ts'

const TEXT = 'This port speaks HTTP/2 with prior knowledge, not HTTP/1.1'

/** The response is in HTTP/1.1, because such a client reads nothing else. 505: another major version is needed (RFC 9110 §15.6.6). */
export const SPEAK_HTTP2: string = [
  'HTTP/1.1 505 HTTP Version Not Supported',
  'Content-Type: text/plain',
  `Content-Length: ${TEXT.length}`,
  'Connection: close',
  '',
  TEXT,
].join('\r\n')

/**
 * Whether a client speaks HTTP/1 where only HTTP/2 is spoken, without TLS to agree on a protocol.
 * @param firstByte that it has sent: methods are written in capitals
 */
export function isHttp1(error: Error, firstByte: number, isSecure: boolean): boolean {
  return !isSecure && (error as Http2Error).fault === 'PREFACE' && firstByte >= 0x41 && firstByte <= 0x5a
}

/** Tells observers of a client that has broken the protocol. @returns why its requests end */
export function violation(host: ConnectionHost, connection: ConnectionInfo, error: Http2Error, isHttp1: boolean): WeirError {
  const violation = isHttp1 ? new ProtocolError('WEIR_VERSION_UNSUPPORTED') : new ProtocolError('WEIR_HTTP2_VIOLATION', error.message)
  host.observers.refused('connection', violation, { remoteAddress: connection.clientAddress })
  return violation
}

/** Tells observers of streams that were refused, and never became requests. */
export function tellOfStreams({ observers, limits }: ConnectionHost, connection: ConnectionInfo, count: number): void {
  if (!observers.hears('head')) return
  const error = new LimitError('WEIR_TOO_MANY_STREAMS', 'maxConcurrentStreams', limits.maxConcurrentStreams)
  for (let i = 0; i < count; i++) observers.end(observers.head(error, connection, 'HTTP/2.0'))
}
