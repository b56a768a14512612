// The server as a host program holds it. The only place where the application and the network meet.

import { setMaxListeners } from 'node:events'
import { Dispatcher } from './app/dispatch.ts'
import { RouteGroup } from './app/group.ts'
import { logError, moduleLogger } from './app/logger.ts'
import type { ModuleHost } from './app/module-host.ts'
import { checkObserver } from './app/observer.ts'
import { RouteTable } from './app/routes/route-table.ts'
import { abortQuietly } from './base/abort-quietly.ts'
import { systemClock } from './base/clock.ts'
import { faultOf, WeirError } from './base/errors.ts'
import { shown } from './base/kind-of.ts'
import { resolveLimits, resolveTimeouts } from './base/limits.ts'
import { checkNames, invalid, listOf, namesOf } from './base/options.ts'
import type { ExchangeObserver } from './http/exchange-record.ts'
import { noJsonForm } from './http/json-engine.ts'
import type { Endpoint } from './http/session.ts'
import type { ConnectionHost } from './net/connections/connection-host.ts'
import { fetch } from './net/fetch/fetch-exchange.ts'
import { type InjectResponse, inject } from './net/inject/inject.ts'
import type { InjectRequest } from './net/inject/request-bytes.ts'
import { endpointOf, type ListenOptions, placesOf, type ServerTlsOptions } from './net/listen/listen-options.ts'
import { Listeners } from './net/listen/listeners.ts'
import { Observers } from './net/observe/observers.ts'
import { Ticker } from './net/time/ticker.ts'
import { checkOptions, type ServerOptions, settingsOf } from './server-options.ts'

export interface RunOptions {
  /** Signals at which to stop gracefully; a second one stops at once. Without them no signal is touched. */
  readonly signals?: readonly NodeJS.Signals[]
  /** As for `stop`. */
  readonly graceMs?: number
}

export interface StopOptions {
  /** How long requests in flight may take to finish, in milliseconds. Default 10 s. */
  readonly graceMs?: number
}

export interface StopReport {
  /** How many connections still had a request in flight at the deadline, and were aborted. */
  readonly aborted: number
}

const DEFAULT_GRACE_MS = 10_000

/** @internal What a connection of a server is opened with: `weir/testing` connects clients without a socket by it. */
export let hostOf: (server: HttpServer) => ConnectionHost

/** An HTTP server inside the host program. Several may run in one process. */
export class HttpServer extends RouteGroup<''> implements ModuleHost {
  static {
    hostOf = (server) => server.#host
  }

  readonly #options: ServerOptions
  readonly #host: ConnectionHost & { isStopping: boolean }
  readonly #places: readonly ListenOptions[]
  #listeners: Listeners | null = null
  /** While a start is under way. */
  #starting: Promise<void> | null = null
  #stopSignal = newStopSignal()
  #stopping: Promise<StopReport> | null = null
  #onStopped: (() => void)[] = []

  /** @throws WEIR_OPTION_INVALID for a limit or a time that cannot be one */
  constructor(address: string, port: number, options?: Omit<ServerOptions, 'address' | 'port'>)
  constructor(options?: ServerOptions)
  constructor(first?: string | ServerOptions, port?: number, options?: ServerOptions) {
    const settings = settingsOf(first, port, options)
    checkOptions(settings)
    const limits = resolveLimits(settings.limits)
    const timeouts = resolveTimeouts(settings.timeouts)
    const logger = settings.logger === undefined ? console : settings.logger
    const routes = new RouteTable()
    super({ table: routes, limits: { ...timeouts, ...limits }, logger: moduleLogger(logger) }, routes.root)
    this.#options = settings
    this.#places = placesOf(settings)
    const application = new Dispatcher({
      server: this,
      routes,
      limits,
      jsonEngine: settings.jsonEngine ?? null,
      onError: settings.onError ?? null,
      logger,
      debug: settings.debug === true,
    })
    this.#host = {
      limits,
      timeouts,
      ticker: new Ticker(systemClock, timeouts),
      application,
      observers: new Observers((error) => logError(logger, 'weir: an observer failed', error)),
      debug: settings.debug === true,
      // No getter: an object with one is a hash table to V8, and each of its properties is looked up for every request.
      isStopping: false,
      report: (error, connection, exchange = null) => {
        const fault = faultOf(error)
        if (fault !== null && fault !== 'developer') return // the client's, or its network's
        const { connectionId } = connection
        if (exchange === null) logError(logger, `weir: connection ${connectionId} was aborted`, error, { connectionId })
        else {
          const { requestId, head, match } = exchange
          const route = match.route === null ? '' : `, route ${match.route.label}`
          const text = `weir: the response to ${head.method} ${head.url} was aborted${route}`
          logError(logger, text, error, { requestId, connectionId })
        }
      },
      reportAccept: (error) => logError(logger, 'weir: a connection could not be accepted', error),
      forget: (connection) => this.#listeners?.connections.forget(connection),
    }
  }

  /** Where it listens, in the order of `listen`; empty unless it does. */
  get endpoints(): readonly Endpoint[] {
    return this.#listeners?.endpoints ?? []
  }

  /** The address that was asked for, or the path of the Unix socket: of the first endpoint, where there are several. */
  get address(): string {
    return endpointOf(this.#places[0]!).address
  }

  /** The bound port of the first endpoint, also when 0 was asked for; before `start` the one that was asked for. 0 for a Unix socket. */
  get port(): number {
    return (this.endpoints[0] ?? endpointOf(this.#places[0]!)).port
  }

  /**
   * Whether new connections are accepted: true once every endpoint is bound, false from the moment `stop` is called. A readiness check can
   * report it.
   */
  get isListening(): boolean {
    return this.#listeners !== null && this.#starting === null && !this.#host.isStopping
  }

  /** Aborts as soon as `stop` is called. Each start has a new one. */
  get stopping(): AbortSignal {
    return this.#stopSignal.signal
  }

  /**
   * A server has no JSON form: its insides are not for clients.
   * @throws WEIR_RESULT_UNSENDABLE
   */
  toJSON(): never {
    throw noJsonForm('a server', 'server.endpoints')
  }

  /**
   * Resolves when clients can connect: at every endpoint. Where one of them cannot be had, the server listens nowhere.
   * @throws WEIR_SERVER_STATE when it runs already; what the system says when it cannot listen (`EADDRINUSE`, `EACCES`), or OpenSSL of a
   *   certificate
   */
  async start(): Promise<void> {
    if (this.#listeners !== null) throw new WeirError('WEIR_SERVER_STATE', 'the server has already been started')
    this.#listeners = new Listeners(this.#places, this.#host, this.#options.sharedReceiveBuffer !== false)
    this.#starting = this.#open(this.#listeners)
    return this.#starting
  }

  async #open(listeners: Listeners): Promise<void> {
    try {
      await listeners.open()
    } catch (error) {
      // A `stop` that is under way resets it when it has ended: by then the server may have been started again.
      if (this.#stopping === null) this.#listeners = null
      throw error
    } finally {
      this.#starting = null
    }
  }

  /**
   * Takes new certificates: handshakes from now on are made with `tls`, open connections go on as they are. Sessions that were made before can
   * still be resumed, unless `tls` brings `ticketKeys` of its own. When it throws, nothing has changed.
   * @param endpoint which one of `endpoints`; without it every one that speaks TLS
   * @throws WEIR_SERVER_STATE when it does not listen; WEIR_OPTION_INVALID for what only a new server can change (`requestCert`,
   *   `rejectUnauthorized`, `handshakeTimeout`); what OpenSSL says of keys and certificates; RangeError where no TLS is spoken
   */
  reloadTls(tls: ServerTlsOptions, endpoint?: number): void {
    if (this.#listeners === null) throw new WeirError('WEIR_SERVER_STATE', 'it does not listen')
    this.#listeners.reloadTls(tls, endpoint ?? null)
  }

  /**
   * Starts the server unless it has been started, and resolves once it has stopped.
   * @throws (rejects) WEIR_OPTION_INVALID, and nothing has happened; what `start` throws, also where the start was under way already
   */
  async run(options: RunOptions = {}): Promise<void> {
    checkNames('run()', options, RUN_OPTION_NAMES)
    const { signals = [], graceMs } = options
    checkSignals(signals)
    checkGrace('run()', graceMs)
    if (this.#listeners === null) await this.start()
    else await this.#starting
    let seen = 0
    const onSignal = (): void => {
      const deadline = ++seen > 1 ? { graceMs: 0 } : graceMs === undefined ? {} : { graceMs }
      this.#stop(deadline).catch(() => {}) // not `stop`, which a handler may have replaced
    }
    for (const signal of signals) process.on(signal, onSignal)
    try {
      await new Promise<void>((resolve) => this.#onStopped.push(resolve))
    } finally {
      for (const signal of signals) process.off(signal, onSignal)
    }
  }

  /**
   * Stops gracefully: no new connection is taken, idle ones end after 20 ms, answers in flight say `Connection: close`, and what is left after
   * `graceMs` is aborted. A second call with a shorter time shortens it. Resolves when the last connection is gone, and with it the
   * handlers of clients that have left.
   * @throws (rejects) WEIR_OPTION_INVALID, and nothing has happened
   */
  stop(options: StopOptions = {}): Promise<StopReport> {
    return this.#stop(options)
  }

  async #stop(options: StopOptions): Promise<StopReport> {
    checkNames('stop()', options, STOP_OPTION_NAMES)
    const { graceMs } = options
    checkGrace('stop()', graceMs)
    if (this.#stopping !== null) {
      if (graceMs !== undefined) this.#listeners?.connections.shortenGrace(graceMs)
      return this.#stopping
    }
    if (this.#listeners === null) return { aborted: 0 }
    this.#host.isStopping = true
    this.#stopping = this.#close(this.#listeners, graceMs ?? DEFAULT_GRACE_MS)
    abortQuietly(this.#stopSignal, new WeirError('WEIR_SERVER_STOPPED'))
    return this.#stopping
  }

  async #close(listeners: Listeners, graceMs: number): Promise<StopReport> {
    const aborted = await listeners.close(graceMs)
    this.#host.observers.flush()
    this.#listeners = null
    this.#host.isStopping = false
    this.#stopping = null
    this.#stopSignal = newStopSignal()
    const waiting = this.#onStopped
    this.#onStopped = []
    for (const resolve of waiting) resolve()
    return { aborted }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /**
   * Adds an observer, after those that are there already. It is told about every request whose head is completed from now on, and about
   * every head and connection that never becomes a request. An observer that throws is reported to the logger once, and is called again.
   *
   * @throws WEIR_OPTION_INVALID if it is not an object with a function `end` and, if it has `begin`, a function `begin`
   */
  observe(observer: ExchangeObserver): this {
    checkObserver(observer)
    this.#host.observers.add(observer)
    return this
  }

  protected override server(): ModuleHost {
    return this
  }

  /** Runs a Web Request through the whole pipeline, started or not: docs/guide/web-apis.md. May be called without its server. @throws (rejects) the reason of `request.signal`, the error of its body */
  readonly fetch = (request: Request): Promise<Response> => fetch(this.#host, request)

  /** Runs a request through the real parser and the whole pipeline without a socket, started or not: for tests. */
  inject(request: InjectRequest | string): Promise<InjectResponse> {
    return inject(this.#host, request)
  }
}

/** Every stream of events may listen to it: Node need not warn of the eleventh. */
function newStopSignal(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}

const RUN_OPTION_NAMES = namesOf<RunOptions>()(['signals', 'graceMs'])
const STOP_OPTION_NAMES = namesOf<StopOptions>()(['graceMs'])

function checkGrace(owner: string, graceMs: number | undefined): void {
  if (graceMs !== undefined && !(typeof graceMs === 'number' && graceMs >= 0))
    throw invalid(owner, `graceMs is ${shown(graceMs)}, not a number of milliseconds from 0 on`)
}

/** Names that the system does not have, or lets nobody listen to, would be found out only once the server has started. */
function checkSignals(signals: readonly NodeJS.Signals[]): void {
  if (listOf('run()', 'signals', signals).length === 0) return
  const known = process.getBuiltinModule('node:os').constants.signals
  for (const name of signals as readonly unknown[]) {
    if (name === 'SIGKILL' || name === 'SIGSTOP') throw invalid('run()', `signals: nobody can listen to ${name}`)
    if (typeof name !== 'string' || !Object.hasOwn(known, name))
      throw invalid('run()', `signals: ${JSON.stringify(name)} is not a signal of this system`)
  }
}
