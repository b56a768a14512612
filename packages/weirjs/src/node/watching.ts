// Tells monitors of Node's HTTP servers about mounted code: the channels of `node:diagnostics_channel` that Node's own server publishes to, and a
// call of `emit` that they may have wrapped. Packages for OpenTelemetry wrap `emit` of `http.Server`; others, told by the channel which server it
// is, wrap `emit` of the server.

import { channel } from 'node:diagnostics_channel'
import { EventEmitter } from 'node:events'
import { type IncomingMessage, Server, type ServerResponse } from 'node:http'

// Node publishes `http.server.response.created` itself, when the response is made.
const STARTED = channel('http.server.request.start')
const FINISHED = channel('http.server.response.finish')

/** The `emit` of an `EventEmitter`. */
type Emit = (event: string | symbol, ...values: unknown[]) => boolean

/** Emits like a Node server: by the current `emit` of `http.Server.prototype`. */
export function emitAsServer(emitter: EventEmitter, event: string | symbol, values: readonly unknown[]): boolean {
  return (Server.prototype.emit as Emit).call(emitter, event, ...values)
}

/** Whether a monitor watches calls of mounted code. */
export function isWatched(): boolean {
  return STARTED.hasSubscribers || Server.prototype.emit !== EventEmitter.prototype.emit
}

/** Before `request` is emitted. @param server whose `emit` will be called */
export function tellStart(request: IncomingMessage, response: ServerResponse, server: object): void {
  if (STARTED.hasSubscribers) STARTED.publish({ request, response, socket: request.socket, server })
}

/** When the response emits `finish`. */
export function tellFinish(request: IncomingMessage, response: ServerResponse, server: object): void {
  FINISHED.publish({ request, response, socket: request.socket, server })
}

export function wantsFinish(): boolean {
  return FINISHED.hasSubscribers
}

/** The server of code that is mounted as a function: its event `request` calls that function. */
export class WatchedServer extends EventEmitter {
  constructor() {
    super()
    this.on('request', (_request: unknown, _response: unknown, run: () => void) => run())
  }

  override emit(event: string | symbol, ...values: unknown[]): boolean {
    return emitAsServer(this, event, values)
  }

  /** @returns what `handler` returns */
  run(request: IncomingMessage, response: ServerResponse, handler: () => unknown): unknown {
    let returned: unknown
    tellStart(request, response, this)
    this.emit('request', request, response, () => {
      returned = handler()
    })
    return returned
  }
}
