// A whole server behind one connection that exists only in memory, with a clock that a test moves. Parser, connection and pipeline are the
// real ones; on the transport, the test plays the client and the network.

import { Dispatcher, type OnError } from '../../src/app/dispatch.ts'
import { type Handler, Route } from '../../src/app/routes/route.ts'
import { RouteTable } from '../../src/app/routes/route-table.ts'
import { resolveLimits, resolveTimeouts, type Timeouts } from '../../src/base/limits.ts'
import type { ConnectionHost } from '../../src/net/connections/connection-host.ts'
import { Http1Connection } from '../../src/net/http1/connection.ts'
import { Observers } from '../../src/net/observe/observers.ts'
import { Ticker } from '../../src/net/time/ticker.ts'
import type { Transport, TransportOwner } from '../../src/net/transport/transport.ts'
import type { Flushable } from '../../src/net/transport/write-batch.ts'
import { settled, TestClock } from '../../src/testing/test-clock.ts'
import { EVERY_HOST } from './every-host.ts'
import { type Message, readMessage } from './raw-client.ts'

export interface FakeOptions {
  readonly timeouts?: Partial<Timeouts>
  readonly onError?: OnError
  /** `POST /path` to handler. A path that begins with `~` instead of the slash has a streamed body. */
  readonly routes: Readonly<Record<string, Handler>>
  /** Of all routes. */
  readonly declaration?: object
}

export class FakeConnection implements Transport {
  readonly clock = new TestClock()
  readonly reported: Error[] = []
  readonly logged: unknown[] = []
  /** In time that stands still. */
  readonly observers = new Observers(
    (error) => this.logged.push(error),
    () => this.clock.now(),
  )
  #owner: TransportOwner
  #written: Buffer[] = []
  /** What the network has not accepted yet, as the server sees it. Set by a test. */
  unsentBytes = 0
  #writtenBytes = 0
  isBlocked = false
  /** How many bytes the network still accepts. When exceeded, it is blocked. */
  roomBytes = Number.POSITIVE_INFINITY
  isPaused = false
  /** How the server has ended the connection, if it has. `end`: only its own side. */
  fate: 'open' | 'end' | 'destroyed' | 'reset' = 'open'
  get isDestroyed(): boolean {
    return this.fate === 'destroyed' || this.fate === 'reset'
  }

  readonly awaitsResult = false

  readonly isConnected = true
  readonly remoteAddress = '192.0.2.1'
  readonly remotePort = 1
  readonly isSecure = false
  keepsBytes = false

  constructor(options: FakeOptions) {
    const limits = resolveLimits()
    const timeouts = resolveTimeouts(options.timeouts)
    const routes = new RouteTable()
    for (const [title, handler] of Object.entries(options.routes)) {
      const [method, path] = title.split(' ') as [string, string]
      const declaration = { ...options.declaration, ...(path.startsWith('~') ? { body: 'stream' } : {}) }
      routes.add(new Route(routes.root, method, path.replace('~', '/'), declaration, handler))
    }
    const server = {
      address: '',
      port: 0,
      connections: 0,
      isListening: true,
      isReady: true,
      stopping: AbortSignal.any([]),
      frontEnds: [],
      basePath: '',
      stop: () => Promise.resolve(),
    }
    const logger = { error: (_message: string, error: unknown) => void this.logged.push(error) }
    const onError = options.onError ?? null
    const application = new Dispatcher({
      hostsAt: () => null,
      server,
      routes,
      limits,
      timeouts,
      jsonEngine: null,
      invalidBodyStatus: 400,
      onError,
      logger,
      debug: false,
    })
    const host: ConnectionHost = {
      limits,
      timeouts,
      ticker: new Ticker(this.clock, timeouts),
      application,
      observers: this.observers,
      tap: null,
      debug: false,
      proxies: null,
      hostRules: EVERY_HOST,
      basePath: null,
      endpointNames: () => null,
      isStopping: false,
      report: (error) => void this.reported.push(error),
      reportAccept: (error) => void this.reported.push(error),
      waitUntil() {},
      forget: () => {},
    }
    this.#owner = new Http1Connection(host, this)
  }

  handOver(owner: TransportOwner): void {
    this.#owner = owner
  }

  // The client's side.

  /** Bytes arrive. They are lent, like those of the shared receive buffer. */
  async send(text: string): Promise<void> {
    const bytes = Buffer.from(text, 'latin1')
    this.#owner.onBytes(bytes, bytes.length, true)
    bytes.fill(0)
    await settled()
  }

  /** The client ends its side. */
  async halfClose(): Promise<void> {
    this.#owner.onEnd()
    await settled()
    if (this.fate === 'end') this.destroy()
    await settled()
  }

  /** The client leaves. */
  async leave(): Promise<void> {
    this.#close('destroyed')
    await settled()
    await settled()
  }

  /** Everything that the server was waiting to send is sent. */
  async drain(): Promise<void> {
    this.isBlocked = false
    this.unsentBytes = 0
    this.#owner.onDrain()
    await settled()
  }

  /** What the server has written since the last call. */
  take(): string {
    const text = Buffer.concat(this.#written).toString('latin1')
    this.#written = []
    return text
  }

  /** The next complete response; null if there is none yet. */
  answer(): Message | null {
    const bytes = Buffer.concat(this.#written)
    const found = readMessage(bytes, false, this.fate === 'end')
    this.#written = found === null ? [bytes] : [bytes.subarray(found.length)]
    return found?.message ?? null
  }

  // The network's side.

  get sentBytes(): number {
    return this.#writtenBytes - this.unsentBytes
  }

  writeText(text: string): void {
    this.writeBytes(Buffer.from(text, 'latin1'))
  }

  writeBytes(bytes: Uint8Array): void {
    this.#written.push(Buffer.from(bytes))
    this.#writtenBytes += bytes.length
    this.roomBytes -= bytes.length
    if (this.roomBytes >= 0) return
    this.isBlocked = true
    this.unsentBytes += bytes.length
  }

  writeShared(bytes: Uint8Array): boolean {
    this.writeBytes(bytes)
    return true
  }

  flushSoon(box: Flushable): void {
    box.flush()
  }

  writeBoth(text: string, bytes: Uint8Array): void {
    this.writeText(text)
    this.writeBytes(bytes)
  }

  probe(): void {}

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
  }

  end(): void {
    if (this.fate === 'open') this.fate = 'end'
  }

  destroy(): void {
    this.#close('destroyed')
  }

  reset(): void {
    this.#close('reset')
  }

  #close(fate: 'destroyed' | 'reset'): void {
    if (this.fate === 'destroyed' || this.fate === 'reset') return
    this.fate = fate
    setImmediate(() => this.#owner.onClose())
  }
}
