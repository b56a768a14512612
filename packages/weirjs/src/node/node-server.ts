// An object in the form of Node's `http.Server`, over a server of weir: events, `listen`, `address` and `close`, for code that is given a server.

import { EventEmitter } from 'node:events'
import process from 'node:process'

import { invalid } from '../base/options.ts'
import type { Endpoint } from '../http/session.ts'
import type { MountHost } from './mounted.ts'
import type { NodeUpgradeHandler } from './node-exchange.ts'
import { emitAsServer } from './watching.ts'

/** What `listen`, `address` and `close` need of a server. */
export interface ServerControls {
  /** @param where null for what the options say */
  start(where: { readonly port?: number; readonly address?: string; readonly unixSocket?: string } | null): Promise<void>
  stop(graceMs: number | undefined): Promise<unknown>
  readonly endpoints: readonly Endpoint[]
  readonly connections: number
}

/** Where `listen` is told to listen. */
interface Where {
  readonly port?: number | string
  readonly host?: string
  readonly path?: string
}

export class NodeServer extends EventEmitter {
  readonly #host: MountHost
  readonly #controls: ServerControls | null
  /** The end of the server, once something has asked for it. */
  #isEnding = false
  /** Milliseconds of silence of each exchange, as Node has it for each connection. */
  timeout = 0
  // Members that programs set on a Node server. They have no effect, because weir has its own timeouts and limits.
  keepAliveTimeout = 0
  headersTimeout = 0
  requestTimeout = 0
  maxHeadersCount: number | null = null
  maxRequestsPerSocket: number | null = null

  /** @param controls null if it only receives requests: the program starts its server */
  constructor(host: MountHost, controls: ServerControls | null) {
    super()
    this.#host = host
    this.#controls = controls
  }

  override emit(event: string | symbol, ...values: unknown[]): boolean {
    return emitAsServer(this, event, values)
  }

  /** Undefined while nothing listens for `upgrade`: such a request is one like any other. */
  get upgradeListener(): NodeUpgradeHandler | undefined {
    if (this.listenerCount('upgrade') === 0) return undefined
    return (req, socket, head) => this.emit('upgrade', req, socket, head)
  }

  /** Each exchange has its own socket, which listeners see as a connection that carries one request. @returns whether there are listeners */
  announce(socket: object): boolean {
    return this.emit('connection', socket)
  }

  get listening(): boolean {
    return this.#host.isListening
  }

  /** Listens where the arguments say. The options of the server apply to what they leave out. Emits `listening`, or `error`. */
  listen(...args: readonly unknown[]): this {
    const callback = args.findLast((one) => typeof one === 'function') as (() => void) | undefined
    if (callback !== undefined) this.once('listening', callback)
    const started = async (): Promise<void> => {
      await this.#server.start(whereOf(args))
    }
    started().then(
      () => this.emit('listening'),
      (error: unknown) => this.emit('error', error),
    )
    return this
  }

  /** As in `net.Server`: null before it listens, and a string for a Unix socket. */
  address(): { address: string; family: string; port: number } | string | null {
    const first = this.#controls?.endpoints[0]
    if (first === undefined) return null
    if (first.isUnixSocket) return first.address
    return { address: first.address, family: first.address.includes(':') ? 'IPv6' : 'IPv4', port: first.port }
  }

  /** Stops the server: it answers what is in progress. Calls back when the last connection has ended. */
  close(listener?: (error?: Error) => void): this {
    const callback = typeof listener === 'function' ? listener : undefined // hooks of test runners give it their context
    if (!this.listening && !this.#isEnding) {
      const error = Object.assign(new Error('Server is not running.'), { code: 'ERR_SERVER_NOT_RUNNING' })
      if (callback !== undefined) this.once('close', () => callback(error))
      process.nextTick(() => this.emit('close')) // Node emits it again for a program that closes a server twice
      return this
    }
    if (callback !== undefined) this.once('close', () => callback())
    this.#stop(undefined)
    return this
  }

  /** Stops the server, and ends what is in progress. Packages call it just before `close`, or after it. */
  closeAllConnections(): void {
    if (this.listening || this.#isEnding) this.#stop(0)
  }

  #stop(graceMs: number | undefined): void {
    const stopped = this.#server.stop(graceMs)
    if (this.#isEnding) {
      stopped.catch(() => {}) // the first call reports the end
      return
    }
    this.#isEnding = true
    const tell = (event: string, error?: unknown): void => {
      this.#isEnding = false
      this.emit(event, error)
    }
    stopped.then(
      () => tell('close'),
      (error: unknown) => tell('error', error),
    )
  }

  /** weir closes idle connections itself when it stops. */
  closeIdleConnections(): void {}

  getConnections(callback: (error: Error | null, count: number) => void): this {
    process.nextTick(callback, null, this.#server.connections)
    return this
  }

  setTimeout(msecs?: number | (() => void), callback?: () => void): this {
    if (typeof msecs === 'number') this.timeout = msecs
    const listener = typeof msecs === 'function' ? msecs : callback
    if (listener !== undefined) this.on('timeout', listener)
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  [Symbol.asyncDispose](): Promise<void> {
    return new Promise((resolve) => this.close(() => resolve()))
  }

  get #server(): ServerControls {
    if (this.#controls === null) throw invalid('http.Server', 'weir starts and stops the server of mounted code: use toNodeServer()')
    return this.#controls
  }
}

/** @returns null if the arguments do not say */
function whereOf([first, second]: readonly unknown[]): { port?: number; address?: string; unixSocket?: string } | null {
  if (first === undefined || first === null || typeof first === 'function') return null
  if (typeof first === 'string' && !/^\d+$/.test(first)) return { unixSocket: first }
  const { port, host, path } = (typeof first === 'object' ? first : { port: first, host: second }) as Where
  if (path !== undefined) return { unixSocket: path }
  return typeof host === 'string' ? { port: Number(port ?? 0), address: host } : { port: Number(port ?? 0) }
}
