// The server that a host program uses. Only this file joins the application and the network.

import { setMaxListeners } from 'node:events'
import { hasDebug, setDebug } from './app/debugged.ts'
import { Dispatcher } from './app/dispatch.ts'
import type { AskedContent } from './app/explain/checked-body.ts'
import type { Explanation } from './app/explain/explanation.ts'
import { RouteGroup } from './app/group.ts'
import { acceptLog, type Logger, logError, logWarning, moduleLogger } from './app/logger.ts'
import type { ModuleHost } from './app/module-host.ts'
import type { Route } from './app/routes/route.ts'
import { RouteTable } from './app/routes/route-table.ts'
import { reportedUrl, shownUrl } from './app/routes/shown-target.ts'
import { abortQuietly } from './base/abort-quietly.ts'
import { systemClock } from './base/clock.ts'
import { faultOf, publicCall, WeirError } from './base/errors.ts'
import { invalid } from './base/options.ts'
import type { HostRule } from './http/connection-info.ts'
import type { ExchangeObserver } from './http/exchange-record.ts'
import { noJsonForm } from './http/json-engine.ts'
import type { Endpoint } from './http/session.ts'
import type { StopOptions } from './http/stop-options.ts'
import type { ArrivalOptions } from './net/connections/arrival.ts'
import type { ConnectionHost } from './net/connections/connection-host.ts'
import { Connections } from './net/connections/connections.ts'
import type { FetchFunction } from './net/fetch/fetch-exchange.ts'
import { HostRules } from './net/hosts/host-rules.ts'
import type { InjectResponse } from './net/inject/inject.ts'
import type { InjectRequest } from './net/inject/request-bytes.ts'
import { BackgroundWork } from './net/listen/background-work.ts'
import type { ListenOptions, ServerTlsOptions } from './net/listen/listen-options.ts'
import { Listeners } from './net/listen/listeners.ts'
import { Places, type Where } from './net/listen/places.ts'
import { checkedRunOptions, type RunOptions, STOP_RULES, type StopReport, type StopTimes } from './net/listen/stop-options.ts'
import { Stopping } from './net/listen/stopping.ts'
import { Observers } from './net/observe/observers.ts'
import { Ticker } from './net/time/ticker.ts'
import { checkedOptions, type ServerOptions, settingsOf } from './server-options.ts'

/** @internal The host of the connections of a server: `weirjs/testing` uses it to connect clients without a socket. */
export let hostOf: (server: HttpServer) => ConnectionHost

/** @internal Makes a server listen elsewhere than its options say. @throws WEIR_OPTION_INVALID */
export let moveTo: (server: HttpServer, where: Where) => void

/** @internal Where a server will listen. Finds inherited sockets first. @throws WEIR_OPTION_INVALID if there are none */
export let placesOf: (server: HttpServer) => readonly ListenOptions[]

/** @internal The requests that servers of the program pass to this one (`toNodeListener`). */
export let hostedOf: (server: HttpServer) => Connections

/**
 * A command uses it in place of the start of each server of the program that it runs, to inspect a server that does not listen, or to pass sockets
 * to it.
 * @param places where its options tell it to listen; finds inherited sockets first
 * @param listen listens on the places that it is given, and resolves when clients can connect
 */
type StartHook = (
  server: HttpServer,
  places: () => readonly ListenOptions[],
  listen: (places: readonly ListenOptions[]) => Promise<void>,
) => Promise<void>

let startHook: StartHook | null = null
/** The `debug` of servers whose options do not state it. */
let defaultDebug = false

/**
 * Replaces the start of every server of the process. Only a command can do so: it is loaded before the program, and a second call throws.
 * @param debug whether servers whose options do not state it have `debug`
 * @throws WEIR_SERVER_STATE if it has been replaced
 */
export function replaceStart(hook: StartHook, debug = false): void {
  if (startHook !== null) throw new WeirError('WEIR_SERVER_STATE', 'a command has replaced the start of servers already')
  startHook = hook
  defaultDebug = debug
}

/** Loaded by the first call: programs that only listen need none of it. */
let loadedFetch: typeof import('./net/fetch/fetch-exchange.ts').fetch | undefined

/**
 * An HTTP server inside the host program. Several may run in one process.
 * @example
 * const server = new HttpServer('127.0.0.1', 8080)
 * server.get('/hello', () => 'Hello')
 * await server.start()
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/getting-started.md
 */
export class HttpServer extends RouteGroup<''> implements ModuleHost {
  static {
    hostOf = (server) => server.#host
    hostedOf = (server) => server.#hosted
    placesOf = (server) => server.#places.take()
    moveTo = (server, where) => server.#places.move(where)
  }

  /** The option `frontEnds`, frozen. */
  readonly frontEnds: readonly string[]
  /** The path of the option `basePath`; empty at the root, and where a proxy states it. */
  readonly basePath: string
  readonly #sharesBuffer: boolean
  readonly #bodySettings: AskedContent['settings']
  readonly #routes: RouteTable
  readonly #host: ConnectionHost & { isStopping: boolean }
  readonly #places: Places
  #hosted: Connections
  readonly #background = new BackgroundWork()
  readonly #logger: Logger | null
  #listeners: Listeners | null = null
  /** Null unless a start is in progress. */
  #starting: Promise<void> | null = null
  #stopSignal = newStopSignal()
  #stopping: Stopping | null = null
  readonly #onStopped: (() => void)[] = []

  /** @throws WEIR_OPTION_INVALID for a wrong option, limit or timeout */
  constructor(address: string, port: number, options?: Omit<ServerOptions, 'address' | 'port'>)
  constructor(options?: ServerOptions)
  constructor(first?: string | ServerOptions, port?: number, options?: ServerOptions) {
    const [given, checked] = publicCall(HttpServer, () => {
      const read = settingsOf(first, port, options)
      return [read, checkedOptions(read)]
    })
    const { limits, timeouts, jsonEngine, invalidBodyStatus, onError, proxies, hosts, basePath, frontEnds, ...settings } = checked
    const debug = given.debug ?? defaultDebug
    const logger = settings.logger === undefined ? console : settings.logger
    const routes = new RouteTable()
    routes.root.showWith((head, route) => shownUrl(head, route as Route | null, routes))
    super({ table: routes, limits: { ...timeouts, ...limits }, invalidBodyStatus, logger: moduleLogger(logger) }, routes.root)
    this.#logger = logger
    this.#sharesBuffer = settings.sharedReceiveBuffer
    setDebug(this, debug, (mistake) => logWarning(logger, mistake))
    this.#bodySettings = { jsonEngine, invalidBodyStatus }
    this.#routes = routes
    this.frontEnds = frontEnds
    this.basePath = routes.basePath = basePath?.path ?? ''
    this.#places = publicCall(HttpServer, () => new Places(given, proxies !== null))
    const application = new Dispatcher({
      server: this,
      routes,
      limits,
      timeouts,
      hostsAt: this.#hostsAt,
      jsonEngine,
      invalidBodyStatus,
      onError,
      logger,
      debug,
    })
    this.#host = {
      limits,
      timeouts,
      ticker: new Ticker(systemClock, timeouts),
      application,
      observers: new Observers((error) => logError(logger, 'weir: an observer failed', error)),
      tap: null,
      debug,
      proxies,
      basePath,
      hostRules: new HostRules({ hosts, proxyHosts: proxies?.hosts ?? null, warn: (message) => logWarning(logger, message) }),
      // Not a getter: V8 turns an object with a getter into a hash table, and would look up each of its properties for every request.
      isStopping: false,
      report: (error, connection, exchange = null) => {
        const fault = faultOf(error)
        if (fault !== null && fault !== 'developer') return // the client's, or its network's
        const { connectionId } = connection
        if (exchange === null) logError(logger, `weir: connection ${connectionId} was aborted`, error, { connectionId })
        else {
          const { requestId, head, match } = exchange
          const route = match.route as Route | null
          const label = route === null ? '' : `, route ${route.label}`
          const text = `weir: the response to ${head.method} ${reportedUrl(head, route, routes)} was aborted${label}`
          logError(logger, text, error, { requestId, connectionId })
        }
      },
      reportAccept: acceptLog(logger),
      endpointNames: () => this.#places.names,
      waitUntil: ({ head, match, requestId, connection }, work) => {
        const message = `weir: the work of ${match.route?.label ?? head.method} after its response failed`
        const { connectionId } = connection
        this.#background.add(work, (error) => logError(logger, message, error, { requestId, connectionId }))
      },
      forget: (connection) => this.#listeners?.connections.forget(connection),
    }
    this.#hosted = new Connections(null, this.#host.observers)
  }

  /** Where it listens, in the order of `listen`; empty while it does not. */
  get endpoints(): readonly Endpoint[] {
    return this.#listeners?.endpoints ?? []
  }

  /**
   * The address that the options set, or the path of the Unix socket; with several endpoints, the address of the first. For an inherited socket,
   * the address that it is bound to, and empty before `start`.
   */
  get address(): string {
    return this.#places.first.address || (this.endpoints[0]?.address ?? '')
  }

  /**
   * The port of the first endpoint: the bound port while it listens, even if the options set 0; otherwise the port that the options set. 0
   * for a Unix socket.
   */
  get port(): number {
    return (this.endpoints[0] ?? this.#places.first).port
  }

  /** How many connections are open, at all endpoints together. */
  get connections(): number {
    return this.#listeners?.connections.count ?? 0
  }

  /** Whether new connections are accepted: true once every endpoint is bound, false from the moment the stop begins. */
  get isListening(): boolean {
    return this.#listeners !== null && this.#starting === null && !this.#host.isStopping
  }

  /** Whether a readiness check should succeed: connections are accepted, and no stop has begun. False from the moment `stop` is called. */
  get isReady(): boolean {
    return this.isListening && this.#stopping === null
  }

  /** Aborts as soon as a stop begins: when `stop` is called, or `readyDelayMs` later. Each start has a new one. */
  get stopping(): AbortSignal {
    return this.#stopSignal.signal
  }

  /**
   * A server has no JSON form: its internals are not for clients.
   * @throws WEIR_RESULT_UNSENDABLE
   */
  toJSON(): never {
    throw noJsonForm('a server', 'server.endpoints')
  }

  /**
   * Resolves when clients can connect to every endpoint. If one of them cannot be opened, the server listens on none.
   * @throws WEIR_SERVER_STATE if it is already running; WEIR_ROUTE_DECLARATION for a route of an endpoint that does not exist;
   * what `check` of a policy throws, such as WEIR_AUTH_SETUP;
   * WEIR_OPTION_INVALID for an inherited socket on which it cannot listen; the system's error if it cannot listen (`EADDRINUSE`, `EACCES`);
   * OpenSSL's error about a certificate
   */
  async start(): Promise<void> {
    return publicCall(this.start, () => {
      if (this.#listeners !== null) throw new WeirError('WEIR_SERVER_STATE', 'the server has already been started: await stop() first')
      if (startHook === null) return this.#listen(this.#takePlaces())
      return startHook(
        this,
        () => this.#takePlaces(),
        (places) => this.#listen(places),
      )
    })
  }

  #takePlaces(): readonly ListenOptions[] {
    const places = this.#places.take()
    const warnings = this.#routes.checkStart(this.#places.names!, this.#host.limits.maxRequestBodySize, hasDebug(this))
    for (const says of warnings) logWarning(this.#logger, `weir: ${says}`)
    return places
  }

  #listen(places: readonly ListenOptions[]): Promise<void> {
    this.#listeners = new Listeners(places, this.#host, this.#sharesBuffer)
    this.#starting = this.#open(this.#listeners)
    return this.#starting
  }

  async #open(listeners: Listeners): Promise<void> {
    try {
      await listeners.open()
    } catch (error) {
      // A `stop` in progress resets it at its end; by then, the server may have been started again.
      if (this.#stopping === null) this.#listeners = null
      throw error
    } finally {
      this.#starting = null
    }
    this.#host.observers.started()
  }

  /**
   * `start`, on this port and address in place of the options, which remain the default of each. It returns no server: write
   * `await`. A failed call changes what the next `start` listens on.
   * @throws (rejects) WEIR_OPTION_INVALID for a wrong port or address, and for either on a server with several endpoints or an inherited one;
   * what `start` throws
   */
  async listen(port?: number, address?: string): Promise<void> {
    if (typeof address === 'function') throw invalid('listen()', 'it takes no callback: write await server.listen(port)')
    if (this.#listeners === null && (port !== undefined || address !== undefined))
      this.#places.move({ ...(port === undefined ? {} : { port }), ...(address === undefined ? {} : { address }) })
    return this.start()
  }

  /**
   * Replaces the certificates: new handshakes use `tls`, and open connections continue unchanged. Earlier sessions can still be resumed,
   * unless `tls` has its own `ticketKeys`. If it throws, nothing has changed.
   * @param endpoint index in `endpoints`; default: all that speak TLS
   * @throws WEIR_SERVER_STATE if it does not listen; WEIR_OPTION_INVALID for what only a new server can change (`requestCert`,
   * `rejectUnauthorized`, `handshakeTimeout`); OpenSSL's errors about keys and certificates; RangeError for an endpoint that does not speak TLS
   */
  reloadTls(tls: ServerTlsOptions, endpoint?: number): void {
    if (this.#listeners === null) throw new WeirError('WEIR_SERVER_STATE', 'it does not listen: await start() first')
    this.#listeners.reloadTls(tls, endpoint ?? null)
  }

  /**
   * Starts the server unless it has been started, and resolves once it has stopped.
   * @throws (rejects) WEIR_OPTION_INVALID, and then nothing has happened; what `start` throws, even if the start was already in progress
   */
  async run(options: RunOptions = {}): Promise<void> {
    const { signals, ...times } = checkedRunOptions(options)
    if (this.#listeners === null) await this.start()
    else await this.#starting
    let seen = 0
    const onSignal = (): void => {
      this.#stop(++seen > 1 ? { grace: 0, readyDelay: 0 } : times).catch(() => {}) // not `stop`, which a handler may have replaced
    }
    for (const signal of signals) process.on(signal, onSignal)
    try {
      await new Promise<void>((resolve) => this.#onStopped.push(resolve))
    } finally {
      for (const signal of signals) process.off(signal, onSignal)
    }
  }

  /**
   * Stops gracefully: no connection is accepted but those that wait already, idle ones end after 20 ms, responses in flight carry
   * `Connection: close`, and responses that are left after `grace` are aborted. `readyDelay` delays all of this. A second call with shorter times
   * shortens them. Resolves when the last connection is gone, the handlers of clients that have left have settled, and so has what was passed to
   * `session.waitUntil`.
   * @throws (rejects) WEIR_OPTION_INVALID, and then nothing has happened
   */
  async stop(options: StopOptions = {}): Promise<StopReport> {
    return this.#stop(STOP_RULES.read(options))
  }

  /** The same as `stop`. */
  async close(options: StopOptions = {}): Promise<StopReport> {
    return this.#stop(STOP_RULES.read(options, 'close()'))
  }

  async #stop(times: StopTimes): Promise<StopReport> {
    if (this.#stopping !== null) {
      const graceMs = this.#stopping.hasten(times)
      if (graceMs !== undefined) {
        this.#listeners?.connections.shortenGrace(graceMs)
        this.#hosted.shortenGrace(graceMs)
        this.#background.shorten(graceMs)
      }
      return this.#stopping.report
    }
    const listeners = this.#listeners
    if (listeners === null && this.#hosted.isEmpty && this.#background.isEmpty) return { aborted: 0 }
    this.#stopping = new Stopping(times)
    const { report } = this.#stopping
    void this.#stopping.run((graceMs) => {
      this.#host.isStopping = true
      const closed = this.#close(listeners, graceMs)
      abortQuietly(this.#stopSignal, new WeirError('WEIR_SERVER_STOPPED'))
      return closed
    })
    return report
  }

  async #close(listeners: Listeners | null, graceMs: number): Promise<StopReport> {
    this.#background.limit(graceMs)
    const [ownAborted, hostedAborted] = await Promise.all([listeners?.close(graceMs) ?? 0, this.#hosted.drain(graceMs)])
    const left = await this.#background.ended()
    if (left > 0)
      logWarning(this.#logger, `weir: ${left} of what was passed to session.waitUntil had not ended when the grace of stop was over`)
    await this.#host.observers.finish()
    this.#hosted = new Connections(null, this.#host.observers)
    this.#listeners = null
    this.#host.isStopping = false
    this.#stopping = null
    this.#stopSignal = newStopSignal()
    for (const resolve of this.#onStopped.splice(0)) resolve()
    return { aborted: ownAborted + hostedAborted }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /**
   * Adds an observer, after the existing ones. It is told about every request whose head is completed from now on, and about every head and
   * connection that never becomes a request. An observer that throws is reported to the logger once, and is called again.
   *
   * @throws WEIR_OPTION_INVALID if it is not an object with a function `end`, or if its `started`, `begin` or `stopped` is not a function
   */
  observe(observer: ExchangeObserver): this {
    publicCall(this.observe, () => this.#host.observers.add(observer))
    return this
  }

  protected override server(): ModuleHost {
    return this
  }

  /**
   * Runs a Web Request through the whole pipeline, started or not: docs/guide/web-apis.md. Works without `this`, so it can be passed on as
   * a function. Arguments that a runtime passes to such functions are ignored, unless they have `peer`, `endpoint` or `waitUntil`.
   * @throws (rejects) the reason of `request.signal`, or the error of its body; WEIR_OPTION_INVALID
   */
  readonly fetch: FetchFunction = (request: Request, options?: unknown): Promise<Response> =>
    loadedFetch?.(this.#host, request, options) ?? this.#loadAndFetch(request, options)

  async #loadAndFetch(request: Request, options: unknown): Promise<Response> {
    loadedFetch ??= (await import('./net/fetch/fetch-exchange.ts')).fetch
    return loadedFetch(this.#host, request, options)
  }

  /** Runs a request through the real parser and the whole pipeline without a socket, started or not: for tests. */
  async inject(request: (InjectRequest & ArrivalOptions) | string): Promise<InjectResponse> {
    return (await import('./net/inject/inject.ts')).inject(this.#host, request) // programs that are not tested need none of it
  }

  /**
   * Explains why a request would be answered as it is: docs/guide/explaining.md. It takes what `inject` or `fetch` takes, started or not, and
   * runs nothing of your program but what policies `foresee`: no gate, no handler, no schema of another library, no JSON engine. It checks a body of `inject` by a schema of
   * `t`. An HTTP/1.1 connection is assumed.
   * @throws (rejects) WEIR_OPTION_INVALID for a request that no client could send
   */
  explain(request: (InjectRequest & ArrivalOptions) | string): Promise<Explanation>
  explain(request: Request, options?: ArrivalOptions): Promise<Explanation>
  async explain(request: (InjectRequest & ArrivalOptions) | Request | string, options?: ArrivalOptions): Promise<Explanation> {
    // Loaded on demand, because most programs start more often than they call `explain`.
    const [{ explain, explainRefusedHead }, { explainedRequest }] = await Promise.all([
      import('./app/explain/explain.ts'),
      import('./net/inject/explained-request.ts'),
    ])
    const { limits, timeouts, application } = this.#host
    const asked = explainedRequest(this.#host, request, options)
    const { connection, refusal } = asked
    const server = { routes: this.#routes, limits, timeouts, hostsAt: this.#hostsAt }
    if (asked.head === null) return explainRefusedHead(server, asked.method, asked.target, asked.refusal, connection)
    const { head, content: bytes } = asked
    const content = bytes === null ? null : { bytes, settings: this.#bodySettings }
    return explain(server, { head, connection, refusal, otherMethods: [], content, application }, null)
  }

  /** The rule of the first endpoint of that name: where it listens, or where its options say. */
  readonly #hostsAt = (endpointName: string | null): HostRule | null =>
    this.#listeners?.hostsAt(endpointName) ?? this.#places.hostsAt(endpointName, this.#host.hostRules)
}

/** Every event stream may listen to it, so Node should not warn about the eleventh listener. */
function newStopSignal(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}
