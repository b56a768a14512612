// Maps the methods of a service as routes of a server.

import type { DescMethod, DescService, Registry } from '@bufbuild/protobuf'
import { type HttpResponse, type HttpSession, type Module, metadataKey, type Policy, type RouteOptions, type Size } from 'weirjs'
import { exchange, invalid, isPromise, kindOf, option, responseHandle, rules } from 'weirjs/kit'

import { Call, type RpcCall } from './call.ts'
import { Codec } from './codec.ts'
import { codeOfStatus } from './codes.ts'
import type { RpcImplementation } from './implementation.ts'
import { MessageReader } from './message-reader.ts'
import { closeValues, type StreamOwner } from './message-source.ts'
import { onlyMessage, queryMessage, type ReadSettings } from './request-messages.ts'
import { sendError, sendMessage, sendMessages } from './response-messages.ts'
import { RpcError, rpcErrorOf } from './rpc-error.ts'
import { type Wire, WireTable } from './wire.ts'

/** A server, or a group of one. */
export interface RpcHost {
  use(module: Module): unknown
}

export interface RpcOptions {
  /** Middleware and policies of all methods, the outermost first. A refusal is sent in the form of the call's protocol. */
  readonly use?: RouteOptions['use']
  /** The largest message, compressed or not, in either form. Default 4 MiB. When exceeded: `resource_exhausted`. */
  readonly maxMessageSize?: Size
  /**
   * How many values a message may have: fields that were sent, elements of lists, entries of maps. A message in it counts one more, and one for each
   * field that its type declares. Default 262,144, which take 10 to 30 ms to decode. When exceeded: `resource_exhausted`.
   */
  readonly maxValues?: number
  /** How many messages a client may send in one stream. Default null: any number. When exceeded: `resource_exhausted`. */
  readonly maxMessages?: number | null
  /** Most bytes of a message for each byte that it has compressed, if it has more than 512 KiB. Default 100. When exceeded: `resource_exhausted`. */
  readonly maxRatio?: number
  /** Messages larger than this are compressed with gzip if the client takes it. Default 1 KiB. Null: never. */
  readonly compressAbove?: Size | null
  /** The types of messages within `google.protobuf.Any`, which JSON needs. */
  readonly registry?: Registry
  /** As for a group of routes. */
  readonly host?: string
  /** As for a group of routes. */
  readonly endpoint?: string
  /** As for a group of routes. */
  readonly metadata?: object
  /** As for a group of routes. */
  readonly tags?: readonly string[]
}

/** @internal */
export const RPC_RULES = rules<RpcOptions>('mapService()')({
  use: option.anything().optional(),
  maxMessageSize: option.size({ least: 1 }).or('4MiB'),
  maxValues: option.count({ least: 1 }).or(262_144),
  maxMessages: option.count({ least: 1 }).nullable().orNull(),
  maxRatio: option.count({ least: 1 }).also(Number.POSITIVE_INFINITY).or(100),
  compressAbove: option.size().nullable().or('1KiB'),
  registry: option.object('a registry of @bufbuild/protobuf').optional(),
  host: option.anything().optional(),
  endpoint: option.anything().optional(),
  metadata: option.object().optional(),
  tags: option.anything().optional(),
})
type Settings = typeof RPC_RULES.settings

/** In `metadata` of the routes that `mapService` maps: the names of OpenTelemetry for the call. */
export const rpcMethod = metadataKey<{ readonly service: string; readonly method: string; readonly kind: DescMethod['methodKind'] }>('rpc')

const UNARY = new WireTable(false)
const STREAMED = new WireTable(true)

type AnyHandler = (input: unknown, call: RpcCall) => unknown

/**
 * Maps the methods of a service: for gRPC over HTTP/2, and for gRPC-Web and Connect over both versions, at `/package.Service/Method`.
 * Methods without side effects can be called with GET too (Connect).
 *
 * @param implementation a function for each method. Others respond `unimplemented`
 * @throws WEIR_OPTION_INVALID for an unknown option or method
 */
export function mapService<S extends DescService>(
  server: RpcHost,
  service: S,
  implementation: RpcImplementation<S>,
  options: RpcOptions = {},
): void {
  const settings = RPC_RULES.read(options)
  if (typeof (service as { readonly method?: unknown }).method !== 'object')
    throw invalid('mapService()', 'service is not one that protoc-gen-es has made: write mapService(server, service, implementation)')
  const handlers = Object(implementation) as Readonly<Record<string, AnyHandler | undefined>>
  const names = Object.keys(service.method)
  for (const name of names)
    if (handlers[name] !== undefined && typeof handlers[name] !== 'function')
      throw invalid('mapService()', `${name} of the implementation is ${kindOf(handlers[name])}, not a function`)
  for (const name of Object.keys(handlers))
    if (!(name in service.method)) throw invalid('mapService()', `${service.typeName} has no method ${name}; it has ${names.join(', ')}`)
  // For example, a class in place of an instance.
  if (names.length > 0 && names.every((name) => handlers[name] === undefined))
    throw invalid('mapService()', `the implementation is ${kindOf(implementation)} with none of the methods ${names.join(', ')}`)
  server.use({
    name: `rpc ${service.typeName}`,
    install(host) {
      const log = (message: string, error: unknown): void => host.logger?.error(message, error)
      for (const [name, method] of Object.entries<DescMethod>(service.method)) {
        const path = `/${service.typeName}/${method.name}`
        const handler = new MethodHandler(method, handlers[name]?.bind(implementation) ?? null, settings, log)
        const { maxMessageSize } = settings
        host.map('POST', path, declarationOf(method, options, handler.policies, maxMessageSize), (_, session) => handler.respond(session))
        if (isReading(method))
          host.map('GET', path, declarationOf(method, options, handler.queryPolicies, null), (_, session) =>
            handler.respondToQuery(session),
          )
      }
    },
  })
}

function isReading(method: DescMethod): boolean {
  return method.methodKind === 'unary' && method.idempotency === 1 // NO_SIDE_EFFECTS
}

/**
 * A body with one message is read before its handler is called. Other bodies are streams, which may pause for any time.
 * @param maxMessageSize null: there is no body
 */
function declarationOf(
  method: DescMethod,
  { use = [], host, endpoint, metadata, tags }: RpcOptions,
  policies: readonly Policy[],
  maxMessageSize: number | null,
): RouteOptions {
  const { methodKind, parent, name } = method
  const takesOne = methodKind === 'unary' || methodKind === 'server_streaming'
  return {
    ...(maxMessageSize !== null &&
      (takesOne
        ? { body: 'buffer', maxRequestBodySize: Math.ceil(((maxMessageSize + 5) * 4) / 3) + 4 }
        : { body: 'stream', maxRequestBodySize: null, minBodyRate: 0 })),
    ...(methodKind !== 'unary' && { requestTimeout: null }),
    ...(host !== undefined && { host }),
    ...(endpoint !== undefined && { endpoint }),
    ...(tags && { tags }),
    metadata: { ...metadata, ...rpcMethod({ service: parent.typeName, method: name, kind: methodKind }) },
    use: [...use, ...policies],
  }
}

class MethodHandler implements StreamOwner {
  readonly #method: DescMethod
  /** For observers. */
  readonly #name: string
  readonly #handler: AnyHandler | null
  readonly #codec: Codec
  readonly #read: ReadSettings
  readonly #compressAbove: number | null
  readonly #log: (message: string, error: unknown) => void
  readonly #wires: WireTable
  readonly policies: readonly Policy[]
  readonly queryPolicies: readonly Policy[]

  constructor(method: DescMethod, handler: AnyHandler | null, settings: Settings, log: (message: string, error: unknown) => void) {
    this.#method = method
    this.#name = `${method.parent.typeName}/${method.name}`
    this.#handler = handler
    this.#codec = new Codec(method, settings.registry, settings.maxValues)
    this.#read = settings
    this.#compressAbove = settings.compressAbove
    this.#log = log
    this.#wires = method.methodKind === 'unary' ? UNARY : STREAMED
    this.policies = policiesOf(
      (session) => this.#callOf(session),
      (session) => this.#check(session),
      (session) => this.#admit(session),
    )
    const checkQuery = (session: HttpSession): undefined => this.#checkQuery(session)
    this.queryPolicies = policiesOf((session) => this.#queryCallOf(session), checkQuery, checkQuery)
  }

  /** Null: the request is in no protocol of the method. */
  #callOf(session: HttpSession): Call | null {
    return Call.of(session) ?? this.#newCall(session, this.#wires.find(session.request))
  }

  /** A GET states its codec in the query. */
  #queryCallOf(session: HttpSession): Call | null {
    return Call.of(session) ?? this.#newCall(session, this.#wires.ofCodec(session.request.query.get('encoding')))
  }

  #newCall(session: HttpSession, wire: Wire | null): Call | null {
    return wire === null ? null : new Call(session, wire, this.#method, this.#name)
  }

  /** Before the body is read. */
  #admit(session: HttpSession): HttpResponse | undefined {
    const refusal = this.#check(session)
    if (this.#callOf(session)?.protocol === 'grpc' && session.request.protocol !== 'HTTP/2.0')
      throw new RpcError('unimplemented', 'gRPC needs HTTP/2')
    return refusal
  }

  #check(session: HttpSession): HttpResponse | undefined {
    if (this.#callOf(session) !== null) return undefined
    const accepted = this.#wires.types.join(', ')
    return session.response.status(415).header('Accept-Post', accepted).text(`${this.#method.toString()} takes ${accepted}`)
  }

  #checkQuery(session: HttpSession): undefined {
    if (this.#queryCallOf(session) === null) throw new RpcError('invalid_argument', 'the query must state encoding=proto or encoding=json')
  }

  respond(session: HttpSession): HttpResponse | Promise<HttpResponse> {
    const handler = this.#implemented()
    const call = this.#callOf(session)!
    call.begin()
    const { methodKind } = this.#method
    if (methodKind === 'unary') return this.#one(call, handler, () => onlyMessage(call, this.#codec, this.#read))
    call.watch()
    if (methodKind === 'client_streaming') return this.#one(call, handler, () => new MessageReader(call, this.#codec, this.#read))
    return this.#many(call, handler)
  }

  respondToQuery(session: HttpSession): HttpResponse | Promise<HttpResponse> {
    const handler = this.#implemented()
    const call = this.#queryCallOf(session)!
    call.begin()
    return this.#one(call, handler, () => queryMessage(call, this.#codec, this.#read))
  }

  #implemented(): AnyHandler {
    if (this.#handler === null) throw new RpcError('unimplemented', `${this.#method.toString()} is not implemented`)
    return this.#handler
  }

  /** Returns a promise only if it has to wait. */
  #one(call: Call, handler: AnyHandler, read: () => unknown): HttpResponse | Promise<HttpResponse> {
    try {
      const input = read()
      const value = isPromise(input) ? input.then((message) => start(handler, message, call)) : handler(input, call)
      if (isPromise(value)) return this.#oneLater(call, value)
      const response = sendMessage(call, this.encode(value, call.wire), this.#compressAbove)
      call.finish()
      return response
    } catch (error) {
      call.finish()
      throw asHttp(error)
    }
  }

  async #oneLater(call: Call, value: PromiseLike<unknown>): Promise<HttpResponse> {
    try {
      return await sendMessage(call, this.encode(await call.race(value), call.wire), this.#compressAbove)
    } catch (error) {
      throw asHttp(error)
    } finally {
      call.finish()
    }
  }

  /** The head is sent with the first message. A failure before it is sent like that of any other call. */
  async #many(call: Call, handler: AnyHandler): Promise<HttpResponse> {
    let values: AsyncIterator<unknown> | null = null
    try {
      const isBidi = this.#method.methodKind === 'bidi_streaming'
      const input = isBidi ? new MessageReader(call, this.#codec, this.#read) : await onlyMessage(call, this.#codec, this.#read)
      values = this.#valuesOf(start(handler, input, call))
      const { done, value } = await call.race(values.next())
      return sendMessages(call, this, done === true ? null : this.encode(value, call.wire), values, this.#compressAbove)
    } catch (error) {
      if (values !== null) closeValues(values)
      call.finish()
      throw asHttp(error)
    }
  }

  #valuesOf(returned: unknown): AsyncIterator<unknown> {
    if (typeof (returned as AsyncIterable<unknown> | null)?.[Symbol.asyncIterator] !== 'function')
      throw new TypeError(
        `the handler of ${this.#method.toString()} returns no AsyncIterable: write it as async *${this.#method.localName}() {…}`,
      )
    return (returned as AsyncIterable<unknown>)[Symbol.asyncIterator]()
  }

  encode(value: unknown, { codec }: Wire): Uint8Array {
    if (typeof value !== 'object' || value === null)
      throw new TypeError(`the handler of ${this.#method.toString()} returns no ${this.#method.output.typeName}, but ${String(value)}`)
    return this.#codec.encode(value, codec)
  }

  /** Logs failures after the head, which the server no longer sees. */
  failed(error: unknown): RpcError {
    const known = rpcErrorOf(error)
    if (known.code === 'internal') this.#log(`weir: ${this.#method.toString()} failed`, known.cause ?? error)
    return known
  }
}

/**
 * The first policy runs before all others, so that every refusal is sent in the protocol of the call. A request in no known protocol is refused
 * after the other policies: a client that may not call learns nothing about the method.
 */
function policiesOf(
  callOf: (session: HttpSession) => Call | null,
  check: (session: HttpSession) => HttpResponse | undefined, // which does not know of HTTP/2
  admit: (session: HttpSession) => HttpResponse | undefined,
): Policy[] {
  const note = (session: HttpSession): undefined => void callOf(session)
  const first = { name: 'rpc', runsFirst: true, gate: note, foresee: note, beforeSend: (...sent: Sent) => failIn(callOf(sent[0]), ...sent) }
  return [first, { name: 'rpc-protocol', gate: admit, foresee: check }]
}

type Sent = [session: HttpSession, response: HttpResponse]

/** @throws RpcError if the call has ended while its message was being read */
function start(handler: AnyHandler, input: unknown, call: Call): unknown {
  call.check()
  return handler(input, call)
}

/** The server logs the error itself, and observers receive it, if it already has a status. */
function asHttp(error: unknown): unknown {
  const known = rpcErrorOf(error)
  return known.cause === error ? error : known
}

/** Sends a refusal or a failure in the form of the call's protocol. */
function failIn(call: Call | null, session: HttpSession, response: HttpResponse): void {
  if (call === null) return
  const { failure } = exchange(session)
  const { type, content, statusCode } = responseHandle(response)
  if (failure === null || failure === undefined) {
    if (type === call.wire.type && statusCode === 200) return
    sendError(call, response, new RpcError(codeOfStatus(statusCode), messageIn(content, type)))
  } else {
    const error = rpcErrorOf(failure)
    for (const name of error.metadata.keys()) response.removeHeader(name) // the fields of the failure already contain it
    sendError(call, response, error)
  }
}

/** The message of a refusal for people. */
function messageIn(content: { readonly kind: string; readonly text?: string }, type: string | null): string {
  if (content.kind !== 'text' || content.text === undefined) return 'refused'
  if (type?.startsWith('application/problem+json') !== true) return type?.startsWith('text/plain') === true ? content.text : 'refused'
  const { title, detail } = JSON.parse(content.text) as { readonly title?: string; readonly detail?: string }
  return detail ?? title ?? 'refused'
}
