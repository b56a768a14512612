// WebSocket routes (RFC 6455), `weirjs/websocket`: the handshake is a route like any other.

import type { Buffer } from 'node:buffer'

import { hasDebug } from '../../app/debugged.ts'
import type { MapMethod, Module, ModuleHost } from '../../app/module-host.ts'
import { isRefusal } from '../../app/policies/gates.ts'
import type { Gate } from '../../app/policies/policy.ts'
import type { WebSocketEntry } from '../../app/routes/contract.ts'
import type { EntryServer } from '../../app/routes/contract-routes.ts'
import type { ArgsOf, Declaration } from '../../app/routes/declaration.ts'
import type { Handler } from '../../app/routes/route.ts'
import { type MessageSchemas, upgradesTo } from '../../app/routes/upgrade-handler.ts'
import { addShutdownListener, removeShutdownListener } from '../../app/shutdown-listeners.ts'
import type { Clock } from '../../base/clock.ts'
import type { Duration } from '../../base/duration.ts'
import { shown } from '../../base/kind-of.ts'
import { duration, flag, func, matching, readBy, size, text, tokens } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { Size } from '../../base/size.ts'
import { exchangeOf } from '../../http/exchange.ts'
import { type ByteLink, overLink } from '../../http/response/byte-link.ts'
import { problemOf } from '../../http/response/problem.ts'
import { outgoingOf } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'
import { type AnySchema, isSchema } from '../../schema/standard.ts'
import { WireWebSocket } from '../../wire/websocket/connection.ts'
import { acceptDeflate } from '../../wire/websocket/deflate-offer.ts'
import { POLICY_VIOLATION } from '../../wire/websocket/frame-types.ts'
import { type OriginPredicate, type Origins, predicateOf } from '../cors/origins.ts'
import { exchange } from '../kit/exchange.ts'
import { HeartbeatTimer } from '../kit/heartbeat-timer.ts'
import { checkedRelay, type Relay } from '../relay/relay-option.ts'
import { broadcast, deliver } from './broadcast.ts'
import { type ConnectionHost, WebSocketConnection, type WebSocketHandlers } from './connection.ts'
import type { WebSocketData } from './data.ts'
import { PerMessageDeflate } from './deflate.ts'
import type { Broadcast } from './envelope.ts'
import { acceptOf, checkHandshake, checkOrigin, protocolOf } from './handshake.ts'
import { RelayedRooms, type RelayedRoute, type WebSocketRelayState } from './relayed-rooms.ts'
import { Rooms } from './rooms.ts'
import { type Received, reading, type Sent, Writing } from './typed-messages.ts'

/** The behaviour of a WebSocket route, and the handlers of its connections. */
export interface WebSocketOptions<Args, R extends AnySchema | undefined = undefined, S extends AnySchema | undefined = undefined>
  extends WebSocketHandlers<Args, Received<R>, Sent<S>> {
  /**
   * The schema of messages, which are JSON in text: `message` gets the value. Text that is not JSON closes the connection with 1007, a value that
   * does not fit with 1008, a binary message with 1003. Default: messages are texts and bytes.
   */
  readonly receives?: R
  /**
   * The schema of what is sent: `send` and `broadcast` take a value, and send what it declares as JSON. In tests and with `debug`, a value that
   * does not fit is an error. Default: texts and bytes are sent.
   */
  readonly sends?: S
  /**
   * Called before the connection is upgraded. As a gate, it returns nothing to let the client in, and a response to refuse it. If it throws or
   * rejects, the error becomes the response. A boolean, a number or null is a 500.
   */
  accept?(args: Args, session: HttpSession): ReturnType<Gate>
  /**
   * Which pages may connect. Default: `'same'` and the server's `frontEnds`. Others get a 403. A client without Origin is not a page and is accepted; `accept` may refuse
   * it.
   */
  readonly origins?: Origins
  /**
   * Supported subprotocols, the preferred one first. Default none. A client that offers only others is connected without a subprotocol.
   */
  readonly protocols?: readonly string[]
  /** The largest message that a client may send, after decompression. Default 1 MiB. When exceeded: closed with 1009. */
  readonly maxMessageSize?: Size
  /**
   * How many bytes may wait for a client that does not read. Each message counts 512 more. Default 1 MiB. When exceeded: closed with 1013.
   */
  readonly maxQueuedSize?: Size
  /**
   * A client that has been silent for this long is pinged; one that stays silent for as long again is aborted. Default 30 s;
   * null: never.
   */
  readonly pingInterval?: Duration | null
  /**
   * Whether to compress messages for clients that support it (RFC 7692). Default false: a connection takes up to 54 KiB more, and most messages
   * are too short to benefit.
   */
  readonly perMessageDeflate?: boolean
  /**
   * Carries broadcasts between the processes of a service, such as `redisRelay(client)` of `@weirjs/redis`. Routes with the same relay
   * and the same path, host and endpoint share their rooms. Default: broadcasts stay in this process.
   */
  readonly relay?: Relay
  /** Which routes of the relay share their rooms. Default: those with the same path, host and endpoint. */
  readonly channel?: string
  /**
   * Called when broadcasts of other processes may have been lost, because the relay was away and keeps none, or has dropped them. If it throws
   * or rejects, the error is logged.
   */
  onGap?(): unknown
}

/** A module that maps one route, with the connections of that route. */
export interface WebSocketRoute<Args, Out = WebSocketData> extends Module {
  /** The open connections. */
  readonly connections: ReadonlySet<WebSocketConnection<Args, Out>>
  /**
   * Sends to all in a room, or to all on the route if the room is null. With a relay, the clients of other processes get it, too.
   *
   * @returns the number of clients of this process for which the message was queued
   * @throws LimitError for a message larger than `maxQueuedSize`
   */
  broadcast(room: string | null, data: Out): number
  /** What the relay does; null without one. */
  readonly relay: WebSocketRelayState | null
}

/** A WebSocket route of an entry of a contract: `mapContract` maps it. */
export interface WebSocketEntryRoute<E extends WebSocketEntry>
  extends WebSocketRoute<ArgsOf<E['path'], E['declaration']>, Sent<E['sends']>>,
    EntryServer<E> {}

/** The options of a route for an entry: the entry has the schemas. */
export type WebSocketEntryHandlers<E extends WebSocketEntry> = Omit<
  WebSocketOptions<ArgsOf<E['path'], E['declaration']>, E['receives'], E['sends']>,
  'receives' | 'sends'
>

const isSame = predicateOf('websocket', 'same')
const isOwnPage: OriginPredicate = (origin, session) => isSame(origin, session) || session.server.frontEnds.includes(origin)
const SCHEMA = matching<AnySchema | undefined>('a schema', isSchema).optional('none')
const HANDLER = func().optional()
/** @internal */
export const WEBSOCKET_RULES = rules<WebSocketOptions<unknown, AnySchema | undefined, AnySchema | undefined>>('websocket')(
  {
    receives: SCHEMA,
    sends: SCHEMA,
    accept: HANDLER,
    open: HANDLER,
    message: HANDLER,
    pong: HANDLER,
    close: HANDLER,
    origins: readBy((origins: Origins, owner) => predicateOf(owner, origins)).or(isOwnPage, "'same', frontEnds"),
    protocols: tokens().or([]),
    maxMessageSize: size({ least: 1 }).or('1MiB'),
    maxQueuedSize: size({ least: 1 }).or('1MiB'),
    pingInterval: duration().nullable().or('30s'),
    perMessageDeflate: flag(false),
    relay: readBy(checkedRelay).optional(),
    channel: text().optional('the path'),
    onGap: func().optional('nothing'),
  },
  {
    needs: { channel: 'relay', onGap: 'relay' },
    elsewhere: {
      backpressureLimit: 'maxQueuedSize',
      compress: 'perMessageDeflate',
      compression: 'perMessageDeflate',
      connection: 'open',
      deflate: 'perMessageDeflate',
      handleProtocols: 'protocols',
      heartbeat: 'pingInterval',
      maxBackpressure: 'maxQueuedSize',
      maxPayload: 'maxMessageSize',
      maxPayloadLength: 'maxMessageSize',
      onConnect: 'open',
      onConnection: 'open',
      schema: 'receives',
      subprotocols: 'protocols',
      upgrade: 'accept',
      verifyClient: 'accept',
    },
  },
)
/**
 * Returns a module that maps a WebSocket route: `server.use(websocket('/chat/:room', { message(socket, data) { … } }))`. Path and
 * declaration are the same as for `mapGet`.
 *
 * In place of both, it takes a WebSocket entry of a contract, which has the schemas, too:
 * `server.mapContract(api, { chat: websocket(api.chat, { message(socket, value) { … } }) })`.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function websocket<const E extends WebSocketEntry | string>(
  entry: E & WebSocketEntry,
  options: WebSocketEntryHandlers<Extract<E, WebSocketEntry>>,
): WebSocketEntryRoute<Extract<E, WebSocketEntry>>
export function websocket<const P extends string, R extends AnySchema | undefined = undefined, S extends AnySchema | undefined = undefined>(
  path: P,
  options: WebSocketOptions<ArgsOf<P>, R, S>,
): WebSocketRoute<ArgsOf<P>, Sent<S>>
export function websocket<
  const P extends string,
  const D extends Declaration<D>,
  R extends AnySchema | undefined = undefined,
  S extends AnySchema | undefined = undefined,
>(path: P, declaration: D, options: WebSocketOptions<ArgsOf<P, D>, R, S>): WebSocketRoute<ArgsOf<P, D>, Sent<S>>
// Compilers report the errors of the last overload, so it accepts both kinds. The others are for generic callers.
export function websocket<
  const E extends WebSocketEntry | string,
  R extends AnySchema | undefined = undefined,
  S extends AnySchema | undefined = undefined,
>(
  path: E,
  options: [E] extends [string] ? WebSocketOptions<ArgsOf<E>, R, S> : WebSocketEntryHandlers<Extract<E, WebSocketEntry>>,
): [E] extends [string] ? WebSocketRoute<ArgsOf<E>, Sent<S>> : WebSocketEntryRoute<Extract<E, WebSocketEntry>>
export function websocket(path: string | WebSocketEntry, ...rest: readonly object[]): WebSocketRoute<unknown> {
  const options = rest.at(-1) as WebSocketOptions<unknown>
  if (Object(path).upgradesTo !== 'websocket') return new Route(path as string, rest.length > 1 ? rest[0]! : {}, options, null)
  const entry = path as WebSocketEntry
  return new Route(entry.path, entry.declaration, options, entry)
}

type Args = unknown

interface Schemas {
  readonly receives?: AnySchema | undefined
  readonly sends?: AnySchema | undefined
}

/** @throws WEIR_OPTION_INVALID for options that have schemas too */
function schemasOf(entry: WebSocketEntry, options: Schemas, owner: string): Schemas {
  const read = (option: 'receives' | 'sends'): AnySchema | undefined => {
    if (options[option] !== undefined) throw invalid(owner, `${option} belongs to the entry of the contract: leave it out here`)
    const schema = entry[option]
    if (schema !== undefined && !isSchema(schema)) throw invalid(owner, `${option} is ${shown(schema)}, not a schema`)
    return schema
  }
  return { receives: read('receives'), sends: read('sends') }
}

class Route implements WebSocketRoute<Args>, ConnectionHost<Args>, RelayedRoute {
  readonly name: string
  readonly #path: string
  readonly #declaration: object
  /** One for each clock: a test may have its own. */
  readonly #heartbeats = new Map<Clock, HeartbeatTimer>()
  readonly #isAllowed: OriginPredicate
  readonly #compresses: boolean
  readonly #protocols: readonly string[]
  readonly handlers: WebSocketOptions<Args>
  readonly #writing: Writing | null
  readonly encode: ((value: unknown) => string) | undefined
  readonly maxMessageSize: number
  readonly maxQueuedSize: number
  readonly pingInterval: number | null
  readonly connections = new Set<WebSocketConnection<Args>>()
  readonly rooms = new Rooms<WebSocketConnection<Args>>()
  readonly relayed: RelayedRooms | null
  /** The entry of a contract; null for a route of its own. */
  readonly entry: WebSocketEntry | null
  readonly #messages: MessageSchemas
  #host: ModuleHost | null = null
  #channel: string | null = null

  constructor(path: string, declaration: object, options: WebSocketOptions<Args>, entry: WebSocketEntry | null) {
    if (typeof path !== 'string') throw invalid('websocket()', 'the first argument is a path, such as /chat, or a WebSocket of a contract')
    this.name = `websocket ${path}`
    const settings = WEBSOCKET_RULES.read(options, this.name)
    const { relay, protocols, pingInterval } = settings
    const { receives, sends } = entry === null ? settings : schemasOf(entry, settings, this.name)
    this.relayed = relay === undefined ? null : new RelayedRooms(relay, this)
    this.entry = entry
    this.#messages = { receives: receives ?? null, sends: sends ?? null }
    this.#path = path
    this.#declaration = declaration
    this.#isAllowed = settings.origins
    const { message } = options
    // Not a copy: the handlers may be methods of a class.
    if (receives === undefined || message === undefined) this.handlers = options
    else this.handlers = Object.create(options, { message: { value: reading(receives, message) } })
    const writing = sends === undefined ? null : new Writing(this.name, sends)
    this.#writing = writing
    this.encode = writing === null ? undefined : (value) => writing.textOf(value)
    this.#protocols = protocols
    this.maxMessageSize = settings.maxMessageSize
    this.maxQueuedSize = settings.maxQueuedSize
    this.pingInterval = pingInterval
    this.#compresses = settings.perMessageDeflate
  }

  get relay(): WebSocketRelayState | null {
    return this.relayed
  }

  install(host: ModuleHost): void {
    const { mapGet }: { mapGet: MapMethod<unknown> } = host
    mapGet<string, object, unknown>(this.#path, this.#declaration, this.handlerOn(host))
  }

  handlerOn(host: ModuleHost): Handler {
    this.#host = host
    return upgradesTo('websocket', (args: Args, session: HttpSession) => this.#answer(args, session), this.#messages)
  }

  broadcast(room: string | null, data: WebSocketData): number {
    return broadcast(this, room, data, null)
  }

  broadcastFrom(sender: WebSocketConnection<Args>, room: string | null, data: WebSocketData): number {
    return broadcast(this, room, data, sender)
  }

  report(error: unknown, requestId: string): void {
    this.#host?.logger?.error(`weir: ${this.name} failed (request ${requestId})`, error)
  }

  /** Of the relay. Routes of different servers have the same one if they have the same path, host and endpoint. */
  get channel(): string {
    const { channel } = this.handlers
    if (channel !== undefined) return `websocket ${channel}`
    if (this.#channel !== null) return this.#channel
    const mapped = this.#host?.routes.find(({ messages }) => messages === this.#messages)
    if (mapped === undefined) return `websocket ${this.#path}` // no one is connected yet
    const { path, host, endpoint } = mapped
    // No path has an `@` before its first slash, and hosts never have one.
    return (this.#channel = `websocket ${endpoint === null ? '' : `${encodeURIComponent(endpoint)}@`}${host ?? ''}${path}`)
  }

  get onGap(): (() => unknown) | undefined {
    return this.handlers.onGap
  }

  deliver({ room, bytes, isBinary }: Broadcast): void {
    deliver(this, room, bytes, isBinary, null)
  }

  log(message: string, error: unknown): void {
    this.#host?.logger?.error(`weir: ${this.name} ${message}`, error)
  }

  forget(connection: WebSocketConnection<Args>): void {
    this.connections.delete(connection)
    for (const one of this.#heartbeats.values()) one.delete(connection)
    removeShutdownListener(connection.session.server.stopping, connection)
  }

  #heartbeatOf(clock: Clock, interval: number): HeartbeatTimer {
    let heartbeat = this.#heartbeats.get(clock)
    if (heartbeat === undefined) this.#heartbeats.set(clock, (heartbeat = new HeartbeatTimer(interval, clock)))
    return heartbeat
  }

  /** A request that does not ask for a WebSocket gets a 426 from the core. */
  async #answer(args: Args, session: HttpSession): Promise<unknown> {
    const { request, response, server } = session
    if (server.stopping.aborted) {
      outgoingOf(response).sendProblem(problemOf(503, 'the server is stopping'))
      return response
    }
    if (request.upgrade?.includes('websocket')) {
      checkHandshake(session)
      await checkOrigin(this.#isAllowed, session)
      const heard = this.relayed?.listen(server.stopping)
      const refusal = await (this.handlers.accept?.(args, session) as unknown)
      if (isRefusal(exchangeOf(session), refusal, `accept of websocket ${this.#path}`)) return refusal ?? response
      if (heard !== undefined) await exchange(session).inTurn(heard) // after a start, all clients may wait for it
    }
    let connection: WebSocketConnection<Args> | null = null
    let isSignedOut = false
    const leave = (): void => connection?.close(POLICY_VIOLATION, 'signed out')
    const connect = (link: ByteLink, head: Buffer): void => {
      connection = this.#connect(args, session, link, head)
      if (isSignedOut) leave()
    }
    response.upgrade('websocket', overLink(connect))
    outgoingOf(response).onSignOut = () => {
      isSignedOut = true
      leave()
    }
    return response
  }

  #connect(args: Args, session: HttpSession, link: ByteLink, head: Buffer): WebSocketConnection<Args> {
    const { request, response, server } = session
    const { stopping } = server
    const { clock, isTest } = exchangeOf(session).connection
    if (isTest || hasDebug(server)) this.#writing?.check()
    const accepted = this.#compresses ? acceptDeflate(request.header('sec-websocket-extensions')) : null
    const { content } = outgoingOf(response)
    const watcher = content.kind === 'upgrade' ? content.watcher : undefined
    const protocol = protocolOf(request, this.#protocols)
    const fields = [...acceptOf(request)]
    if (protocol !== '') fields.push('Sec-WebSocket-Protocol', protocol)
    if (accepted !== null) fields.push('Sec-WebSocket-Extensions', accepted.field)
    const deflate = accepted === null ? null : new PerMessageDeflate(accepted.parameters)
    const wire = new WireWebSocket(this.maxMessageSize, deflate !== null)
    const connection = new WebSocketConnection(this, link, wire, { protocol, deflate, watcher }, args, session)
    link.start(connection)
    link.sendHead('websocket', [...fields, ...(outgoingOf(response).fields ?? [])])
    this.connections.add(connection)
    if (this.pingInterval !== null) this.#heartbeatOf(clock, this.pingInterval).add(connection)
    if (stopping.aborted) connection.stop()
    else addShutdownListener(stopping, connection)
    connection.open(head)
    return connection
  }
}
