// Reads the head of a request that is only explained, with the same readers as the head of a real request.

import { ProtocolError, WeirError } from '../../base/errors.ts'
import type { ConnectionInfo } from '../../http/connection-info.ts'
import type { Head } from '../../wire/head/head.ts'
import { HeadReader } from '../../wire/head/head-reader.ts'
import { type ArrivalOptions, arrivalOf } from '../connections/arrival.ts'
import type { ConnectionHost } from '../connections/connection-host.ts'
import { NoConnection } from '../connections/no-connection.ts'
import { refusalOf } from '../cycle/misdirection.ts'
import { checkRequest, fetchArrival } from '../fetch/fetch-exchange.ts'
import { readFetchHead } from '../fetch/fetch-head.ts'

import { INJECT_RULES } from './inject.ts'
import { headBytesOf, type InjectRequest, plainBodyOf, requestOf } from './request-bytes.ts'

/** A request as a client would send it, as far as its head. */
export type ExplainedRequest = {
  readonly method: string
  /** As sent. */
  readonly target: string
  readonly connection: ConnectionInfo
} & (
  | {
      readonly head: Head
      /** Why it may not arrive on this connection; null if it may. */
      readonly refusal: WeirError | null
      /** Its body; null if the body would have to be read first. */
      readonly content: Buffer | null
    }
  | {
      /** It is refused, so there is no request. */
      readonly head: null
      readonly refusal: WeirError
    }
)

/** @throws WEIR_OPTION_INVALID for a request that no client could send */
export function explainedRequest(
  host: ConnectionHost,
  request: (InjectRequest & ArrivalOptions) | Request | string,
  arrival: ArrivalOptions | undefined,
): ExplainedRequest {
  return isWebRequest(request) ? fromWeb(host, request, arrival) : fromInject(host, request)
}

/** Recognised by its tag: the Request of another implementation is not an instance of the global class. */
function isWebRequest(request: unknown): request is Request {
  return Object.prototype.toString.call(request) === '[object Request]'
}

function fromInject(host: ConnectionHost, request: (InjectRequest & ArrivalOptions) | string): ExplainedRequest {
  const asked: InjectRequest & ArrivalOptions = requestOf(request, INJECT_RULES)
  const block = headBytesOf(asked)
  const connection = new NoConnection(host, arrivalOf('request', host, asked))
  const read = (): Head => {
    const head = new HeadReader().read(block, 0, block.length, host.limits)
    if (head === null) throw new ProtocolError('WEIR_LINE_END') // cannot happen: the block is whole
    return head
  }
  return judge(asked.method ?? 'GET', asked.url, connection, read, plainBodyOf(asked))
}

function fromWeb(host: ConnectionHost, request: Request, arrival: ArrivalOptions | undefined): ExplainedRequest {
  checkRequest('explain()', request)
  const connection = new NoConnection(host, fetchArrival('explain()', host, request, arrival))
  return judge(request.method, request.url, connection, () => readFetchHead(request, host.limits), null)
}

function judge(method: string, target: string, connection: NoConnection, read: () => Head, content: Buffer | null): ExplainedRequest {
  try {
    const head = read()
    return { method, target: head.target, head, refusal: refusalOf(head, connection), content, connection }
  } catch (error) {
    if (!(error instanceof WeirError)) throw error
    return { method, target, head: null, refusal: error, connection }
  }
}
