// The errors of calls: errors of handlers and refusals of policies, in the form that all protocols send.

import { create, type DescMessage, isMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { type ErrorHeaders, HttpError } from 'weirjs'
import { isInstance, problemFor } from 'weirjs/kit'

import { codeOf, codeOfStatus, type RpcCode, statusOf } from './codes.ts'

/** More about a failure, for programs: a message, or one in binary form with the name of its type. */
export type RpcErrorDetail = { readonly desc: DescMessage; readonly value: object } | { readonly type: string; readonly value: Uint8Array }

/** A detail in binary form. */
export interface BinaryDetail {
  readonly type: string
  readonly value: Uint8Array
}

export interface RpcErrorOptions {
  /** The cause. It is logged, and never sent. */
  readonly cause?: unknown
  /** Metadata that is sent with it: in trailers, or with Connect in fields. */
  readonly metadata?: ConstructorParameters<typeof Headers>[0]
}

/**
 * Thrown by handlers, middleware and gates: a call fails with this code and message, which are sent. A route of HTTP that throws it responds with
 * the status that Connect has for the code.
 */
export class RpcError extends HttpError {
  override readonly name = 'RpcError'
  declare readonly code: RpcCode
  readonly details: readonly BinaryDetail[]
  readonly metadata: Headers
  /** `peer`: the client has chosen the method and the deadline, so it is not logged. */
  readonly fault: 'peer' | null

  /**
   * @param code a name such as `not_found`, or its number in gRPC
   * @param message for the client
   * @param details messages for its program
   * @throws TypeError for an unknown code
   */
  constructor(code: RpcCode | number, message: string, details: readonly RpcErrorDetail[] = [], options: RpcErrorOptions = {}) {
    const known = codeOf(code)
    if (known === null)
      throw new TypeError(`${String(code)} is not a code of RPC: write a name such as "not_found", or its number from 1 to 16`)
    super(statusOf(known), message, { code: known, cause: options.cause })
    this.details = details.map(binaryOf)
    this.metadata = new Headers(options.metadata)
    this.fault = known === 'unimplemented' || known === 'deadline_exceeded' || known === 'canceled' ? 'peer' : null
  }
}

/** A detail for `RpcError`, whose message is checked by the compiler. */
export function errorDetail<D extends DescMessage>(desc: D, value: MessageInitShape<D>): RpcErrorDetail {
  return { desc, value }
}

function binaryOf(detail: RpcErrorDetail): BinaryDetail {
  if (!('desc' in detail)) return { type: detail.type, value: detail.value }
  const { desc, value } = detail
  const message = isMessage(value, desc) ? value : create(desc, value as MessageInitShape<DescMessage>)
  return { type: desc.typeName, value: toBinary(desc, message) }
}

/** The error that a client receives for a thrown value. It receives nothing of an unknown error. */
export function rpcErrorOf(error: unknown): RpcError {
  if (isInstance(error, RpcError)) return error
  const foreign = connectError(error)
  if (foreign !== null) return foreign
  if (!isInstance(error, HttpError)) return new RpcError('internal', 'internal error', [], { cause: error })
  // A 404 of a handler is about the thing that it looked for, and not about the method.
  const code = error.status === 404 ? 'not_found' : codeOfHttpError(error)
  const { title, detail } = problemFor(error, false) // what is secret in it is left out
  return new RpcError(code, detail ?? title, [], { cause: error, metadata: metadataOf(error.headers) })
}

function codeOfHttpError({ status, code }: HttpError): RpcCode {
  return code === 'WEIR_REQUEST_TIMEOUT' ? 'deadline_exceeded' : codeOfStatus(status)
}

function metadataOf(headers: ErrorHeaders): Headers {
  return new Headers(Object.entries(headers).flatMap(([name, values]) => [values].flat().map((value): [string, string] => [name, value])))
}

/** An error of `@connectrpc/connect`, known by its form, so that its package is not needed. */
function connectError(error: unknown): RpcError | null {
  if (!(error instanceof Error) || error.name !== 'ConnectError') return null
  const {
    code,
    rawMessage,
    details = [],
    metadata,
  } = error as Error & {
    readonly code?: unknown
    readonly rawMessage?: unknown
    readonly details?: readonly RpcErrorDetail[]
    readonly metadata?: Headers
  }
  const known = codeOf(code)
  if (known === null) return null
  const message = typeof rawMessage === 'string' ? rawMessage : error.message
  return new RpcError(known, message, details, { cause: error, ...(metadata && { metadata }) })
}
